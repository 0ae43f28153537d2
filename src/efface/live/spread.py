"""Live rows without responses, and the mean and spread of their features."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Ints, Matrix, Vector
from efface.engine.sums import moments as kernel
from efface.engine.sums.moments import END, HEAD, KNOWN, SEEN, TURN, Range

_LEAST = 64


@final
class Spread:
    """Rows that come and leave as in a ``Memory``; what is known of them is a mean and a variance.

    Both are the exact ones rounded to a neighbouring double, hence functions of the live rows
    alone, to the last bit, however these came to be the live ones. A row that leaves is overwritten
    with zeros, and so is every sum that it was part of. Responses and weights are taken and
    not kept.

    >>> spread = Spread(1)
    >>> spread.extend(np.array([[1.0], [2.0], [6.0]]), np.zeros(3))
    >>> spread.mean, spread.variance.round(4)
    (array([3.]), array([4.6667]))
    """

    def __init__(self, width: int, *, shrinks: bool = True) -> None:
        self.width = width
        self._shrinks = shrinks
        self._reserve(_LEAST, np.zeros((0, width)))

    @property
    def n_rows(self) -> int:
        return int(self._range.dials[END] - self._range.dials[HEAD])

    # -- rows come and leave ---------------------------------------------------------------------

    def learn(self, x: Vector, y: float, leaving: int, weight: float = 1.0) -> None:
        """The newest row; then the oldest ``leaving`` rows go."""
        if not kernel.join_range(self._range, x, leaving):
            self._make_room(1)
            kernel.join_range(self._range, x, leaving)

    def insert(self, position: int, x: Vector, y: float, weight: float = 1.0) -> None:
        """A row that belongs before others."""
        self._restart(np.insert(self.values()[0], position, x, axis=0))

    def extend(self, X: Matrix, y: Vector, weights: Vector | None = None) -> None:
        """Many newest rows."""
        self._make_room(len(X))
        end = self._range.dials[END]
        self._range.x[end : end + len(X)] = X
        self._range.dials[[END, KNOWN]] = end + len(X), 0

    def drop(self, count: int) -> None:
        """The oldest rows leave."""
        if count == self.n_rows:
            self._restart(np.zeros((0, self.width)))
        else:
            kernel.drop_range(self._range, count)

    def remove(self, positions: NDArray[np.intp]) -> None:
        """Rows leave from anywhere."""
        X, _, _ = self.values()
        self._restart(np.delete(X, positions, axis=0))
        X[:] = 0.0

    def rebuild(self) -> None:
        """Nothing to be done: what is kept is made of live rows."""

    def values(self) -> tuple[Matrix, Vector, Vector]:
        """Copies of the live rows, oldest first; responses of 0 and weights of 1."""
        head, end = self._range.dials[[HEAD, END]]
        return self._range.x[head:end].copy(), np.zeros(end - head), np.ones(end - head)

    # -- what is known of them -------------------------------------------------------------------

    @property
    def mean(self) -> Vector:
        """NaN if there are no rows."""
        return np.array(self._found()[0])

    @property
    def variance(self) -> Vector:
        """The mean squared deviation from the mean; NaN if there are no rows."""
        return np.array(self._found()[1])

    @property
    def scale(self) -> Vector:
        """Its root; 1 for a feature that is constant but for rounding."""
        self._found()
        scale = np.full(self.width, np.nan)
        if self.n_rows:
            kernel.scales_of(self._range, scale)
        return scale

    def scaled(
        self, X: Matrix, before: Ints, after: Ints, options: tuple[bool, bool, bool]
    ) -> Matrix:
        """Scale each row by the live ones, then learn it; NaN where there are none.

        ``before[t]`` rows leave before row t comes, ``after[t]`` once it is learned. ``options``
        say whether the mean is taken off, the deviation divided by, and the row learned first.
        """
        came = np.arange(1, len(X) + 1)
        alive = self.n_rows + came - np.cumsum(before) - np.cumsum(after) + after
        self._make_room(max(int(alive.max(initial=0)) - self.n_rows, 1))
        out, row, sure, code = np.empty_like(X), 0, -1, kernel.FULL
        while code != kernel.DONE:
            way = options, out, row, sure
            row, code = kernel.scale_rows(self._range, X, before, after, *way)
            if code == kernel.FULL:
                self._compact()
            elif code == kernel.DOUBTFUL:
                self._decide()
                sure = row
        return out

    def scaled_one(self, x: Vector, with_mean: bool, with_std: bool) -> Vector:
        """One row, scaled by the live ones, of which there must be some."""
        out = np.empty(self.width)
        while kernel.scale_row(self._range, x, with_mean, with_std, out) == kernel.DOUBTFUL:
            self._decide()
        return out

    def _found(self) -> Matrix:
        if not self.n_rows:
            self._range.found[:] = np.nan
        elif kernel.settle_range(self._range) == kernel.DOUBTFUL:
            self._decide()
        return self._range.found

    def _decide(self) -> None:
        """Mean and variance where there are doubts, from exact sums."""
        found, X = self._range.found, self.values()[0]
        for j in np.flatnonzero(found[2]):
            found[:2, j] = exact_moments(X[:, j])
        self._range.dials[KNOWN] = 1

    # -- within ----------------------------------------------------------------------------------

    def _make_room(self, count: int) -> None:
        """Places for some more rows."""
        places = len(self._range.x)
        if self._range.dials[END] + count <= places:
            return
        if self.n_rows + count <= places * 4 // 5:
            self._compact()
        else:
            self._reserve(max(self.n_rows + count, self.n_rows * 3 // 2), self.values()[0])

    def _compact(self) -> None:
        """Move the live rows to the front of their array and zero the places they leave."""
        head, end = self._range.dials[[HEAD, END]]
        for kept in (self._range.x, *([self._range.pieces] if self._shrinks else [])):
            kept[: end - head] = kept[head:end]
            kept[end - head : end] = 0.0
        self._range.dials[[HEAD, END, TURN, SEEN]] -= head

    def _reserve(self, rows: int, X: Matrix) -> None:
        places = rows + rows // 4 + 8
        self._range: Range = kernel.range_of(np.zeros((places, self.width)), shrinks=self._shrinks)
        self._restart(X)

    def _restart(self, X: Matrix) -> None:
        """The rows of X are the live ones, and nothing is known of any other."""
        if len(X) > len(self._range.x):
            self._reserve(len(X), X)
            return
        r = self._range
        for kept in (r.x, r.pieces, r.recent, r.centre, r.found):
            kept[...] = 0.0
        r.dials[[HEAD, END, TURN, SEEN, KNOWN]] = 0, len(X), 0, 0, 0
        r.x[: len(X)] = X


def exact_moments(values: Vector) -> tuple[float, float]:
    """Mean and variance by whole numbers, rounded like those that are not in doubt.

    >>> exact_moments(np.array([1.0, 2.0, 6.0]))
    (3.0, 4.666666666666667)
    """
    n, numbers = len(values), [Fraction(value) for value in values.tolist()]
    mean = sum(numbers, Fraction()) / n
    variance = sum((number * number for number in numbers), Fraction()) / n - mean * mean
    if mean * mean < (n * Fraction(kernel.NOTHING)) ** 2 * variance:
        mean = Fraction()
    return _rounded(mean), _rounded(variance)


def _rounded(value: Fraction) -> float:
    try:
        nearest = float(abs(value))
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    below = nearest if Fraction(nearest) <= abs(value) else math.nextafter(nearest, 0.0)
    above = math.nextafter(below, math.inf)
    if not math.isinf(above):
        limit = Fraction(kernel.SECTION) * (Fraction(above) - Fraction(below))
        below = below if abs(value) - Fraction(below) < limit else above
    return below if value >= 0 else -below
