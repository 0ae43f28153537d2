"""Live rows without responses, and the mean and variance of their features."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.records import Record
from efface.engine.jit.views import Ints, Matrix, Vector
from efface.engine.sums import moments as kernel

_LEAST = 64


@final
class FeatureMoments:
    """Rows that come and leave as in a ``Solver``, and their mean and variance by feature.

    Both are exact up to one rounding to a neighbouring double. So they depend on the live rows
    alone, to the last bit. A row that leaves is overwritten with zeros, and so is every sum that
    contains it. Responses and weights are accepted and ignored.

    >>> moments = FeatureMoments(1)
    >>> moments.extend(np.array([[1.0], [2.0], [6.0]]), np.zeros(3))
    >>> moments.mean, moments.variance.round(4)
    (array([3.]), array([4.6667]))
    """

    gaps_from = None  # no gaps between rows: sums of suffixes are by place

    def __init__(self, width: int, *, shrinks: bool = True) -> None:
        self.width = width
        self._shrinks = shrinks
        self._reserve(_LEAST, np.zeros((0, width)))

    def use_walls(self, walls: object) -> None:
        """Ids do not matter here."""

    @property
    def _state(self) -> Record:
        return kernel.range_state(self._range.state)

    @property
    def n_rows(self) -> int:
        return int(self._state.end - self._state.head)

    # -- rows come and leave ---------------------------------------------------------------------

    def learn(self, x: Vector, y: float, leaving: int, weight: float = 1.0) -> None:
        """Learn the newest row; then the oldest ``leaving`` rows leave."""
        if not kernel.learn_row(self._range, x, leaving):
            self._make_room(1)
            kernel.learn_row(self._range, x, leaving)

    def insert(self, position: int, x: Vector, y: float, weight: float = 1.0) -> None:
        """Learn a row that is not the newest."""
        self._restart(np.insert(self.values()[0], position, x, axis=0))

    def extend(self, X: Matrix, y: Vector, weights: Vector | None = None) -> None:
        """Learn many newest rows."""
        self._make_room(len(X))
        state = self._state
        self._range.x[state.end : state.end + len(X)] = X
        state.end += len(X)
        state.known = 0

    def drop(self, count: int) -> None:
        """Remove the oldest rows."""
        if count == self.n_rows:
            self._restart(np.zeros((0, self.width)))
        else:
            kernel.drop_oldest(self._range, count)

    def keep(self, positions: NDArray[np.intp]) -> None:
        """Remove all rows but these."""
        X, _, _ = self.values()
        self._restart(X[positions])
        X[:] = 0.0

    def values(self, at: NDArray[np.intp] | None = None) -> tuple[Matrix, Vector, Vector]:
        """Copies of the rows, or of those at some places; responses of 0 and weights of 1."""
        X = self.views()[0]
        X = X.copy() if at is None else X[at]
        return X, np.zeros(len(X)), np.ones(len(X))

    def views(self) -> tuple[Matrix, Vector, Vector]:
        """All rows where they lie; responses of 0 and weights of 1."""
        n = self.n_rows
        return self._range.x[self._state.head : self._state.end], np.zeros(n), np.ones(n)

    # -- moments ---------------------------------------------------------------------------------

    @property
    def mean(self) -> Vector:
        """The mean; NaN if there is no row."""
        return np.array(self._moments()[0])

    @property
    def variance(self) -> Vector:
        """The mean squared deviation from the mean; NaN if there is no row."""
        return np.array(self._moments()[1])

    @property
    def scale(self) -> Vector:
        """The standard deviation; 1 for a feature that is constant up to rounding."""
        self._moments()
        scale = np.full(self.width, np.nan)
        if self.n_rows:
            kernel.set_scales(self._range, scale)
        return scale

    def scaled(
        self, X: Matrix, before: Ints, after: Ints, options: tuple[bool, bool, bool]
    ) -> Matrix:
        """Scale each row by the live rows, then learn it; NaN if no row is live.

        ``before[t]`` rows leave before row t comes, ``after[t]`` after it was learned. ``options``:
        subtract the mean?, divide by the deviation?, learn the row before it is scaled?
        """
        came = np.arange(1, len(X) + 1)
        alive = self.n_rows + came - np.cumsum(before) - np.cumsum(after) + after
        self._make_room(max(int(alive.max(initial=0)) - self.n_rows, 1))
        out, row, decided, code = np.empty_like(X), 0, -1, kernel.FULL
        while code != kernel.DONE:
            rest = options, out, row, decided
            row, code = kernel.scale_rows(self._range, X, before, after, *rest)
            if code == kernel.FULL:
                self._compact()
            elif code == kernel.DOUBTFUL:
                self._decide()
                decided = row
        return out

    def scaled_one(self, x: Vector, with_mean: bool, with_std: bool) -> Vector:
        """One row, scaled by the live rows, of which there must be one."""
        out = np.empty(self.width)
        while kernel.scale_row(self._range, x, with_mean, with_std, out) == kernel.DOUBTFUL:
            self._decide()
        return out

    def _moments(self) -> Matrix:
        if not self.n_rows:
            self._range.moments[:] = np.nan
        elif kernel.update_moments(self._range) == kernel.DOUBTFUL:
            self._decide()
        return self._range.moments

    def _decide(self) -> None:
        """Compute doubtful means and variances from exact sums."""
        moments, X = self._range.moments, self.values()[0]
        for j in np.flatnonzero(moments[2]):
            moments[:2, j] = exact_moments(X[:, j])
        self._state.known = 1

    # -- storage ---------------------------------------------------------------------------------

    def _make_room(self, count: int) -> None:
        """Free places for ``count`` more rows."""
        places = len(self._range.x)
        if self._state.end + count <= places:
            return
        if self.n_rows + count <= places * 4 // 5:
            self._compact()
        else:
            self._reserve(max(self.n_rows + count, self.n_rows * 3 // 2), self.values()[0])

    def _compact(self) -> None:
        """Move the live rows to the front of their array, and overwrite the places behind them."""
        state = self._state
        head, end = int(state.head), int(state.end)
        for kept in (self._range.x, *([self._range.suffixes] if self._shrinks else [])):
            kept[: end - head] = kept[head:end]
            kept[end - head : end] = 0.0
        state.head, state.end = 0, end - head
        state.turn -= head
        state.seen -= head

    def _reserve(self, rows: int, X: Matrix) -> None:
        places = rows + rows // 4 + 8
        self._range = kernel.empty_range(np.zeros((places, self.width)), shrinks=self._shrinks)
        self._restart(X)

    def _restart(self, X: Matrix) -> None:
        """Make the rows of X the live rows, and overwrite everything else."""
        if len(X) > len(self._range.x):
            self._reserve(len(X), X)
            return
        r, state = self._range, self._state
        for kept in (r.x, r.suffixes, r.recent, r.centre, r.moments):
            kept[...] = 0.0
        state.head = state.turn = state.seen = state.known = 0
        state.end = len(X)
        r.x[: len(X)] = X


def exact_moments(values: Vector) -> tuple[float, float]:
    """Mean and variance in rational arithmetic, rounded as ``efface.engine.sums.moments`` does.

    >>> exact_moments(np.array([1.0, 2.0, 6.0]))
    (3.0, 4.666666666666667)
    """
    n, numbers = len(values), [Fraction(value) for value in values.tolist()]
    mean = sum(numbers, Fraction()) / n
    variance = sum((number * number for number in numbers), Fraction()) / n - mean * mean
    if mean * mean < (n * Fraction(kernel.NO_MEAN)) ** 2 * variance:
        mean = Fraction()
    return _rounded(mean), _rounded(variance)


def _rounded(value: Fraction) -> float:
    """The double below or above, by the golden section of the gap between them."""
    try:
        nearest = float(abs(value))
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    below = nearest if Fraction(nearest) <= abs(value) else math.nextafter(nearest, 0.0)
    above = math.nextafter(below, math.inf)
    if not math.isinf(above):
        boundary = Fraction(kernel.SECTION) * (Fraction(above) - Fraction(below))
        below = below if abs(value) - Fraction(below) < boundary else above
    return below if value >= 0 else -below
