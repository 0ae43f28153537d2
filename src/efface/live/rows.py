"""The row store: the only owner of the raw values of live rows.

Rows lie in one array, oldest first, with free places behind them. A row that leaves is overwritten
with zeros. Where many rows are alive, a row that leaves from the middle leaves a gap: a place with
zeros and without weight, as a row of weight 0 would have. The index of ids knows the gaps.
"""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from efface.engine.events.rows import SPAN, span_of
from efface.engine.events.stream import drop_rows
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, weighed

_LEAST = 64
_OWN = 3  # the column of a row's own weight, where weights fade


@final
class RowStore:
    """Features, responses and weights of the live rows.

    >>> from efface.engine.jit.views import weighed
    >>> rows = RowStore(1)
    >>> rows.extend(np.array([[1.0], [2.0]]), weighed(np.array([5.0, 6.0])))
    >>> rows.drop(1)
    >>> rows.features, rows.y, rows.clean
    (array([[2.]]), array([6.]), True)
    """

    def __init__(self, width: int, *, fades: bool = False) -> None:
        self.width = width
        self._columns = 4 if fades else 3
        self.n_rows = 0
        self.most = 0  # live rows that there is room for
        # For kernels: features, responses with weights, and where the live rows begin and end.
        self.arrays = self._nothing()
        self.reserve(_LEAST)

    def _nothing(self) -> tuple[Matrix, Responses, Ints]:
        return np.zeros((0, self.width)), np.zeros((0, self._columns)), np.zeros(SPAN, np.int64)

    @property
    def _x(self) -> Matrix:
        return self.arrays[0]

    @property
    def _y(self) -> Responses:
        return self.arrays[1]

    @property
    def _span(self) -> Ints:
        return self.arrays[2]

    @property
    def span(self) -> tuple[int, int]:
        """Where the live rows begin and end."""
        return int(self._span[0]), int(self._span[1])

    @property
    def capacity(self) -> int:
        """How many places there are, free ones included."""
        return len(self._y)

    @property
    def weightless(self) -> int:
        """How many live rows have a weight of 0."""
        return int(self._span[2])

    # -- views of the live rows, oldest first ----------------------------------------------------

    @property
    def features(self) -> Matrix:
        lo, hi = self.span
        return self._x[lo:hi]

    @property
    def responses(self) -> Responses:
        lo, hi = self.span
        return self._y[lo:hi]

    @property
    def y(self) -> Vector:
        return self.responses[:, VALUE]

    @property
    def weights(self) -> Vector:
        return self.responses[:, WEIGHT]

    @property
    def own_weights(self) -> Vector:
        """The weights as they were given, where ``weights`` fade."""
        return self.responses[:, _OWN] if self._columns > _OWN else self.weights

    @property
    def fades(self) -> Vector:
        """By what the own weight of each row is multiplied; 0 for a row without weight."""
        own = self.own_weights
        return np.divide(self.weights, own, out=np.zeros(own.size), where=own > 0.0)

    @property
    def clean(self) -> bool:
        """Do all free places hold zeros, and do weights match their square roots?"""
        lo, hi = self.span
        free = (self._x[:lo], self._x[hi:], self._y[:lo], self._y[hi:])
        roots = np.sqrt(self.weights) == self.responses[:, ROOT]
        return not any(places.any() for places in free) and bool(roots.all())

    @property
    def nbytes(self) -> int:
        return self._x.nbytes + self._y.nbytes + self._span.nbytes

    # -- rows come and leave ---------------------------------------------------------------------

    def reserve(self, rows: int) -> bool:
        """Make room for ``rows`` live rows; True if the arrays are new ones."""
        if rows <= self.most:
            return False
        old, X, y = self.arrays, self.features, self.responses
        self.most = max(rows, len(y) * 3 // 2, _LEAST)
        places = self.most + self.most // 4 + 8  # a quarter more, so that rows seldom move
        self.arrays = np.zeros((places, self.width)), np.zeros((places, self._columns)), self._span
        self._put(X, y)
        old[0][:], old[1][:] = 0.0, 0.0
        return True

    def extend(self, X: Matrix, responses: Responses) -> None:
        """Add many newest rows; there must be free places behind the live rows."""
        end, n = self.span[1], len(responses)
        self._x[end : end + n], self._y[end : end + n] = X, responses
        self._span[1] += n  # as ``span_of``, which takes longer
        self._span[2] += np.count_nonzero(responses[:, WEIGHT] == 0.0)
        self.n_rows += n

    def weighed(self, y: Vector, weights: Vector | None, fades: Vector | None) -> Responses:
        """Responses with weights, as the arrays have them."""
        if fades is None:
            return weighed(y, weights)
        own = np.ones(y.size) if weights is None else weights
        return np.column_stack([weighed(y, own * fades), own])

    def note_weight(self, own: float) -> None:
        """Write the own weight of the newest row."""
        _, responses, span = self.arrays
        responses[span[1] - 1, _OWN] = own

    def note_weights(self, own: Vector) -> None:
        """Write the own weights of the newest rows."""
        if own.size:
            self.responses[-own.size :, _OWN] = own

    def fade(self, fades: Vector) -> None:
        """Multiply the own weight of each row by its fade."""
        responses = self.responses
        responses[:, WEIGHT] = self.own_weights * fades
        responses[:, ROOT] = np.sqrt(responses[:, WEIGHT])
        span_of(self._span).weightless = np.count_nonzero(responses[:, WEIGHT] == 0.0)

    def move_newest(self, position: int) -> int:
        """Move the newest row to a position among the live rows; return its place."""
        lo, hi = self.span
        at = lo + position
        for rows in (self._x, self._y):
            newest = rows[hi - 1].copy()
            rows[at + 1 : hi] = rows[at : hi - 1]
            rows[at] = newest
        return at

    def drop(self, count: int) -> None:
        """Remove the oldest rows."""
        drop_rows(*self.arrays, count)
        self.n_rows -= count

    def drop_newest(self, count: int) -> None:
        """Remove the newest places, which are gaps."""
        span = span_of(self._span)
        span.end -= count
        span.weightless -= count
        self.n_rows -= count

    def keep(self, positions: NDArray[np.intp]) -> None:
        """Remove all rows but these; they move to the front."""
        X, y = self.features[positions], self.responses[positions]
        self.replace(X, y)
        X[:], y[:] = 0.0, 0.0

    def replace(self, X: Matrix, responses: Responses) -> None:
        """Put other rows in the place of all."""
        self.wipe()
        self._put(X, responses)

    def borrow(self, X: Matrix, responses: Responses) -> None:
        """Use other arrays until ``give_back``, no row of them live; no row may live here."""
        self.arrays = X, responses, np.zeros(SPAN, np.int64)
        self.most = len(X)

    def give_back(self) -> None:
        """Use arrays of its own again."""
        self.arrays = self._nothing()
        self.most = self.n_rows = 0
        self.reserve(_LEAST)

    def wipe(self) -> None:
        """Overwrite all rows."""
        self._x[:], self._y[:], self._span[:] = 0.0, 0.0, 0
        self.n_rows = 0

    def compact(self) -> int:
        """Move the live rows to the front of their arrays; return by how many places."""
        by, end = self.span
        for rows in (self._x, self._y):
            rows[: end - by] = rows[by:end]
            rows[end - by : end] = 0.0
        self._span[:2] = 0, end - by  # as ``span_of``, which takes longer
        return by

    def count(self) -> None:
        """Take the number of rows from the span, which a kernel has changed."""
        lo, hi = self.span
        self.n_rows = hi - lo

    def _put(self, X: Matrix, responses: Responses) -> None:
        """The rows of X at the front of arrays of zeros."""
        n = len(responses)
        self._x[:n], self._y[:n] = X, responses
        span = span_of(self._span)
        span.head, span.end = 0, n
        span.weightless = np.count_nonzero(responses[:, WEIGHT] == 0.0)
        self.n_rows = n
