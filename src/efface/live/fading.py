"""Weights that fade, without a change to any row when another one comes.

As a row comes, the weights of all others are multiplied by one factor. A least squares solution
depends on the ratios of weights only, so each row keeps one weight, relative to a fixed row, and
the newer rows have larger ones. The weight of the newest row is the unit: sums of weights are
divided by it, and the penalty is multiplied by it. Weights begin at 2^-64 and are made anew, from
the own weights of the rows, before they exceed 1, and whenever a row comes or leaves elsewhere than
at the ends. So nothing is scaled over and over, and nothing is subtracted.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from efface.inputs.times import Time, Times
from efface.inputs.types import Matrix, Vector
from efface.live.half_life import HalfLife
from efface.live.index import RowIndex
from efface.live.solver import Solver

_LEAST = -64.0  # halvings of the newest row when weights are made anew


@final
class Fading:
    """The weights of the rows of a solver.

    >>> from efface.live.solver import Solver
    >>> from efface.live.penalties import Fixed
    >>> solver, index = Solver(1, Fixed(), intercept=False, fades=True), RowIndex()
    >>> fading = Fading(HalfLife(1.0, False), solver, index)
    >>> for row, y in enumerate([1.0, 4.0]):
    ...     fading.learn(np.ones(1), y, 0, 1.0, None)
    ...     index.append(row, None)
    >>> solver.coef  # (1 / 2 + 4) / (1 / 2 + 1)
    array([3.])
    """

    def __init__(self, halflife: HalfLife, solver: Solver, index: RowIndex) -> None:
        self.halflife, self.solver, self._index = halflife, solver, index
        self._came = 0  # rows since weights were made anew
        self._since: Time | None = None  # the time of the newest row then

    def learn(self, x: Vector, y: float, leaving: int, weight: float, time: Time | None) -> None:
        """Learn a row that the index does not have yet; then the oldest ``leaving`` rows leave."""
        if not self.solver.n_rows:
            self._begin(time, -1)
        elif self._halvings(time) > 0.0:
            self.renew()
        fade = 2.0 ** min(self._halvings(time), 0.0)
        self._came += 1
        self.solver.learn(x, y, leaving, weight, fade)

    def _begin(self, time: Time | None, came: int = 0) -> None:
        """The origin is the newest row, or with ``came`` -1 the row that comes next."""
        self._came, self._since = came, time

    def _halvings(self, time: Time | None) -> float:
        """Those of a row that comes next."""
        if not self.halflife.timed:
            return _LEAST + (self._came + 1) / self.halflife.length
        assert time is not None
        assert self._since is not None
        return _LEAST + float(time - self._since) / self.halflife.length

    def renew(self) -> None:
        """Make the weights of all rows anew."""
        self.renew_at(self._index.times)

    def renew_at(self, times: Times | None) -> None:
        """``renew`` for rows of these times."""
        self.solver.fade(self._fades_at(times))
        self._begin(times[-1].item() if times is not None and times.size else None)

    def fades(self) -> Vector:
        """By what the own weights of all rows are multiplied when they are made anew."""
        return self._fades_at(self._index.times)

    def shares(self) -> Vector:
        """2^(-age / half-life) of each live row: 1 for the newest."""
        return np.asarray(np.exp2(self.halvings()))

    def halvings(self, more: int = 0, times: Times | None = None) -> Vector:
        """How often each live row is halved as ``more`` rows come at ``times``: up to 0."""
        count = self.solver.n_rows + more
        return self.halflife.halvings(count, _after(self._index.times, times))

    def _fades_at(self, times: Times | None) -> Vector:
        halvings = self.halflife.halvings(self.solver.n_rows, times)
        return np.asarray(np.exp2(halvings + _LEAST))

    def extend(self, X: Matrix, y: Vector, weights: Vector, times: Times | None) -> None:
        """Learn many newest rows, which the index does not have yet."""
        n = len(y)
        if n and self.solver.n_rows and self.ahead(n, times) == n:
            self.solver.extend(X, y, weights, self.coming(n, times))
        elif n:
            self.solver.extend(X, y, weights, np.ones(n))
            self.renew_at(_after(self._index.times, times))

    def ahead(self, count: int, times: Times | None) -> int:
        """How many of the next rows have weights up to 1."""
        return int(np.count_nonzero(self._next_halvings(count, times) <= 0.0))

    def _next_halvings(self, count: int, times: Times | None) -> Vector:
        if not self.halflife.timed:
            return _LEAST + (self._came + np.arange(1, count + 1)) / self.halflife.length
        assert times is not None
        assert self._since is not None
        since: Any = self._since
        return np.asarray(_LEAST + (times[:count] - since) / self.halflife.length)

    def coming(self, count: int, times: Times | None) -> Vector:
        """The fades of the next rows, which are noted as learned."""
        found = np.exp2(np.minimum(self._next_halvings(count, times), 0.0))
        self._came += count
        return np.asarray(found)


def _after(past: Times | None, times: Times | None) -> Times | None:
    """Times, and others after them."""
    if past is None or times is None:
        return times if past is None else past
    return np.concatenate([past, times])
