"""The state of a solver: all that was derived from the live rows, and how it follows them."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Self

import numpy as np

from efface.engine.events.state import STATE_WORDS, Rule, mark_unsolved, reset, shift, stream_state
from efface.engine.jit.records import Record
from efface.engine.jit.views import Ints, Vector
from efface.live.penalties import Penalty
from efface.live.precise_fits import PreciseFits
from efface.live.rows import RowStore
from efface.live.spectral_measures import SpectralMeasures
from efface.live.summation import Walls


def _place_of_unit() -> int:
    """Where the unit lies in a store: it is set with every row, and names take longer."""
    probe = np.zeros(STATE_WORDS)
    stream_state(probe).unit = 1.0
    return int(probe.argmax())


_UNIT = _place_of_unit()


class Kernels(NamedTuple):
    """What the engine does with a store of one kind of solver."""

    learn: Callable[..., bool]  # appends a row and drops the oldest
    release: Callable[[Ints, Vector], None]  # overwrites what was derived from rows that have left
    disturb: Callable[[Vector, int], None]  # clears what was built from the rows behind a place
    residues: Callable[..., list[str]]  # names the parts that do not follow from the live rows


class SolverState(SpectralMeasures):
    """The part of a solver that keeps its stores, the arrays that compiled code works on."""

    walls: Walls | None = None  # says which rows are walls of the tree of sums
    stores: tuple[Vector, ...]  # the arrays that hold what was derived from the live rows
    standardizes = False  # are features divided by their deviations?
    _kernels: ClassVar[Kernels]

    def __init__(
        self,
        width: int,
        penalty: Penalty,
        *,
        intercept: bool,
        shrinks: bool = True,
        fades: bool = False,
    ) -> None:
        self.width = width
        self.penalty = penalty
        self.intercepts = intercept
        self._shrinks = shrinks
        self._watched = True if penalty.adapts else None
        self._releases = False  # does more than the first store depend on rows?
        self.fades = fades
        self.unit = 1.0  # the weight that counts as one row, see ``fading``
        self.rows = RowStore(width, fades=fades)
        self._centred = intercept or self.standardizes  # is the rank that of centred rows?
        self._precise = PreciseFits(width, centred=self._centred)  # where float64 is not enough
        self._predict, self._learn = self._predictor, self._kernels.learn
        self._allocate()

    @property
    @abstractmethod
    def _predictor(self) -> Callable[..., tuple[float, int]]:
        """The kernel that predicts."""

    @abstractmethod
    def _new_stores(self) -> tuple[Vector, ...]:
        """Stores for the state of as many rows as the row store has places."""

    @property
    def _rules(self) -> tuple[Rule, ...]:
        """The rule of the penalty for each store."""
        return (self.penalty.rule,)

    @property
    def _bounded(self) -> bool:
        """Must sums know the largest and the smallest value of each feature?"""
        return self.penalty.adapts

    @property
    def _scaling(self) -> int:
        """The penalty of a feature is multiplied by its deviation to this power."""
        return 0

    @property
    def _state(self) -> Record:
        return stream_state(self._store)

    @property
    def _coef(self) -> Vector:
        return self._store[STATE_WORDS : STATE_WORDS + self.width]

    def _allocate(self) -> None:
        """Allocate the state for as many rows as the row store has places, and reset it."""
        self.stores = self._new_stores()
        self._store = self.stores[0]
        self._reset()

    def _reset(self) -> None:
        """Overwrite the state; no row is solved."""
        self._precise.clear()
        self._note_releases()
        for store, rule in zip(self.stores, self._rules, strict=True):
            reset(store, rule._replace(unit=self.unit), self._bounded)

    def _release(self) -> None:
        """Overwrite all that was derived from rows that have left."""
        span, release = self.rows.arrays[2], self._kernels.release
        for store in self.stores:
            release(span, store)
        if self._precise.active:
            self._precise.release(*self.rows.span)
            self._note_releases()

    def _disturb(self, place: int) -> None:
        """A row was put in at ``place``: clear what was built from the rows behind it."""
        for store in self.stores:
            self._kernels.disturb(store, place)
        self._precise.disturb(place)

    def _shift(self, by: int) -> None:
        """Follow rows that have moved towards the front of their array."""
        for store in self.stores:
            shift(store, by)

    def residues(self) -> list[str]:
        """The names of parts of the state that do not follow from the live rows: none, if sound."""
        rows, check = self.rows, self._kernels.residues
        found = [name for store in self.stores for name in check(*rows.arrays, store)]
        return [*found, *self._precise.residues(rows)]

    def _note_releases(self) -> None:
        """Note whether more than the first store depends on rows."""
        self._releases = len(self.stores) > 1 or self._precise.active

    def _sums_for_refit(self) -> Vector | None:
        """Sums in double-double precision, if they can determine the coefficients."""
        if not self._precise.serve(self.rows):
            return None
        self._releases = True
        return self._precise.store_for(self.rows)

    def _set_unit(self, unit: float) -> None:
        self.unit = self.stores[0][_UNIT] = unit  # a pilot fit takes it from there

    def _compact(self) -> None:
        by = self.rows.compact()
        self._precise.release(by, by + self.rows.span[1], by)
        self._shift(by)

    def copy(self) -> Self:
        """A copy of the state, which can be asked for a solution; the rows are shared."""
        shared = (self.rows, self._predict, self._learn, self.walls)
        return copy.deepcopy(self, {id(each): each for each in shared})

    @property
    def working_store(self) -> int:
        """Bytes kept beside the live rows."""
        rows = self.rows.n_rows * (self.width + 3) * 8
        stores = sum(store.nbytes for store in self.stores) + self._precise.nbytes
        return self.rows.nbytes + stores - rows

    def _unsolve(self) -> None:
        for store in self.stores:
            mark_unsolved(store)
