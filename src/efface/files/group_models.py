"""The models of a stream, and what is counted per group: a fleet, or one model without groups.

Groups are numbered in the order of their first row, and the number is the key in the fleet. An id
of the table needs to be unique only within its group, so the id in the fleet names both. A stream
without groups is one group with the number 0 and the name None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.batch.fleet import Fleet
from efface.diagnostics.audit import Audit, audit
from efface.files.answers import Holder, ModelHolder
from efface.files.baselines import Baseline
from efface.files.requests import Group, Id, Request
from efface.files.row_batches import RowBatch
from efface.inputs.types import Ints, Vector
from efface.live.half_life import remembering
from efface.models.regression import Model

Mask = NDArray[np.bool_]


class GroupModels:
    """The models of all groups, or the ``model`` of a stream without groups.

    ``phase`` is that of the policy of ``model``.

    >>> from efface.models.linear import OLS
    >>> groups = GroupModels(OLS, dict)
    >>> groups.numbers(["b", "a", "b"])
    array([0, 1, 0])
    """

    def __init__(
        self,
        make: Callable[[], Model],
        compare: Callable[[], dict[str, Baseline]],
        model: Model | None = None,
        phase: int = 0,
    ) -> None:
        usual = make()
        self.held: Model | Fleet = Fleet(usual) if model is None else model
        self.full = 0  # rows that left because of the policy, if rows have ends of their own
        self._make, self._compare = make, compare
        self._policy = remembering(usual.window, usual.halflife)[1]
        self._names: dict[Group, int] = {}
        # By group: rows so far, the phase of the policy, rank and response of the last row.
        self._seen, self._phase, self._rank = (np.zeros(0, np.int64) for _ in range(3))
        self._last = np.zeros(0)
        self._baselines: dict[int, dict[str, Baseline]] = {}
        self._named = False  # do rows have ids of the table?
        if model is not None:
            self._phase[self.numbers([None])] = phase

    def __len__(self) -> int:
        """The number of groups so far, those without live rows included."""
        return len(self._names)

    def numbers(self, names: Sequence[Group]) -> Ints:
        """The number of the group of each row; new groups are numbered on."""
        known = self._names
        found = np.array([known.setdefault(name, len(known)) for name in names], np.int64)
        for each in (self._seen, self._last, self._phase, self._rank):
            each.resize(len(known), refcheck=False)  # new entries are 0
        return found

    def ids(self, numbers: Ints, ids: Sequence[Id]) -> list[Id]:
        """The ids of rows in the fleet."""
        self._named = True
        return [_name(number, id) for number, id in zip(numbers.tolist(), ids, strict=True)]

    @property
    def models(self) -> dict[Group, Model]:
        """The model of each group."""
        return self.first(len(self))

    @property
    def names(self) -> list[Group]:
        """The names of the groups, in the order of their numbers."""
        return list(self._names)

    def first(self, count: int) -> dict[Group, Model]:
        """The models of the first groups that came."""
        names = list(self._names.items())[:count]
        return {name: self._model(number) for name, number in names}

    def _model(self, number: int) -> Model:
        if not isinstance(self.held, Fleet):
            return self.held
        if number in self.held:
            return self.held[number]
        width = self.held.n_features_in_
        empty: Model = self._make().partial_fit(np.empty((0, width)), np.empty(0))
        return empty

    # -- what is counted -------------------------------------------------------------------------

    def places(self, numbers: Ints) -> Ints:
        """How many rows of its group came before each row; counts these rows."""
        order, first = _by_group(numbers)
        positions = np.arange(numbers.size)
        within = positions - np.maximum.accumulate(np.where(first, positions, 0))
        places = np.empty(numbers.size, np.int64)
        places[order] = self._seen[numbers[order]] + within
        np.add.at(self._seen, numbers, 1)
        return places

    def last_values(self, numbers: Ints, y: Vector, seen: Mask) -> Vector:
        """The response before each row in its group, 0 for the first; NaN for rows not seen."""
        found = np.full(y.size, np.nan)
        found[seen] = _before(self._last, numbers[seen], y[seen])
        return found

    def rank_falls(self, numbers: Ints, ranks: Ints) -> int:
        """At how many rows the rank is lower than at the row before in its group."""
        return int((ranks < _before(self._rank, numbers, ranks)).sum())

    def count_full(self, numbers: Ints, rows: RowBatch, alive: Ints) -> None:
        """Count the rows that left as the policy says; ``alive`` rows predicted each of these."""
        entered = np.flatnonzero(~(rows.until <= rows.at))  # type: ignore[operator]  # not yet due
        for number, n_rows in zip(numbers[entered], alive[entered].tolist(), strict=True):
            leaving, self._phase[number] = self._policy.after(n_rows + 1, int(self._phase[number]))
            self.full += leaving

    def compared(self, numbers: Ints, rows: RowBatch, seen: Mask) -> dict[str, Vector]:
        """The predictions of the baselines, group by group; NaN for rows that are not seen."""
        found: dict[str, Vector] = {}
        for number in dict.fromkeys(numbers.tolist()) if self._compare() else ():
            mine = np.flatnonzero((numbers == number) & seen)
            part = rows.take(mine)
            if number not in self._baselines:
                self._baselines[number] = self._compare()
            for name, baseline in self._baselines[number].items():
                column = found.setdefault(name, np.full(len(rows), np.nan))
                if len(part):
                    column[mine] = baseline.predict(part.X, part.y, part.at, part.weights)
        return found

    # -- requests --------------------------------------------------------------------------------

    def holder(self, request: Request, groups: Iterable[Group]) -> Holder:
        """The models of the groups in which rows arrived that a request names."""
        if not isinstance(self.held, Fleet):
            return ModelHolder(request, [self.held])
        numbers = [self._names[name] for name in groups]
        ids: list[Id] = [] if request.id is None else [request.id]
        if self._named:
            ids = [_name(number, id) for number in numbers for id in ids]
        return GroupHolder(self.held, numbers, ids, request.owner)


@dataclass(frozen=True)
class GroupHolder(Holder):
    """What a request names in a fleet."""

    fleet: Fleet
    numbers: list[int]  # of the groups in which such rows arrived
    ids: list[Id]
    owner: Id | None

    def forget(self) -> int:
        removed = self.fleet.forget(self.ids, owner=self.owner, missing="ok")
        if removed:
            self.fleet.fits(self._alive())
        return removed

    def audits(self) -> list[Audit]:
        owners = [] if self.owner is None else [self.owner]
        models = [self.fleet[number] for number in self._alive()]
        return [audit(model, forgotten=self.ids, forgotten_owners=owners) for model in models]

    def residues(self) -> list[str]:
        return self.fleet.residues()

    def _alive(self) -> list[int]:
        return [number for number in self.numbers if number in self.fleet]


def _name(number: int, id: Any) -> str:
    """The id in the fleet of a row with an id of the table."""
    return f"{number} {id!r}"


def _by_group(numbers: Ints) -> tuple[NDArray[np.intp], Mask]:
    """A stable order by group, and where in it a group begins."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    return order, np.append(True, ranked[1:] != ranked[:-1])[: ranked.size]


def _before(last: NDArray[Any], numbers: Ints, values: NDArray[Any]) -> NDArray[Any]:
    """The value before each row in its group; ``last``, by group, is used and then updated."""
    order, first = _by_group(numbers)
    group, ranked, found = numbers[order], values[order], np.empty_like(values)
    found[order] = np.where(first, last[group], np.append(0, ranked)[:-1])
    last[group] = ranked  # of several assignments the last one counts
    return found
