"""``forecast_forgetting``: rank and condition after each of the next deletions, O(d^2) each.

The deletions are computed in reverse order: from the rows that remain at the end, older rows are
added one at a time, so nothing is ever subtracted. The factorisation keeps an orthonormal basis Q
of the span of the rows and a triangular T with (XQ)'(XQ) = T'T. A new row is projected on Q,
extends Q if it is outside the span, and is rotated into T. The extreme singular values of T come
from a few steps of block iteration that start from the previous ones; up to ``_SMALL`` features
they are exact.

The rank is that of ``numpy.linalg.matrix_rank``. Where T leaves it in doubt, the rows themselves
are decomposed again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from efface.diagnostics.design import faded
from efface.diagnostics.deviations import (
    binary_exponent,
    deviations,
    is_selected,
    only_rounding,
    scaled_rows,
)
from efface.inputs.ids import Id
from efface.inputs.parameters import whole
from efface.live.snapshot import Snapshot
from efface.models.regression import Model
from efface.theory.geometry import Array, spectrum

_EPS = float(np.finfo(np.float64).eps)
_SMALL = 32  # up to this rank the exact singular values of T cost less than estimates
_BLOCK = 4
_SAFE_FACTOR = 8.0  # an estimated singular value this far above NumPy's cutoff is certain
_OUTSIDE = 8.0  # a component outside the span below 1/8 of the cutoff adds no rank


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """The next deletions in order; each array has one entry per deletion, for the rows after it.

    ``condition`` is that of Phi = X'X (of the deviations from the mean with an intercept), infinite
    below full rank. ``drops_at`` is the index of the first deletion that lowers the rank and
    ``drops_id`` the id of the row that it deletes; both are None if no deletion does.
    """

    ids: tuple[Id, ...]
    n_rows: NDArray[np.int64]
    rank: NDArray[np.int64]
    condition: Array
    drops_at: int | None
    drops_id: Id | None

    def __repr__(self) -> str:
        lines = [f"Forecast of {len(self.ids)} deletions, nothing arriving", f"  {self._fall()}"]
        if self.ids:
            shown = _milestones(len(self.ids), self.drops_at)
            lines.append("  deletion  row           rows left    rank  condition")
            lines += [self._line(i) for i in shown]
        return "\n".join(lines)

    def _fall(self) -> str:
        if self.drops_at is None:
            return "the rank does not fall"
        rank, place = self.rank[self.drops_at], self.drops_at + 1
        return f"the rank first falls, to {rank}, when {self.drops_id!r} leaves (deletion {place})"

    def _line(self, i: int) -> str:
        row = f"{i + 1:>8}  {self.ids[i]!r:<12}  {self.n_rows[i]:>9}  {self.rank[i]:>6}"
        return f"  {row}  {self.condition[i]:.3g}"


def forecast_forgetting(model: Model, steps: int) -> Forecast:
    """Rank and condition after each of the next ``steps`` deletions, oldest row first.

    No row arrives; the forecast ends when no row is left. The rank is exact at every step. The
    condition is exact up to 32 features and below full rank; otherwise it may be too small, by less
    than a factor of 2. With ``standardize`` and for AutoRidge the remaining rows are scaled again
    after each deletion, and both are exact, at O(rows features^2) per deletion.

    >>> from efface import OLS
    >>> model = OLS(fit_intercept=False).fit([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]], [1.0, 2.0, 3.0])
    >>> forecast_forgetting(model, 2)
    Forecast of 2 deletions, nothing arriving
      the rank first falls, to 1, when 1 leaves (deletion 2)
      deletion  row           rows left    rank  condition
             1  0                     2       2  4
             2  1                     1       1  inf
    """
    live = faded(model._snapshot())
    n_rows, count = len(live.X), min(whole("steps", steps, 0), len(live.X))
    if live.parameters["standardize"] or is_selected(live):
        states = [_scaled_state(live, first) for first in range(count, -1, -1)]
    else:
        states = _states(live.X, live.weighed, count, live.parameters["fit_intercept"])
    ranks = np.array([rank for rank, _ in reversed(states)], dtype=np.int64)
    falls = np.flatnonzero(np.diff(ranks) < 0)
    first = int(falls[0]) if falls.size else None
    ids = tuple(live.ids[:count])
    return Forecast(
        ids=ids,
        n_rows=n_rows - np.arange(1, count + 1),
        rank=ranks[1:],
        condition=np.array([condition for _, condition in reversed(states)])[1:],
        drops_at=first,
        drops_id=None if first is None else ids[first],
    )


def _states(X: Array, weights: Array, count: int, intercept: bool) -> list[tuple[int, float]]:
    """Rank and condition of the rows after ``count`` deletions, ``count`` - 1, and so on to 0."""
    factorisation = _Factorisation(X, weights, count, intercept=intercept)
    states = [factorisation.state()]
    for _ in range(count):
        factorisation.add_older_row()
        states.append(factorisation.state())
    return states


def _scaled_state(live: Snapshot, first: int) -> tuple[int, float]:
    """Rank and condition of the rows from ``first`` on, scaled by themselves."""
    X, weights = live.X[first:], live.weighed[first:]
    positive = weights > 0.0
    if not positive.any():
        return 0, math.inf
    z = scaled_rows(live, X[positive], weights[positive])
    assert z is not None
    found = spectrum(np.sqrt(weights[positive])[:, np.newaxis] * z.rows)
    rank = int(found.rank)
    full = rank == X.shape[1]
    return rank, float(found.values[0] / found.values[-1]) if full else math.inf


def _milestones(count: int, drops_at: int | None) -> list[int]:
    """The deletions that are shown: the first, the last, and those where the rank first falls."""
    around = {drops_at - 1, drops_at} if drops_at is not None else {count // 2}
    return sorted({0, count - 1} | {i for i in around if 0 <= i < count})


class _Factorisation:
    """Q and T of rows ``first`` and later of X, each times the square root of its weight."""

    def __init__(self, X: Array, weights: Array, first: int, *, intercept: bool) -> None:
        self.d = X.shape[1]
        self.first = first
        self.intercept = intercept
        self.weights = weights
        exponent = binary_exponent(X[weights > 0.0])
        self.rows = np.ldexp(X, -exponent)  # squares neither overflow nor underflow
        newest = np.flatnonzero(weights)[-1:]
        self.origin = self.rows[newest[0]] if intercept and newest.size else np.zeros(self.d)
        self.random = np.random.default_rng(0)
        self.decompose()

    # -- the current state -----------------------------------------------------------------------

    def decompose(self) -> None:
        """Compute Q and T from the rows themselves."""
        positive = self.weights[self.first :] > 0.0
        rows, weights = self.rows[self.first :][positive], self.weights[self.first :][positive]
        self.total_weight = float(weights.sum())
        self.mean = np.zeros(self.d)
        if len(rows):
            self.mean = np.average(rows - self.origin, axis=0, weights=weights)
        self.low = rows.min(axis=0, initial=np.inf)
        self.high = rows.max(axis=0, initial=-np.inf)
        centred = deviations(rows, weights=weights)[0] if self.intercept and len(rows) else rows
        centred = np.sqrt(weights)[:, np.newaxis] * centred
        if len(rows) > self.d:
            centred = np.asarray(np.linalg.qr(centred, mode="r"))  # the same singular values
        _, singular, basis = np.linalg.svd(centred, full_matrices=False)
        largest = float(singular.max(initial=0.0))
        rank = int(np.count_nonzero(singular > self._cutoff(largest)))
        self.basis = np.asfortranarray(basis[:rank].T)
        self.factor = np.asfortranarray(np.diag(singular[:rank]))
        self.left_out = float(np.sum(singular[rank:] ** 2))
        self.constant = self._constant_columns()
        self.top = np.eye(rank, min(rank, _BLOCK))
        self.bottom = np.eye(rank)[:, ::-1][:, : min(rank, _BLOCK)].copy()
        self.largest, self.smallest = largest, float(singular[rank - 1]) if rank else math.inf

    @property
    def count(self) -> int:
        return len(self.rows) - self.first

    @property
    def rank(self) -> int:
        return int(self.factor.shape[0])

    def state(self) -> tuple[int, float]:
        """The rank, and the condition of Phi."""
        if self.rank < self.d:
            return self.rank, math.inf
        return self.rank, float((self.largest / self.smallest) ** 2)

    def _cutoff(self, largest: float) -> float:
        """As in ``numpy.linalg.matrix_rank``."""
        return float(_EPS * max(self.count, self.d) * largest)

    def _constant_columns(self) -> NDArray[np.bool]:
        """The columns whose deviations are not zero but only rounding."""
        if not (self.intercept and self.total_weight):
            return np.zeros(self.d, dtype=bool)
        mean = self.mean + self.origin
        rounding = only_rounding(np.array([self.low, self.high]) - mean, mean)
        return np.asarray(rounding & (self.low < self.high))

    # -- one more row ----------------------------------------------------------------------------

    def add_older_row(self) -> None:
        """Add the next older row."""
        self.first -= 1
        row, weight = self.rows[self.first], float(self.weights[self.first])
        if weight == 0.0:
            return
        self.low, self.high = np.minimum(self.low, row), np.maximum(self.high, row)
        row = row - self.origin
        if self.intercept:
            row = self._centre(row, weight)
        row = math.sqrt(weight) * row
        self.total_weight += weight
        if not np.array_equal(constant := self._constant_columns(), self.constant):
            self.decompose()
            return
        row[constant] = 0.0
        self._add(row)
        if self._in_doubt():
            self.decompose()

    def _centre(self, row: Array, weight: float) -> Array:
        """Update the mean; return v such that the centred Phi grows by weight v v' (Welford)."""
        deviation, n = row - self.mean, self.total_weight
        self.mean = self.mean + weight * deviation / (n + weight)
        return np.asarray(math.sqrt(n / (n + weight)) * deviation)

    def _add(self, row: Array) -> None:
        inside, outside, length = _split(self.basis, row)
        size = max(self.largest, float(np.linalg.norm(row)))
        if length > self._cutoff(size) / _OUTSIDE:
            self.basis = np.asfortranarray(np.column_stack([self.basis, outside / length]))
            self.factor = np.asfortranarray(np.pad(self.factor, (0, 1)))
            self.top, self.bottom = (np.pad(v, ((0, 1), (0, 0))) for v in (self.top, self.bottom))
            inside = np.append(inside, length)
        else:
            self.left_out += length**2
        if self.rank:
            self._update_factor(inside)

    def _update_factor(self, row: Array) -> None:
        """Replace T by the triangular factor of T'T + row row'."""
        block = min(self.rank, 32)
        self.factor = lapack.dtpqrt(0, block, self.factor, row[np.newaxis], overwrite_a=1)[0]
        if self.rank <= _SMALL:
            singular = np.linalg.svd(self.factor, compute_uv=False)
            self.largest, self.smallest = float(singular[0]), float(singular[-1])
            return
        self.top, self.largest = _largest(self.factor, np.column_stack([row, self.top]))
        guess = self.random.standard_normal((self.rank, 1))
        guess[-1] += math.sqrt(self.rank)  # a row barely outside the span shows in this direction
        self.bottom, self.smallest = _smallest(self.factor, np.column_stack([self.bottom, guess]))

    def _in_doubt(self) -> bool:
        """Whether ``numpy.linalg.matrix_rank`` could give another rank."""
        cutoff = self._cutoff(self.largest)
        certain = self.smallest > _SAFE_FACTOR * cutoff and self.smallest > 0.0
        return not (certain or self.rank == 0) or 2 * math.sqrt(self.left_out) > cutoff


