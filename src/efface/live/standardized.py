"""Live rows that are regressed on as standardised by their own mean and deviation."""

from __future__ import annotations

from typing import final

import numpy as np

from efface.engine.events import penalty as moments
from efface.engine.events import stream
from efface.engine.events.leverage import GAUGES, SPECTRAL, UNRANKED
from efface.engine.events.penalty import FIXED
from efface.engine.events.pilot import AUTO, RESIDUAL, constant, plug_in_directly
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Responses, Vector
from efface.engine.linalg.refit import refit
from efface.engine.standardized.correlations import room_for_frame
from efface.engine.standardized.standardized_fit import idle, pilot_penalty, predict_standard
from efface.engine.standardized.standardized_replay import (
    DIAGNOSED,
    GAUGED,
    NOTHING,
    gauge_standard,
    replay_standard,
)
from efface.engine.standardized.zscores import Scores, scores
from efface.engine.sums.sliding import BOUNDED
from efface.live.memory import Arrays, Memory
from efface.live.trace import Gauges


@final
class StandardizedMemory(Memory):
    """A memory that regresses on z = (x - mean) / deviation of the live rows, at every step.

    Coefficients and intercept are those of the features as they are; penalty, rank and gauges are
    those of the standardised ones. A solution costs O(width^3).

    >>> from efface.live.memory import Penalty
    >>> memory = StandardizedMemory(1, Penalty(alpha=3.0), intercept=True)
    >>> memory.extend(np.array([[10.0], [20.0], [30.0]]), np.array([1.0, 2.0, 3.0]))
    >>> memory.coef, memory.predict(np.array([20.0]))  # half of those without a penalty
    (array([0.05]), 2.0)
    """

    strides = False
    _always_centred = True
    _block_for = staticmethod(lambda width: 1)  # nothing is kept outside the sums

    def predict(self, x: Vector) -> float:
        frame, watched, code = self._frame, self._watched, stream.FORM
        while code != stream.DONE:
            code, value = predict_standard(*self._state, frame, x, watched)
            self._supply(code)
        return value  # type: ignore[no-any-return]

    @property
    def working_store(self) -> int:
        return super().working_store + self._frame.nbytes

    def gauge(self, X: Matrix) -> Gauges:
        """How far the live rows lie from their regression, and rows of X from them."""
        columns = np.full((len(X), GAUGES), np.nan)
        self._ints[moments.DIRTY] = 1  # so that what is measured is what has just been solved
        penalty = self._settled()[0][moments.LAMBDA]
        heard = self.n_rows - int(self._ints[moments.MUTE])
        if heard and len(X) and not gauge_standard(*self._state, self._frame, X, columns):
            self._gauge_spectrally(X, columns, self._spectrum())
        n_rows, rank = (np.full(len(X), v) for v in (heard, self._ints[moments.RANK]))
        return Gauges(n_rows, rank, np.full(len(X), penalty), *columns.T)

    def _replay(self, arrays: Arrays) -> None:
        self._run(arrays, np.zeros((0, GAUGES)), (0, len(arrays[1])), NOTHING)

    def _diagnose_until(
        self, end: int, row: int, arrays: Arrays, columns: Matrix, room: Matrix, diagnostics: bool
    ) -> int:
        return self._run(arrays, columns, (row, end), DIAGNOSED if diagnostics else GAUGED)

    def _run(self, arrays: Arrays, columns: Matrix, span: tuple[int, int], wanted: int) -> int:
        (row, end), measured, code = span, -1, stream.FORM
        while row < end and code != stream.DONE:
            way = columns, self._frame, (row, end, measured), wanted, self._watched
            row, code = replay_standard(*self._state, *arrays, *way)
            if code == SPECTRAL:
                self._measure_apart(row, arrays, columns, True)
            elif code == UNRANKED:
                arrays[4][1, row] = self.rank
            if code in (SPECTRAL, UNRANKED, stream.COMPACT):
                measured = row
            self._supply(code)
        return row

    def _scores(self) -> Scores:
        return scores(*self._live) if self._live[1].any() else super()._scores()

    def _supply(self, code: int) -> None:
        if code == stream.REFIT:
            self._refit()
        else:
            super()._supply(code)

    def _refit(self) -> None:
        """All that ``refresh_standard`` does, from the rows themselves."""
        (lo, hi), (values, coef) = self._span, self._solution
        y, z, intercept = self._y[lo:hi], self._scores(), self._shape[0] == 1
        values[moments.LAMBDA] = self._penalty_of(z.rows, y, values)
        level, rank = refit(z.rows, y, values[moments.LAMBDA], True, coef)
        coef /= z.deviation
        values[moments.LEVEL] = (level if intercept else 0.0) - coef @ z.mean
        self._ints[[moments.RANK, moments.DIRTY, moments.HARD]] = rank, 0, 1

    def _penalty_of(self, rows: Matrix, y: Responses, values: Vector) -> float:
        """Lemma 3 for the standardised rows."""
        rows, y = rows[y[:, WEIGHT] > 0.0], y[y[:, WEIGHT] > 0.0]
        weights, d = y[:, WEIGHT], rows.shape[1]
        n = float(weights.sum())
        if values[moments.KIND] == FIXED:
            return float(values[moments.ALPHA])
        if idle(self._y, self._ints, values):
            return 0.0
        trace, largest = ((y[:, ROOT, np.newaxis] * rows) ** 2).sum(), np.abs(rows).max()
        away, intercept = y[:, VALUE] - y[0, VALUE], self._shape[0] == 1
        away -= np.average(away, weights=weights)
        facts = [moments.VARIANCE, moments.LARGEST, moments.TRACE]
        values[facts] = weights @ away**2 / (n - 1.0), largest, trace
        if values[moments.NOISE] != RESIDUAL and values[moments.THETA_MAX] != AUTO:
            delta, theta = values[[moments.DELTA, moments.THETA_MAX]]
            noise = np.sqrt(values[moments.VARIANCE])
            return float(moments.plugged(n, d, delta, noise, largest, theta))
        if trace == 0.0 or constant(values, y[0, VALUE], intercept):
            return 0.0
        values[moments.LAMBDA], coef = pilot_penalty(trace, n), np.empty(d)
        refit(rows, y, values[moments.LAMBDA], True, coef)
        return plug_in_directly(rows, y, values, coef, intercept)

    def _restart(self, X: Matrix, y: Responses) -> None:
        super()._restart(X, y)
        stream.open_stream(self._floats, self._ints).sums.dials[BOUNDED] = 1
        self._frame = np.zeros(room_for_frame(self.width))
