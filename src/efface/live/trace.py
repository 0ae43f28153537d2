"""What a replay tells, row by row: the state that predicted each row, before it was learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Ints, Matrix, Vector

DIAGNOSTICS = ("leverage_new", "leverage_old", "frt", "phi2", "condition")


class Asked(NamedTuple):
    """What is to be told of each row beside its prediction."""

    coef: bool
    diagnostics: bool
    gauges: bool


class Gauges(NamedTuple):
    """What an interval needs to know of the live rows and of the row that it is for.

    A new row is predicted with the variance sigma^2 (1 + reach): its leverage, infinite where the
    rows do not determine the prediction. Fields have one entry a row. A live row of weight w has
    the variance sigma^2 / w, and sums of squares are weighted; ``n_rows`` counts rows with weight.
    """

    n_rows: Ints
    rank: Ints  # -1 where a penalty hides it
    penalty: Vector
    reach: Vector
    stretch: Vector  # the squared length of Phi^-1 x, without a penalty
    unexplained: Vector  # the residuals' sum of squares
    scatter: Vector  # the trace of Phi
    size: Vector  # the squared length of the coefficients
    heft: Vector  # the sum of the weights


class RowWindows(NamedTuple):
    """New rows, the live rows that predict each of them, and their regression.

    >>> rows = RowWindows.alike(np.ones((3, 1)), np.ones(3), np.ones(3), np.zeros((2, 1)))
    >>> [len(y) for _, y, _ in rows.each()]
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

    @classmethod
    def alike(cls, X: Matrix, y: Vector, weights: Vector, new: Matrix) -> RowWindows:
        """New rows that all have the same live rows."""
        first = np.zeros(len(new), np.int64)
        return cls(X, y, weights, first, first + len(y), new)

    def each(self) -> Iterator[tuple[Matrix, Vector, Vector]]:
        """The live rows, responses and weights of each new row."""
        for a, b in zip(self.first.tolist(), self.last.tolist(), strict=True):
            yield self.X[a:b], self.y[a:b], self.weights[a:b]


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
        """Those that are there."""
        fields: Iterable[Any] = [*self._replace(gauges=None), *(self.gauges or ())]
        return [field for field in fields if field is not None]


def joined(parts: Sequence[Trace]) -> Trace:
    """One trace after the other; all have the same fields."""
    return parts[0] if len(parts) == 1 else Trace(*map(_concatenated, zip(*parts, strict=True)))


def _concatenated(field: Sequence[Any]) -> Any:
    if isinstance(field[0], Gauges):
        return Gauges(*map(np.concatenate, zip(*field, strict=True)))
    return None if field[0] is None else np.concatenate(field)
