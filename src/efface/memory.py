"""The live rows, oldest first, and what has been worked out from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface import moments, stream
from efface.blas import Ints, Matrix, Vector
from efface.moments import ADAPTIVE, FIXED, SWITCHING
from efface.sums import depth_for
from efface.trace import diagnose_rows, replay_rows

__all__ = ["ADAPTIVE", "FIXED", "SWITCHING", "Memory", "Penalty", "Trace"]

_LEAST = 64


class Penalty(NamedTuple):
    """How the penalty follows from the live rows."""

    kind: int = FIXED
    alpha: float = 0.0
    delta: float = 0.05
    theta_max: float = 1.0
    switch_at: float = 2.0


class Trace(NamedTuple):
    """A replay, row by row: the state that predicted each row, before it was learned."""

    prediction: Vector
    penalty: Vector
    intercept: Vector
    n_rows: Ints
    rank: Ints | None
    coef: Matrix | None
    leverage_new: Vector | None
    leverage_old: Vector | None
    frt: Vector | None


class Memory:
    """Rows that come, leave and are regressed on; it trusts what it is given.

    Rows lie in one array, oldest first, with free places behind them. A row that leaves is
    overwritten with zeros. Beside the rows it keeps O(width^2 log rows) numbers, all of them made
    from live rows by addition.

    >>> memory = Memory(1, Penalty(), intercept=False)
    >>> memory.append(np.array([2.0]), 6.0)
    >>> memory.predict(np.array([1.0]))
    3.0
    """

    def __init__(
        self, width: int, penalty: Penalty, *, intercept: bool, shrinks: bool = True
    ) -> None:
        self.width = width
        self.n_rows = 0
        self._penalty = np.array(penalty, dtype=np.float64)
        self._unpenalised = penalty.kind == FIXED and penalty.alpha == 0.0
        self._watched = None if penalty.kind == FIXED else True
        self._ints = np.zeros(0, np.int64)
        self._shape = (int(intercept), stream.block_for(width), int(shrinks))
        self._x, self._y = np.zeros((0, width)), np.zeros(0)
        self._reserve(_LEAST)

    def append(self, x: Vector, y: float) -> None:
        """Learn the newest row."""
        self.learn(x, y, 0)

    def learn(self, x: Vector, y: float, leaving: int) -> None:
        """Learn the newest row; then the oldest ``leaving`` rows go."""
        if self.n_rows == self._most:
            self._reserve(self.n_rows + 1)
        if not stream.learn_row(self._x, self._y, self._ints, x, y, leaving):
            self._supply(stream.COMPACT)
            stream.learn_row(self._x, self._y, self._ints, x, y, leaving)
        self.n_rows += 1 - leaving

    def insert(self, position: int, x: Vector, y: float) -> None:
        """Learn a row that belongs before others."""
        self.append(x, y)
        lo, hi = self._span
        at = lo + position
        for rows in (self._x, self._y):
            rows[at + 1 : hi] = rows[at : hi - 1]
        self._x[at], self._y[at] = x, y
        stream.disturb(self._floats, self._ints, at)

    def extend(self, X: Matrix, y: Vector) -> None:
        """Learn many newest rows; nothing is solved."""
        n = y.size
        if self.n_rows + n > self._most:
            self._reserve(self.n_rows + n)
        if self._span[1] + n > self._y.size:
            stream.compact_rows(*self._state)
        end = self._span[1]
        self._x[end : end + n], self._y[end : end + n] = X, y
        self._ints[moments.END] += n
        self._ints[moments.DIRTY] = 1
        self.n_rows += n

    def drop(self, count: int) -> None:
        """The oldest rows leave."""
        stream.drop_rows(self._x, self._y, self._ints, count)
        self.n_rows -= count

    def remove(self, positions: NDArray[np.intp]) -> None:
        """Rows leave from anywhere; what remains is as if they had never come."""
        X, y = self.rows()
        lo, hi = self._span
        self._x[lo:hi], self._y[lo:hi] = 0.0, 0.0
        keep = np.ones(y.size, dtype=bool)
        keep[positions] = False
        self._restart(X[keep], y[keep])
        X[:], y[:] = 0.0, 0.0

    def rebuild(self) -> None:
        """Make the state a function of the live rows alone."""
        X, y = self.rows()
        self._restart(X, y)

    def rows(self) -> tuple[Matrix, Vector]:
        """Copies of the live rows and their responses, oldest first."""
        lo, hi = self._span
        return self._x[lo:hi].copy(), self._y[lo:hi].copy()

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
        X, _ = self.rows()
        for _ in range(2 * self._shape[0]):  # twice: rounding of a large mean looks like rank
            X -= X.mean(axis=0)
        return int(np.linalg.matrix_rank(X))

    @property
    def clean(self) -> bool:
        """Whether the places of rows that left hold zeros."""
        lo, hi = self._span
        free = (self._x[:lo], self._x[hi:], self._y[:lo], self._y[hi:])
        return not any(places.any() for places in free)

    @property
    def working_store(self) -> int:
        """Bytes kept beside the live rows."""
        arrays = (self._x, self._y, self._floats, self._ints)
        return sum(a.nbytes for a in arrays) - self.n_rows * (self.width + 1) * 8

    def replay(
        self, X: Matrix, y: Vector, before: Ints, after: Ints, *, coef: bool, diagnostics: bool
    ) -> Trace:
        """Predict, then learn, row by row.

        ``before[t]`` of the oldest rows leave before row t is predicted, ``after[t]`` once it is
        learned.
        """
        n = y.size
        alive = self.n_rows + np.arange(1, n + 1) - np.cumsum(before) - np.cumsum(after) + after
        most = int(alive.max(initial=self.n_rows))
        if most > self._most:
            self._reserve(most)
        states, counts = np.full((6, n), np.nan), np.zeros((2, n), np.int64)
        coefs = np.empty((n if coef else 0, self.width))
        self._ints[moments.RANKED] = int(diagnostics)
        self._ints[moments.VALID] &= not diagnostics
        if before[:1].any():
            self.drop(int(before[0]))
        leaving = after.copy()
        leaving[:-1] += before[1:]
        kernel, row, code = diagnose_rows if diagnostics else replay_rows, 0, stream.FORM
        while code != stream.DONE:
            arrays = X, y, leaving, states, counts, coefs
            row, code = kernel(*self._state, *arrays, row, self._watched)
            self._supply(code)
        self._ints[moments.RANKED] = 0
        self.n_rows = self._span[1] - self._span[0]
        ranked = diagnostics or self._unpenalised
        return Trace(
            states[0],
            states[1],
            states[2],
            counts[0],
            counts[1] if ranked else None,
            coefs if coef else None,
            *(states[3:] if diagnostics else (None, None, None)),
        )

    @property
    def _state(self) -> tuple[Matrix, Vector, Vector, Ints]:
        return self._x, self._y, self._floats, self._ints

    @property
    def _span(self) -> tuple[int, int]:
        return int(self._ints[moments.HEAD]), int(self._ints[moments.END])

    def _settled(self) -> tuple[Vector, Vector]:
        """Values and coefficients, up to date."""
        self.predict(np.zeros(self.width))  # the one kernel that every model has compiled
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
        X, y = self.rows() if self._ints.size else (self._x, self._y)
        self._x[:], self._y[:] = 0.0, 0.0
        self._most = max(rows, self.n_rows * 3 // 2, _LEAST)
        capacity = self._most + self._most // 4 + 8
        self._x, self._y = np.zeros((capacity, self.width)), np.zeros(capacity)
        intercept, block, shrinks = self._shape
        depth = depth_for(capacity, block)
        floats, ints = stream.stream_room(self.width, self.width + intercept, block, depth)
        self._floats, self._ints = np.zeros(floats), np.zeros(ints, np.int64)
        self._ints[[moments.WIDTH, moments.INTERCEPT, moments.BLOCK]] = self.width, intercept, block
        self._ints[[moments.SHRINKS, moments.DEPTH]] = shrinks, depth
        self._restart(X, y)

    def _restart(self, X: Matrix, y: Vector) -> None:
        self._x[:], self._y[:] = 0.0, 0.0
        stream.reset(self._floats, self._ints, self._penalty)
        self._x[: y.size], self._y[: y.size] = X, y
        self.n_rows = y.size
        self._ints[[moments.HEAD, moments.END]] = 0, y.size
