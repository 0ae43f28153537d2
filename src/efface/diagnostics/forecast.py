"""What the next deletions do to the live rows if nothing arrives, at O(d^2) a deletion.

Deletions are walked backwards: from the rows that remain in the end, the older ones join one after
the other, so nothing is ever subtracted. The walk keeps an orthonormal basis Q of what the rows
span and a triangular T with (XQ)'(XQ) = T'T. A joining row is projected on Q, lengthens it if it
sticks out, and is rotated into T. The extreme singular values of T are found by a few steps of
block iteration, started from those of the window before; up to ``_SMALL`` features, exactly.

The rank is that of ``numpy.linalg.matrix_rank``. Wherever T leaves it in doubt the rows themselves
are decomposed anew, and the walk goes on from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from efface.inputs.ids import Id
from efface.inputs.parameters import whole
from efface.models.regression import Model
from efface.theory.geometry import Array, binary_unit, deviations, dust, spectrum, standardized

_EPS = float(np.finfo(np.float64).eps)
_SMALL = 32  # up to here the singular values of T themselves cost less than estimates of them
_BLOCK = 4
_OUT_OF_DOUBT = 8.0  # how far above NumPy's cutoff an estimated singular value is beyond doubt
_BORDER = 8.0  # a row that sticks out by less than an eighth of the cutoff adds no rank


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """The next deletions, first to last; arrays have one entry a deletion, as it leaves the rows.

    ``condition`` is that of Phi = X'X (of deviations from the mean with an intercept), infinite
    below full rank. ``drops_at`` is the index of the first deletion at which the rank falls and
    ``drops_id`` the row that it deletes; None if it never does.
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
    """What the next ``steps`` deletions do if nothing arrives: oldest first, until none is left.

    The rank is exact at every step. The condition is exact up to 32 features and below full rank;
    else it may fall short, by less than a factor of 2. With ``standardize`` both are those of rows
    standardised anew after each deletion, exact at O(rows features^2) each.

    >>> from efface import OLS
    >>> model = OLS(fit_intercept=False).fit([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]], [1.0, 2.0, 3.0])
    >>> forecast_forgetting(model, 2)
    Forecast of 2 deletions, nothing arriving
      the rank first falls, to 1, when 1 leaves (deletion 2)
      deletion  row           rows left    rank  condition
             1  0                     2       2  4
             2  1                     1       1  inf
    """
    live = model._snapshot()
    n_rows, count = len(live.X), min(whole("steps", steps, 0), len(live.X))
    if live.parameters["standardize"]:
        states = [
            _standardized_state(live.X[first:], live.weighed[first:])
            for first in range(count, -1, -1)
        ]
    else:
        states = _walked(live.X, live.weighed, count, live.parameters["fit_intercept"])
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


def _walked(X: Array, weights: Array, count: int, intercept: bool) -> list[tuple[int, float]]:
    """Rank and condition of the rows from ``count`` on, then from one earlier, up to all."""
    walk = _Walk(X, weights, count, intercept=intercept)
    states = [walk.state()]
    for _ in range(count):
        walk.step()
        states.append(walk.state())
    return states


def _standardized_state(X: Array, weights: Array) -> tuple[int, float]:
    """Rank and condition of rows that are standardised by themselves."""
    heard = weights > 0.0
    if not heard.any():
        return 0, math.inf
    rows = standardized(X[heard], weights[heard]).rows
    found = spectrum(np.sqrt(weights[heard])[:, np.newaxis] * rows)
    rank = int(found.rank)
    full = rank == X.shape[1]
    return rank, float(found.values[0] / found.values[-1]) if full else math.inf


