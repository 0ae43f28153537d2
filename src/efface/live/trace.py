"""What a replay returns, row by row: the state that predicted each row, before it was learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.inputs.types import Ints, Matrix, Vector

DIAGNOSTICS = ("leverage_new", "leverage_old", "frt", "phi2", "condition")


class Asked(NamedTuple):
    """What a replay returns for each row beside its prediction."""

    coef: bool
    diagnostics: bool
    gauges: bool


class Gauges(NamedTuple):
    """What an interval needs to know of the live rows and of the row that it is for.

    A new row is predicted with the variance sigma^2 (1 + leverage), infinite where the
    rows do not determine the prediction. Fields have one entry per row. A live row of weight w has
    the variance sigma^2 / w, and sums of squares are weighted; ``n_rows`` counts rows with weight.
    """

    n_rows: Ints | Vector  # where weights fade, a row counts by its fade
    rank: Ints  # -1 where a penalty hides it
    penalty: Vector
    leverage: Vector  # of the new row
    image_square: Vector  # the squared length of the image Phi^-1 x, without a penalty
    unexplained: Vector  # the residuals' sum of squares
    scatter: Vector  # the trace of Phi
    size: Vector  # the squared length of the coefficients
    total_weight: Vector  # the sum of the weights

    def in_units(self, unit: Vector | float) -> Gauges:
        """The same for weights divided by a unit; number of rows and penalty are so already."""
        return self._replace(
            leverage=self.leverage * unit,
            image_square=self.image_square * unit**2,
            unexplained=self.unexplained / unit,
            scatter=self.scatter / unit,
            total_weight=self.total_weight / unit,
        )


class RowWindows(NamedTuple):
    """New rows, the live rows that predict each of them, and their regression.

    >>> rows = RowWindows.alike(np.ones((3, 1)), np.ones(3), np.ones(3), np.zeros((2, 1)))
    >>> [len(y) for _, y, *_ in rows.each()]
    [3, 3]
    """

    X: Matrix  # live rows of all windows
    y: Vector
    weights: Vector
    first: Ints  # the window of a new row is first..last - 1 of these
    last: Ints
    new: Matrix
    coef: Matrix | None = None  # (new rows, features); None where it is not needed
    intercept: Vector | None = None
    halvings: Vector | None = None  # of each live row, less those of another; None: none fade

    @classmethod
    def alike(cls, X: Matrix, y: Vector, weights: Vector, new: Matrix) -> RowWindows:
        """New rows that all have the same live rows."""
        first = np.zeros(len(new), np.int64)
        return cls(X, y, weights, first, first + len(y), new)

    def at(self, places: NDArray[np.intp]) -> RowWindows:
        """Some of the new rows, with the same live rows."""
        fits = self.coef, self.intercept
        coef, intercept = (None if each is None else each[places] for each in fits)
        ranges = self.first[places], self.last[places], self.new[places]
        rows = self.X, self.y, self.weights
        return RowWindows(*rows, *ranges, coef, intercept, self.halvings)

    def each(self) -> Iterator[tuple[Matrix, Vector, Vector, Vector | None]]:
        """The live rows of each new row, their responses, weights and halvings; None: none fade."""
        for a, b in zip(self.first.tolist(), self.last.tolist(), strict=True):
            halved = None if self.halvings is None else self.halvings[a:b]
            yield self.X[a:b], self.y[a:b], self.weights[a:b], halved


class Trace(NamedTuple):
    """A replay, row by row; None for what was not asked for."""

    prediction: Vector
    penalty: Vector
    intercept: Vector
    n_rows: Ints
    rank: Ints | None = None
    coef: Matrix | None = None
    leverage_new: Vector | None = None
    leverage_old: Vector | None = None
    frt: Vector | None = None
    phi2: Vector | None = None
    condition: Vector | None = None
    lower: Vector | None = None
    upper: Vector | None = None
    gauges: Gauges | None = None

    @classmethod
    def of(cls, states: Matrix, n_rows: Ints, asked: Asked, **more: Any) -> Trace:
        """Of rows of numbers: prediction, penalty and intercept, then those of DIAGNOSTICS.

        >>> trace = Trace.of(np.zeros((8, 2)), np.arange(2), Asked(False, True, False))
        >>> trace.frt, trace.coef
        (array([0., 0.]), None)
        """
        if asked.diagnostics:
            more |= dict(zip(DIAGNOSTICS, states[3:], strict=True))
        return cls(states[0], states[1], states[2], n_rows, **more)

    def take(self, index: Ints) -> Trace:
        """The rows at these places, without gauges."""
        fields: Iterable[Any] = self._replace(gauges=None)
        return Trace._make(None if field is None else field.take(index, 0) for field in fields)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays that are not None, those of the gauges last."""
        fields: Iterable[Any] = [*self._replace(gauges=None), *(self.gauges or ())]
        return [field for field in fields if field is not None]


def joined(parts: Sequence[Trace]) -> Trace:
    """One trace after the other; all have the same fields."""
    return parts[0] if len(parts) == 1 else Trace(*map(_concatenated, zip(*parts, strict=True)))


def _concatenated(field: Sequence[Any]) -> Any:
    if isinstance(field[0], Gauges):
        return Gauges(*map(np.concatenate, zip(*field, strict=True)))
    return None if field[0] is None else np.concatenate(field)
