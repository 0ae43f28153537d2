"""The solver: the live rows of a model, and what follows from them.

Rows, sums and the solution lie in one ``Window`` of the core. This class gives it NumPy arrays, and
measures what the core does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from efface.core import core
from efface.inputs.types import Matrix, Vector
from efface.live.measures import Way, conditioning, gauge
from efface.live.penalties import Penalty
from efface.live.trace import Gauges

Ints = NDArray[np.int64]
Places = NDArray[np.intp]
_GAPS_FROM = 128  # rows from which on gaps between rows cost less than moving rows together


class Walls(Protocol):
    """Says which rows are walls of the tree of sums."""

    def __call__(self, first: int, bits: int, count: int | None = None) -> tuple[Ints, Ints]:
        """The positions and heights of the walls from ``first`` on; 2^bits rows per leaf."""


@final
class Solver:
    """Coefficients, penalty, rank and predictions of live rows, which come and leave through it.

    It trusts what it is given.

    >>> from efface.live.penalties import Fixed
    >>> solver = Solver(1, Fixed(), intercept=False)
    >>> solver.learn(np.array([2.0]), 6.0, 0)
    >>> solver.predict(np.array([1.0]))
    3.0
    """

    gaps_from: int | None = _GAPS_FROM
    learn: Callable[..., None]  # (x, y, leaving, weight=1, fade=1): the newest row; then some leave
    predict: Callable[[Vector], float]

    def __init__(
        self,
        width: int,
        penalty: Penalty,
        *,
        intercept: bool,
        standardize: bool = False,
        fades: bool = False,
    ) -> None:
        self.width, self.penalty, self.intercepts = width, penalty, intercept
        self.standardizes, self.fades = standardize, fades
        self.power = 1.0 if standardize else penalty.power
        self.centred = intercept or standardize
        self.window = core.Window(width, 1, intercept, self.power, *penalty.code)
        self.learn, self.predict = self.window.learn, self.window.predict
        self._walls: Walls | None = None

    # -- rows come and leave ---------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """The live rows, and the gaps between them."""
        return int(self.window.size)

    @property
    def unit(self) -> float:
        """The weight that counts as one row, where weights fade."""
        return float(self.window.unit)

    def insert(self, position: int, x: Vector, y: float, weight: float = 1.0) -> None:
        """Learn a row that belongs before others; the index has it already."""
        bits, walls = self.window.leaf_bits, self._walls
        wall = walls is None or walls(position, bits, 1)[0].size > 0
        self.window.insert(position, np.ascontiguousarray(x), np.array([y]), weight, wall)

    def extend(
        self, X: Matrix, y: Vector, weights: Vector | None = None, fades: Vector | None = None
    ) -> None:
        """Learn many newest rows, whose weights are multiplied by fades; nothing is solved."""
        self.window.extend(_plain(X), _column(y), _given(weights), _given(fades))

    def fade(self, fades: Vector) -> None:
        """Give all rows new fades; the state is as if the rows had just been learned."""
        self.window.fade(_plain(fades))

    def drop(self, count: int) -> None:
        """The oldest rows leave."""
        self.window.drop(count)

    def use_walls(self, walls: Walls | None) -> None:
        """Say which rows are walls of the tree of sums; a tree with other walls is discarded."""
        self._walls = walls
        self.window.use_walls(walls)

    def blank(self, positions: Places, cut: tuple[int, int]) -> None:
        """Rows leave from anywhere, and leave gaps; the state is as if they had never come.

        ``cut`` says how many of the oldest and of the newest places have no row any more.
        """
        self.window.blank(positions)
        if cut[0]:
            self.window.drop(cut[0])
        if cut[1]:
            self.window.drop_newest(cut[1])

    def keep(self, positions: Places) -> None:
        """All rows leave but these; the state is as if the others had never come."""
        self.window.keep(np.ascontiguousarray(positions, np.int64))

    def remove(self, positions: Places) -> None:
        """Rows leave from anywhere; the others move together."""
        self.keep(np.delete(np.arange(self.n_rows), positions))

    def rebuild(self) -> None:
        """Make the state a function of the live rows alone."""
        self.keep(np.arange(self.n_rows))

    def replace(self, X: Matrix, y: Vector, weights: Vector | None = None) -> None:
        """Replace all rows."""
        self.keep(np.zeros(0, np.intp))
        self.extend(X, y, weights)

    # -- the rows --------------------------------------------------------------------------------

    @property
    def features(self) -> Matrix:
        """The rows where they lie, oldest first."""
        return self._arrays()[0]

    @property
    def y(self) -> Vector:
        return self._arrays()[1]

    @property
    def weights(self) -> Vector:
        return self._arrays()[2]

    @property
    def own_weights(self) -> Vector:
        """The weights as they were given, where ``weights`` fade."""
        return self._arrays()[3]

    @property
    def row_fades(self) -> Vector:
        """By what the own weight of each row is multiplied; 0 for a row without weight."""
        *_, weights, own = self._arrays()
        return np.divide(weights, own, out=np.zeros(own.size), where=own > 0.0)

    def _arrays(self) -> tuple[Matrix, Vector, Vector, Vector]:
        X, y, weights, own = self.window.views()
        return X, y[:, 0], weights, own

    def values(self, at: Places | None = None) -> tuple[Matrix, Vector, Vector]:
        """Copies of the rows, or of those at some places, their responses and weights."""
        X, y, weights = self.views()
        return (X.copy(), y.copy(), weights.copy()) if at is None else (X[at], y[at], weights[at])

    def views(self) -> tuple[Matrix, Vector, Vector]:
        """The rows, their responses and own weights, where they lie."""
        X, y, _, own = self._arrays()
        return X, y, own

    # -- the solution ----------------------------------------------------------------------------

    @property
    def coef(self) -> Vector:
        found: Vector = self.window.coef()[0]
        return found

    @property
    def intercept(self) -> float:
        return float(self.window.level(0))

    @property
    def penalty_value(self) -> float:
        constant = self.penalty.constant
        return float(self.window.penalty(0)) / self.unit if constant is None else constant

    @property
    def rank(self) -> int:
        """The rank of the live rows, around their mean if there is an intercept."""
        return int(self.window.rank())

    @property
    def refits(self) -> bool:
        """Do the live rows need double-double precision?"""
        return self.window.path() in (2, 4)

    def gauge(self, X: Matrix) -> Gauges:
        """How far the live rows lie from their regression, and rows of X from them."""
        rows, unit = self._arrays()[:3], self.unit if self.fades else 1.0
        found = gauge(*rows, float(self.window.penalty(0)), self.way, X, unit)
        if not self.fades:
            return found
        return found._replace(n_rows=np.full(len(X), float(self.row_fades.sum()) / unit))

    def conditioning(self) -> tuple[float, float]:
        """phi2 and condition of the live rows, by their singular values."""
        X, _, weights, _ = self._arrays()
        return conditioning(X, weights, self.way)

    @property
    def way(self) -> Way:
        """How rows are regressed on."""
        return Way(self.intercepts, self.power)

    # -- memory ----------------------------------------------------------------------------------

    def residues(self) -> list[str]:
        """The names of parts of the state that do not follow from the live rows: none, if sound."""
        return list(self.window.residues())

    def copy(self) -> Solver:
        """A solver with copies of the rows, and with the solution if there is one."""
        make, given = self.__reduce__()
        twin = make(*given)
        twin.window.adopt(self.window)
        return twin

    def __reduce__(self) -> tuple[Callable[..., Solver], tuple[Any, ...]]:
        """For pickle and copy: the live rows, and how they are regressed on."""
        fades = self.row_fades if self.fades else None
        if fades is not None and fades.size:
            fades[fades == 0.0] = self.unit
            fades[-1] = self.unit
        kind = self.width, self.penalty, self.intercepts, self.standardizes, self.fades
        return _holding, (kind, *(part.copy() for part in self.views()), fades, self._walls)

    @property
    def nbytes(self) -> int:
        """Bytes of all memory, that of the rows included."""
        return sum(each.nbytes for each in self.window.memory())

    @property
    def working_store(self) -> int:
        """Bytes kept beside the live rows."""
        return self.nbytes - self.n_rows * (self.width + 3) * 8


def _holding(
    kind: tuple[int, Penalty, bool, bool, bool],
    X: Matrix,
    y: Vector,
    weights: Vector,
    fades: Vector | None,
    walls: Walls | None,
) -> Solver:
    """A solver with these rows."""
    width, penalty, intercept, standardize, fading = kind
    given = {"intercept": intercept, "standardize": standardize, "fades": fading}
    solver = Solver(width, penalty, **given)
    solver.use_walls(walls)
    solver.extend(X, y, weights, fades)
    return solver


def _plain(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(values, np.float64)


def _column(y: Vector) -> Matrix:
    return _plain(y)[:, np.newaxis]


def _given(values: Vector | None) -> Vector | None:
    return None if values is None else _plain(values)