def _milestones(count: int, drops_at: int | None) -> list[int]:
    """Which deletions a terminal shows: the first, the last, and those around the fall."""
    around = {drops_at - 1, drops_at} if drops_at is not None else {count // 2}
    return sorted({0, count - 1} | {i for i in around if 0 <= i < count})


class _Walk:
    """Rows ``first`` and later of X, ``first`` going down; each times the root of its weight."""

    def __init__(self, X: Array, weights: Array, first: int, *, intercept: bool) -> None:
        self.d = X.shape[1]
        self.first = first
        self.intercept = intercept
        heard = X[weights > 0.0]
        self.weights = weights
        self.rows = np.ldexp(X, -binary_unit(heard))  # squares of huge and tiny rows are numbers
        newest = np.flatnonzero(weights)[-1:]
        self.origin = self.rows[newest[0]] if intercept and newest.size else np.zeros(self.d)
        self.random = np.random.default_rng(0)
        self.restart()

    # -- where it stands -------------------------------------------------------------------------

    def restart(self) -> None:
        """Stand on a decomposition of the rows themselves."""
        heard = self.weights[self.first :] > 0.0
        rows, weights = self.rows[self.first :][heard], self.weights[self.first :][heard]
        self.heft = float(weights.sum())
        self.mean = np.zeros(self.d)
        if len(rows):
            self.mean = np.average(rows - self.origin, axis=0, weights=weights)
        self.low = rows.min(axis=0, initial=np.inf)
        self.high = rows.max(axis=0, initial=-np.inf)
        centred = deviations(rows, weights=weights)[0] if self.intercept and len(rows) else rows
        centred = np.sqrt(weights)[:, np.newaxis] * centred
        if len(rows) > self.d:
            centred = np.asarray(np.linalg.qr(centred, mode="r"))  # has the same singular values
        _, singular, basis = np.linalg.svd(centred, full_matrices=False)
        largest = float(singular.max(initial=0.0))
        rank = int(np.count_nonzero(singular > self._cutoff(largest)))
        self.basis = np.asfortranarray(basis[:rank].T)
        self.factor = np.asfortranarray(np.diag(singular[:rank]))
        self.left_out = float(np.sum(singular[rank:] ** 2))
        self.settled = self._dusty()
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
        """Rank, and condition of Phi."""
        if self.rank < self.d:
            return self.rank, math.inf
        return self.rank, float((self.largest / self.smallest) ** 2)

    def _cutoff(self, largest: float) -> float:
        """As in ``numpy.linalg.matrix_rank``."""
        return float(_EPS * max(self.count, self.d) * largest)

    def _dusty(self) -> NDArray[np.bool]:
        """Columns whose deviations are rounding, and not zero."""
        if not (self.intercept and self.heft):
            return np.zeros(self.d, dtype=bool)
        mean = self.mean + self.origin
        rounding = dust(np.array([self.low, self.high]) - mean, mean)
        return np.asarray(rounding & (self.low < self.high))

    # -- one more row ----------------------------------------------------------------------------

    def step(self) -> None:
        """The next older row joins."""
        self.first -= 1
        row, weight = self.rows[self.first], float(self.weights[self.first])
        if weight == 0.0:
            return
        self.low, self.high = np.minimum(self.low, row), np.maximum(self.high, row)
        row = row - self.origin
        if self.intercept:
            row = self._around_mean(row, weight)
        row = math.sqrt(weight) * row
        self.heft += weight
        if not np.array_equal(dusty := self._dusty(), self.settled):
            self.restart()
            return
        row[dusty] = 0.0
        self._join(row)
        if self._in_doubt():
            self.restart()

    def _around_mean(self, row: Array, weight: float) -> Array:
        """What joins Phi with a row: its distance from the mean, a little shortened."""
        apart, n = row - self.mean, self.heft
        self.mean = self.mean + weight * apart / (n + weight)
        return np.asarray(math.sqrt(n / (n + weight)) * apart)

    def _join(self, row: Array) -> None:
        inside, outside, length = _split(self.basis, row)
        size = max(self.largest, float(np.linalg.norm(row)))
        if length > self._cutoff(size) / _BORDER:
            self.basis = np.asfortranarray(np.column_stack([self.basis, outside / length]))
            self.factor = np.asfortranarray(np.pad(self.factor, (0, 1)))
            self.top, self.bottom = (np.pad(v, ((0, 1), (0, 0))) for v in (self.top, self.bottom))
            inside = np.append(inside, length)
        else:
            self.left_out += length**2
        if self.rank:
            self._rotate_in(inside)

    def _rotate_in(self, row: Array) -> None:
        """T'T + row row' = T'T."""
        block = min(self.rank, 32)
        self.factor = lapack.dtpqrt(0, block, self.factor, row[np.newaxis], overwrite_a=1)[0]
        if self.rank <= _SMALL:
            singular = np.linalg.svd(self.factor, compute_uv=False)
            self.largest, self.smallest = float(singular[0]), float(singular[-1])
            return
        self.top, self.largest = _largest(self.factor, np.column_stack([row, self.top]))
        guess = self.random.standard_normal((self.rank, 1))
        guess[-1] += math.sqrt(self.rank)  # where a row that hardly sticks out shows
        self.bottom, self.smallest = _smallest(self.factor, np.column_stack([self.bottom, guess]))

    def _in_doubt(self) -> bool:
        """Whether NumPy might see another rank."""
        cutoff = self._cutoff(self.largest)
        certain = self.smallest > _OUT_OF_DOUBT * cutoff and self.smallest > 0.0
        return not (certain or self.rank == 0) or 2 * math.sqrt(self.left_out) > cutoff


def _split(basis: Array, row: Array) -> tuple[Array, Array, float]:
    """Coordinates in the basis, what sticks out of it, and its length."""
    inside = basis.T @ row
    outside = row - basis @ inside
    again = basis.T @ outside  # twice is enough (Kahan)
    outside -= basis @ again
    return inside + again, outside, float(np.linalg.norm(outside))


def _largest(factor: Any, block: Array) -> tuple[Array, float]:
    """The largest singular value of T as far as one step from these columns shows, and vectors."""
    block = factor.T @ (factor @ block)
    q = np.linalg.qr(block / np.abs(block).max())[0]
    _, singular, vt = np.linalg.svd(factor @ q, full_matrices=False)
    return (q @ vt.T)[:, :_BLOCK], float(singular[0])


def _smallest(factor: Any, block: Array) -> tuple[Array, float]:
    """The smallest one, by two steps with the inverse; 0 if there is no inverse."""
    for _ in range(2):
        block = np.linalg.qr(block)[0]
        half, singular = lapack.dtrtrs(factor, block, trans=1)
        if singular:
            return block[:, :_BLOCK], 0.0
        block, _ = lapack.dtrtrs(factor, half)
    _, lengths, vt = np.linalg.svd(half, full_matrices=False)
    q = np.linalg.qr(block @ vt.T)[0]
    return q[:, :_BLOCK], 1.0 / float(lengths[0])
