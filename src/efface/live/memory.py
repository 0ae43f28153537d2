"""The live rows, oldest first, and what has been worked out from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.engine.events import penalty as moments
from efface.engine.events import stream
from efface.engine.events.event_replay import diagnose_rows, forgetting_term, replay_rows
from efface.engine.events.leverage import (
    GAUGES,
    REACH,
    SPECTRAL,
    STRETCH,
    UNEXPLAINED,
    UNRANKED,
    gauge_rows,
    room_for,
)
from efface.engine.events.penalty import ADAPTIVE, FIXED, PILOT, SWITCHING
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, weighed
from efface.engine.linalg.spectrum import (
    Products,
    Spectrum,
    conditioning,
    interpolated,
    numerical_rank,
    rank_of,
    spectrum,
    summary,
)
from efface.engine.standardized.zscores import Scores
from efface.engine.sums.sliding import depth_for
from efface.live.trace import Asked, Gauges, Trace

__all__ = ["ADAPTIVE", "FIXED", "SWITCHING", "Memory", "Penalty", "departures"]

_LEAST = 64
_EVERY, _LEAST_EVERY = 20, 500


class Penalty(NamedTuple):
    """How the penalty follows from the live rows."""

    kind: int = FIXED
    alpha: float = 0.0
    delta: float = 0.05
    theta_max: float = 1.0
    switch_at: float = 2.0
    noise: int = 0


Arrays = tuple[Matrix, Responses, Ints, Matrix, Ints, Matrix]


class Memory:
    """Rows that come, leave and are regressed on; it trusts what it is given.

    A row has a weight, by default 1: coefficients are those of the row so many times. Rows lie in
    one array, oldest first, with free places behind them. A row that leaves is overwritten with
    zeros. Beside the rows it keeps O(width^2 log rows) numbers, all of them made from live rows by
    addition.

    >>> memory = Memory(1, Penalty(), intercept=False)
    >>> memory.append(np.array([2.0]), 6.0)
    >>> memory.predict(np.array([1.0]))
    3.0
    """

    strides = True  # can windows be solved side by side, see ``passage``?
    _block_for = staticmethod(stream.block_for)
    _always_centred = False  # around their mean, also without an intercept?

    def __init__(
        self, width: int, penalty: Penalty, *, intercept: bool, shrinks: bool = True
    ) -> None:
        self.width = width
        self.n_rows = 0
        self._penalty = np.array(penalty, dtype=np.float64)
        self.unpenalised = penalty.kind == FIXED and penalty.alpha == 0.0
        self._watched = None if penalty.kind == FIXED else True
        self._given = np.zeros(0)
        self._ints = np.zeros(0, np.int64)
        self._shape = (int(intercept), self._block_for(width), int(shrinks))
        self._centred = self._always_centred or intercept
        self._x, self._y = np.zeros((0, width)), np.zeros((0, 3))
        self._reserve(_LEAST)

    def append(self, x: Vector, y: float, weight: float = 1.0) -> None:
        """Learn the newest row."""
        self.learn(x, y, 0, weight)

    def learn(self, x: Vector, y: float, leaving: int, weight: float = 1.0) -> None:
        """Learn the newest row; then the oldest ``leaving`` rows go."""
        if self.n_rows == self._most:
            self._reserve(self.n_rows + 1)
        if not stream.learn_row(self._x, self._y, self._ints, x, y, weight, leaving):
            self._supply(stream.COMPACT)
            stream.learn_row(self._x, self._y, self._ints, x, y, weight, leaving)
        self.n_rows += 1 - leaving

    def insert(self, position: int, x: Vector, y: float, weight: float = 1.0) -> None:
        """Learn a row that belongs before others."""
        Memory.learn(self, x, y, 0, weight)
        lo, hi = self._span
        at = lo + position
        for rows in (self._x, self._y):
            newest = rows[hi - 1].copy()
            rows[at + 1 : hi] = rows[at : hi - 1]
            rows[at] = newest
        stream.disturb(self._floats, self._ints, at)

    def extend(self, X: Matrix, y: Vector, weights: Vector | None = None) -> None:
        """Learn many newest rows; nothing is solved."""
        n = y.size
        if self.n_rows + n > self._most:
            self._reserve(self.n_rows + n)
        if self._span[1] + n > len(self._y):
            stream.compact_rows(*self._state)
        end = self._span[1]
        self._x[end : end + n], self._y[end : end + n] = X, weighed(y, weights)
        self._ints[moments.END] += n
        self._ints[moments.MUTE] += int(np.count_nonzero(self._y[end : end + n, WEIGHT] == 0.0))
        self._ints[moments.DIRTY] = 1
        self.n_rows += n

    def drop(self, count: int) -> None:
        """The oldest rows leave."""
        stream.drop_rows(self._x, self._y, self._ints, count)
        self.n_rows -= count

    def remove(self, positions: NDArray[np.intp]) -> None:
        """Rows leave from anywhere; what remains is as if they had never come."""
        (X, y), (lo, hi) = self._copies(), self._span
        self._x[lo:hi], self._y[lo:hi] = 0.0, 0.0
        keep = np.ones(len(y), dtype=bool)
        keep[positions] = False
        self._restart(X[keep], y[keep])
        X[:], y[:] = 0.0, 0.0

    def rebuild(self) -> None:
        """Make the state a function of the live rows alone."""
        self._restart(*self._copies())

    def replace(self, X: Matrix, y: Vector) -> None:
        """Other rows in the place of all, of which nothing remains."""
        if y.size > self._most:
            self._reserve(y.size)
        self._restart(X, weighed(y))

    def rule(self, rows: int) -> Vector:
        """The parameters of the penalty where so many rows are alive."""
        kind, switch_at = self._penalty[moments.KIND], self._penalty[moments.SWITCH_AT]
        switched = kind in (SWITCHING, PILOT) and rows > switch_at * self.width
        return np.array(Penalty(), dtype=np.float64) if switched else self._penalty

    def marks(self, n: int) -> list[int]:
        """The rows of a replay of n at which phi2 and condition are told."""
        every = max(_EVERY * self.width, _LEAST_EVERY)
        return [*range(every - 1, n - 1, every), n - 1]

    def rows(self) -> tuple[Matrix, Vector]:
        """Copies of the live rows and their responses, oldest first."""
        lo, hi = self._span
        return self._x[lo:hi].copy(), self._y[lo:hi, VALUE].copy()

    @property
    def weights(self) -> Vector:
        """A copy of the weights of the live rows, oldest first."""
        lo, hi = self._span
        return self._y[lo:hi, WEIGHT].copy()

    def predict(self, x: Vector) -> float:
        state, watched = (self._x, self._y, self._floats, self._ints), self._watched
        code, value = stream.predict_row(*state, x, watched)
        while code != stream.DONE:
            self._supply(code)
            code, value = stream.predict_row(*state, x, watched)
        return value  # type: ignore[no-any-return]

    @property
    def coef(self) -> Vector:
        return self._settled()[1].copy()

    @property
    def intercept(self) -> float:
        return float(self._settled()[0][moments.LEVEL])

    @property
    def penalty_value(self) -> float:
        return float(self._settled()[0][moments.LAMBDA])

    @property
    def rank(self) -> int:
        """The rank of the live rows, around their mean if there is an intercept."""
        self._settled()
        rank = int(self._ints[moments.RANK])
        if rank >= 0:
            return rank
        return numerical_rank(self._scores().rows, self._live[1], self._centred)

    @property
    def clean(self) -> bool:
        """Whether the places of rows that left hold zeros, and weights have their own roots."""
        lo, hi = self._span
        free = (self._x[:lo], self._x[hi:], self._y[:lo], self._y[hi:])
        roots = np.sqrt(self._y[lo:hi, WEIGHT]) == self._y[lo:hi, ROOT]
        return not any(places.any() for places in free) and bool(roots.all())

    @property
    def working_store(self) -> int:
        """Bytes kept beside the live rows."""
        arrays = (self._x, self._y, self._floats, self._ints)
        return sum(a.nbytes for a in arrays) - self.n_rows * (self.width + 3) * 8

    def gauge(self, X: Matrix) -> Gauges:
        """How far the live rows lie from their regression, and rows of X from them."""
        columns, by_core = np.full((len(X), GAUGES), np.nan), self._solved_by_core()
        asked = self.n_rows > 0 and len(X) > 0
        if asked and not (by_core and gauge_rows(*self._state, X, columns, self._room())):
            self._gauge_spectrally(X, columns, self._spectrum())
        heard = self.n_rows - int(self._ints[moments.MUTE])
        n_rows, rank = (np.full(len(X), v) for v in (heard, self._ints[moments.RANK]))
        penalty = np.full(len(X), self._solution[0][moments.LAMBDA])
        return Gauges(n_rows, rank, penalty, *columns.T)

    def replay(
        self,
        X: Matrix,
        y: Vector,
        before: Ints,
        after: Ints,
        *,
        coef: bool,
        diagnostics: bool,
        gauges: bool = False,
        weights: Vector | None = None,
    ) -> Trace:
        """Predict, then learn, row by row.

        ``before[t]`` of the oldest rows leave before row t is predicted, ``after[t]`` once it is
        learned. phi2 and condition are those of every m-th state and of the last, NaN between; m is
        20 times the width, at least 500: eigenvalues cost as much as some hundred rows.
        """
        n, asked = y.size, Asked(coef, diagnostics, gauges)
        self._given = self._penalties(X, y, before, after, weights)
        leaving = self._prepare(before, after)
        states, counts = np.full((8, n), np.nan), np.zeros((3, n), np.int64)
        coefs = np.empty((n if coef else 0, self.width))
        columns = np.full((n if gauges else 0, GAUGES), np.nan)
        arrays = X, weighed(y, weights), leaving, states, counts, coefs
        if diagnostics or gauges:
            self._diagnose(arrays, columns, diagnostics)
        else:
            self._replay(arrays)
        self.n_rows, self._given = self._span[1] - self._span[0], np.zeros(0)
        return Trace.of(
            states,
            counts[0],
            asked,
            rank=counts[1] if diagnostics or self.unpenalised else None,
            coef=coefs if coef else None,
            gauges=Gauges(counts[2], counts[1], states[1], *columns.T) if gauges else None,
        )

    def _penalties(
        self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector | None
    ) -> Vector:
        """Those of each row of a replay, if they are known beforehand."""
        return np.zeros(0)

    def _replay(self, arrays: Arrays) -> None:
        """``replay`` with nothing but predictions."""
        row, code = 0, stream.FORM
        while code != stream.DONE:
            row, code = replay_rows(*self._state, *arrays, self._given, row, self._watched)
            self._supply(code)

    def _diagnose(self, arrays: Arrays, columns: Matrix, diagnostics: bool) -> None:
        """``replay`` with leverages and the like, gauges, or both."""
        self._ints[moments.DIRTY] = 1  # so that what is measured is what has just been solved
        n, room = len(arrays[1]), self._room()
        row = 0
        for end in [*(self.marks(n) if diagnostics else []), n]:
            row = self._diagnose_until(end, row, arrays, columns, room, diagnostics)
            if diagnostics and row < n:
                arrays[3][6:, row] = self._conditioning()

    def _conditioning(self) -> tuple[float, float]:
        """phi^2 and the condition of the live rows."""
        return conditioning(self._scores().rows, self._live[1], self._centred)

    def _diagnose_until(
        self, end: int, row: int, arrays: Arrays, columns: Matrix, room: Matrix, diagnostics: bool
    ) -> int:
        """Up to the state that predicts row ``end``."""
        measured, certain, refitted, code = -1, -1, False, stream.FORM
        count = 2 if diagnostics else 1
        while row < end and code != stream.DONE:
            span = row, end, measured
            row, code = diagnose_rows(
                *self._state,
                *arrays,
                self._given,
                columns,
                room,
                span,
                certain,
                count,
                self._watched,
            )
            if code == SPECTRAL:
                self._measure_apart(row, arrays, columns, refitted)
            elif code == UNRANKED:
                certain = self._rank_at(row, arrays[4])
            if code in (SPECTRAL, UNRANKED, stream.COMPACT):
                measured = row
            if code == stream.COMPACT:
                certain = max(certain - self._span[0], -1)
            refitted = code == stream.REFIT
            self._supply(code)
        return row

    def _rank_at(self, row: int, counts: Ints) -> int:
        """Note the rank of the live rows; from which place on rows have all of it for sure."""
        counts[1, row], newest = rank_of(*self._live, self._shape[0] == 1)
        return self._span[1] - newest if newest and counts[1, row] == self.width else -1

    def _measure_apart(self, row: int, arrays: Arrays, columns: Matrix, refitted: bool) -> None:
        """What the core could not tell of one row, by other ways."""
        X, _, _, states, counts, _ = arrays
        (lo, hi), intercept, rank = self._span, self._shape[0] == 1, self._ints[moments.RANK]
        bare = rank == hi - lo - intercept and not self._ints[moments.MUTE]
        if bare and not refitted and not self._ints[moments.HARD]:
            products = interpolated(*self._live, intercept, X[row])
            heft = self._y[lo:hi, WEIGHT].sum()
            columns[row : row + 1] = products.reach, 0.0, 0.0, 0.0, 0.0, heft  # no residual
        else:
            found = self._spectrum()
            products, rank = self._products(found, X[row]), found.rank
            if columns.size:
                self._gauge_spectrally(X[row : row + 1], columns[row : row + 1], found)
        states[3:6, row] = products.new, products.old, forgetting_term(*products[:3])
        counts[1, row] = rank

    def _products(self, found: Spectrum, new: Vector) -> Products:
        """Of a new row, which weighs 1, and of the oldest, which weighs what it does."""
        z, (_, root, weight) = self._scores(), self._y[self._span[0]]
        plain = found.products(z.of(new), z.rows[0])
        return plain._replace(old=weight * plain.old, cross=root * plain.cross)

    def _gauge_spectrally(self, X: Matrix, columns: Matrix, found: Spectrum) -> None:
        (lo, hi), z = self._span, self._scores()
        columns[:, [REACH, STRETCH]] = [found.gauge(row) for row in z.of(X)]
        columns[:, UNEXPLAINED:] = summary(
            z.rows,
            self._y[lo:hi, VALUE],
            self._live[1],
            self._solution[1] * z.deviation,
            self._shape[0] == 1,
        )

    def _spectrum(self) -> Spectrum:
        penalty, rank = float(self._solution[0][moments.LAMBDA]), int(self._ints[moments.RANK])
        return spectrum(self._scores().rows, self._live[1], penalty, self._shape[0] == 1, rank)

    def _scores(self) -> Scores:
        """The live rows as they are regressed on, and how others become like them."""
        nothing = np.zeros(self.width)
        return Scores(self._live[0], nothing, nothing, np.ones(self.width))

    def _room(self) -> Matrix:
        intercept, block, _ = self._shape
        return room_for(self.width, intercept, 2 * block)

    def _solved_by_core(self) -> bool:
        """Solve anew: by the core, so that more can be solved with it, or by a refit?"""
        self._ints[moments.DIRTY], by_core, code = 1, True, stream.FORM
        zeros = np.zeros(self.width)
        while code != stream.DONE:
            code, _ = stream.predict_row(*self._state, zeros, self._watched)
            by_core &= code != stream.REFIT
            self._supply(code)
        return by_core

    def _prepare(self, before: Ints, after: Ints) -> Ints:
        """Make room for a replay; how many rows go after each row, once the first have gone."""
        came = np.arange(1, after.size + 1)
        alive = self.n_rows + came - np.cumsum(before) - np.cumsum(after) + after
        most = int(alive.max(initial=self.n_rows))
        if most > self._most:
            self._reserve(most)
        if before[:1].any():
            Memory.drop(self, int(before[0]))
        return departures(before, after)

    @property
    def _state(self) -> tuple[Matrix, Responses, Vector, Ints]:
        return self._x, self._y, self._floats, self._ints

    @property
    def _live(self) -> tuple[Matrix, Vector]:
        """Views of the live rows and their weights."""
        lo, hi = self._span
        return self._x[lo:hi], self._y[lo:hi, WEIGHT]

    def _copies(self) -> tuple[Matrix, Responses]:
        lo, hi = self._span
        return self._x[lo:hi].copy(), self._y[lo:hi].copy()

    @property
    def _span(self) -> tuple[int, int]:
        return int(self._ints[moments.HEAD]), int(self._ints[moments.END])

    def _settled(self) -> tuple[Vector, Vector]:
        """Values and coefficients, up to date."""
        self.predict(np.zeros(self.width))  # the one kernel that every model has compiled
        return self._solution

    @property
    def _solution(self) -> tuple[Vector, Vector]:
        return stream.solution(self._floats, self.width)

    def _supply(self, code: int) -> None:
        """What a kernel stopped for; it can go on then."""
        if code == stream.FORM:
            stream.form_rows(*self._state, self._watched)
        elif code == stream.FORM_DUAL:
            stream.form_dual_rows(*self._state, self._watched)
        elif code == stream.REFIT:
            stream.refit_rows(*self._state)
        elif code == stream.COMPACT:
            stream.compact_rows(*self._state)

    def _reserve(self, rows: int) -> None:
        """Make room for ``rows`` live rows, and a quarter more so that they seldom move."""
        X, y = self._copies() if self._ints.size else (self._x, self._y)
        self._x[:], self._y[:] = 0.0, 0.0
        self._most = max(rows, self.n_rows * 3 // 2, _LEAST)
        capacity = self._most + self._most // 4 + 8
        self._x, self._y = np.zeros((capacity, self.width)), np.zeros((capacity, 3))
        intercept, block, shrinks = self._shape
        depth = depth_for(capacity, block)
        floats, ints = stream.stream_room(self.width, self.width + intercept, block, depth)
        self._floats, self._ints = np.zeros(floats), np.zeros(ints, np.int64)
        self._ints[[moments.WIDTH, moments.INTERCEPT, moments.BLOCK]] = self.width, intercept, block
        self._ints[[moments.SHRINKS, moments.DEPTH]] = shrinks, depth
        self._restart(X, y)

    def _restart(self, X: Matrix, y: Responses) -> None:
        n = len(y)
        self._x[:], self._y[:] = 0.0, 0.0
        stream.reset(self._floats, self._ints, self._penalty)
        self._x[:n], self._y[:n] = X, y
        self.n_rows = n
        self._ints[[moments.HEAD, moments.END]] = 0, n
        self._ints[moments.MUTE] = np.count_nonzero(y[:, WEIGHT] == 0.0)


def departures(before: Ints, after: Ints) -> Ints:
    """How many rows go once each row is learned; those that go before the first are gone.

    >>> departures(np.array([5, 0, 1]), np.array([0, 1, 1]))
    array([0, 2, 1])
    """
    leaving = after.copy()
    leaving[:-1] += before[1:]
    return leaving
