"""Half the widths of local intervals: the quantile of the scores times the local spread.

Each new row has the window of live rows that predicts it. From one window to the next only rows
are kept that are in both, so a row that has left influences no interval. Of a large window the
newest rows are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, part, weighed
from efface.engine.linalg.dense import dot
from efface.engine.linalg.quantiles import upper_quantile
from efface.engine.sums.sliding import depth_for, lay_out_sums, slide_to, start_sums
from efface.engine.windows.local_errors import invert_system, measure_errors
from efface.engine.windows.local_rows import SCORE, Room, hold_rows, room_for
from efface.engine.windows.local_spread import QUANTILE, fit_spread, spread_at

LEAST_ROWS = 20  # for the regression of the spread
_ROWS = 1_000  # the newest rows of a window are used: at least so many,
_PER_FEATURE = 10  # so many times the features,
_TAIL = 20  # and so many times 1 / alpha


class Fits(NamedTuple):
    """New rows, and the windows that predict them."""

    rows: Matrix  # (k, d)
    first: Ints  # (k,): the window of a new row is first..last - 1 of all rows
    last: Ints
    coef: Matrix  # (k, d)
    intercept: Vector  # (k,)
    penalty: Vector  # (k,)

    def at(self, places: NDArray[np.intp]) -> Fits:
        """Copies of some of the new rows, in order; of consecutive rows, faster ones."""
        first, stop = places[0], places[-1] + 1
        run = slice(first, stop) if stop - first == places.size else places
        return Fits._make(np.array(each[run], order="C") for each in self)


class Penalisation(NamedTuple):
    """The form of a regression."""

    intercept: bool
    centred: bool  # are features penalised around their mean?
    power: int  # the penalty is multiplied by a feature's deviation to this power


def local_widths(
    X: Matrix,
    y: Vector,
    weights: Vector,
    fits: Fits,
    form: Penalisation,
    alpha: float,
    normal: float,
) -> Vector:
    """Half the width for each new row, for a leverage of 0; NaN if a window has too few rows.

    ``normal`` is the normal quantile for ``alpha``.
    """
    d = X.shape[1]
    most = max(_ROWS, _PER_FEATURE * d, int(np.ceil(_TAIL / alpha)))
    rows = int((fits.last - fits.first).max(initial=1))
    room, out = room_for(d, max(1, min(most, rows))), np.full(len(fits.rows), np.nan)
    by_feature = np.ascontiguousarray(np.vstack([X.T, y, weights]))
    depth, limits = depth_for(rows), (most, alpha, normal)
    store = np.zeros(words(lay_out_sums, d, depth))
    rows_and_sums = np.ascontiguousarray(X), by_feature, weighed(y, weights), store, depth
    _local_widths(*rows_and_sums, fits, room, form, *limits, out)
    return out


@numba.njit(**KERNEL, nogil=True)
def _local_widths(
    x: Matrix,
    by_feature: Matrix,
    y: Responses,
    store: Vector,
    depth: int,
    fits: Fits,
    room: Room,
    form: Penalisation,
    most: int,
    alpha: float,
    normal: float,
    out: Vector,
) -> None:
    rows, first, last, coef, intercept, penalty = fits
    count, sums = 0, lay_out_sums(store, 0, x.shape[1], depth)[0]
    start_sums(sums, False)
    for t in range(out.size):
        a, b = first[t], last[t]
        if t == 0 or a != first[t - 1] or b != last[t - 1]:
            count, lo = 0, max(a, b - most)
            slide_to(sums, x, y, lo, b, 1, form.centred)
            used = hold_rows(by_feature, lo, b, sums, form.centred, room)
            share = (b - lo) / (b - a)
            system = room, used, sums, form.centred, share, penalty[t], form.power
            if used >= LEAST_ROWS and invert_system(*system):
                constant, fit = share / sums.total[x.shape[1], x.shape[1]], (coef[t], intercept[t])
                constant *= 1.0 if form.intercept else 0.0
                count = measure_errors(room, *fit, used, constant)
            if count >= LEAST_ROWS:
                fit_spread(room, a, b, count)
                scores = part(room.columns[SCORE], 0, count)
                room.numbers[QUANTILE] = upper_quantile(scores, alpha)
        if count >= LEAST_ROWS:
            prediction = dot(coef[t], rows[t]) + intercept[t]
            spread = spread_at(room, count, rows[t], prediction, normal)
            out[t] = room.numbers[QUANTILE] * spread