def _split(basis: Array, row: Array) -> tuple[Array, Array, float]:
    """Coordinates in the basis, the component outside its span, and the length of that."""
    inside = basis.T @ row
    outside = row - basis @ inside
    again = basis.T @ outside  # two projections are enough (Kahan)
    outside -= basis @ again
    return inside + again, outside, float(np.linalg.norm(outside))


def _largest(factor: Any, block: Array) -> tuple[Array, float]:
    """One step of block iteration for the largest singular value of T, and its vectors."""
    block = factor.T @ (factor @ block)
    q = np.linalg.qr(block / np.abs(block).max())[0]
    _, singular, vt = np.linalg.svd(factor @ q, full_matrices=False)
    return (q @ vt.T)[:, :_BLOCK], float(singular[0])


def _smallest(factor: Any, block: Array) -> tuple[Array, float]:
    """Two steps of inverse block iteration for the smallest one; 0 if T is singular."""
    for _ in range(2):
        block = np.linalg.qr(block)[0]
        half, singular = lapack.dtrtrs(factor, block, trans=1)
        if singular:
            return block[:, :_BLOCK], 0.0
        block, _ = lapack.dtrtrs(factor, half)
    _, lengths, vt = np.linalg.svd(half, full_matrices=False)
    q = np.linalg.qr(block @ vt.T)[0]
    return q[:, :_BLOCK], 1.0 / float(lengths[0])
