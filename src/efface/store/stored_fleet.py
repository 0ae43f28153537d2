"""One model per key: the library's fleet of the rows of all keys.

Where the policy counts arrivals, each key has a phase. A row holds the phase of its key as it was
once the row was in, so that the newest row of a key tells it. Where another row becomes the newest,
because rows were forgotten or passed through, a record of the store holds the phase beside the
number of that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from efface.batch.fleet import Fleet
from efface.diagnostics.audit import Audit
from efface.errors import DamagedStore, UnknownKey, invalid
from efface.inputs.ids import Id, id_column
from efface.live import fleet_file
from efface.live.fleet_file import FleetSnapshot
from efface.live.keyed_arrivals import checked_arrivals
from efface.live.keyed_models import KeyedModels, Plan
from efface.live.keyed_rows import KeyedRows
from efface.live.policies import AddDrop
from efface.live.row_table import RowTable
from efface.models.base import Keys
from efface.models.held import Held
from efface.models.intervals import Interval, IntervalChoice
from efface.store.fleet_audit import audit_fleet
from efface.store.single_model import SingleModel
from efface.store.stored_models import Definition, PlannedRows, StoredModel
from efface.store.stored_rows import StoredRows

PHASES = "phases "  # and the number of the model: the name of the record
Phases = dict[Id, tuple[int, int]]  # by key: the number of its newest row, and its phase


@final
class StoredFleet(StoredModel):
    """One model per key."""

    def __init__(
        self,
        definition: Definition,
        rows: StoredRows,
        seqs: Sequence[int],
        phases: Sequence[tuple[int, int]] = (),
    ) -> None:
        super().__init__(definition, rows, seqs)
        try:
            about = definition.kind, definition.parameters, None
            held, self._phases = _keyed_rows(rows, seqs, dict(phases))
            self.fleet = Fleet._from_snapshot(FleetSnapshot(*about, held), definition.name)
        except (KeyError, TypeError, ValueError) as error:
            text = f"'{definition.name}' cannot be rebuilt from its rows ({type(error).__name__})"
            raise DamagedStore(f"{text}: restore the store, or upgrade efface.") from error
        self._empty = SingleModel(definition, StoredRows.none(definition.width), []).model
        self._counts = isinstance(self._models.policy, AddDrop)

    @property
    def _models(self) -> KeyedModels:
        return self.fleet.keyed_models

    # -- rows come -------------------------------------------------------------------------------

    def checked(
        self, X: Any, y: Any, sample_weight: Any, marks: Keys, keys: Any = None
    ) -> StoredRows:
        if keys is None:
            raise invalid("keys", None, "one key per row", "pass keys=, since the model is keyed")
        rows = self._empty.arrivals(self.matrix(X), y, sample_weight, marks)
        names = id_column(keys, len(rows), "key")
        return StoredRows.of(rows, names.tolist() if isinstance(names, np.ndarray) else names)

    def plan(self, new: StoredRows) -> PlannedRows:
        models, keys = self._models, new.keys or []
        coded = checked_arrivals(models.rows, models.policy, keys, new.arrivals())
        plan = models.plan(coded)
        change = plan.change
        left = np.ones(len(change.rows), np.bool_)
        left[change.order] = False
        gone = self._ids(change.rows.ids[left & ~change.came])
        numbers = np.full(len(change.rows), -1)
        numbers[change.came] = plan.arrivals
        mine = numbers[change.order]
        order = np.argsort(mine, kind="stable")[np.count_nonzero(mine < 0) :]
        phases = np.repeat(change.phases, change.counts)[order] if self._counts else None
        passed = self._passed(plan, mine) if self._counts else {}
        records = self._record(passed)
        return PlannedRows(self, new, mine[order], gone, 0, phases, records, (plan, passed))

    def _passed(self, plan: Plan, numbers: NDArray[np.int64]) -> Phases:
        """The phases of keys into which rows came, of which none stayed."""
        change, found = plan.change, Phases()
        bounds, names = np.concatenate([[0], np.cumsum(change.counts)]), self._keys(change.keys)
        for g in np.flatnonzero(change.counts).tolist():
            rows = slice(bounds[g], bounds[g + 1])
            if (numbers[rows] < 0).all():
                ids = self._ids(change.rows.ids[change.order[rows]])
                found[names[g]] = max(self.seqs[id] for id in ids), int(change.phases[g])
        return found

    def _record(self, changed: Phases) -> dict[str, Any]:
        """The record of phases that no row holds; none if it stays as it is."""
        kept = {**self._phases, **changed}
        name = f"{PHASES}{self.definition.number}"
        return {name: sorted(kept.values())} if changed else {}

    def _learn(self, planned: PlannedRows) -> None:
        plan, passed = planned.change
        touched = self._keys(plan.change.keys) if self._phases else []
        self.fleet.apply(plan)
        self._adopt(touched, passed)

    def _adopt(self, touched: Sequence[Id | None], changed: Phases) -> None:
        for key in touched:
            self._phases.pop(key, None)  # type: ignore[arg-type]
        self._phases |= changed

    def rows_of(self, ids: Sequence[Id]) -> StoredRows:
        keys, rows = self._models.rows_named(list(ids))
        return self._stored(keys, rows)

    def _stored(self, keys: NDArray[np.int64], rows: RowTable) -> StoredRows:
        held = self._models.rows
        owners = None if rows.owners is None else held.owners.decode(rows.owners)
        about = rows.times, rows.untils, owners, held.keys.decode(keys)
        return StoredRows(rows.X, rows.y, rows.weights, self._ids(rows.ids), *about)

    def _ids(self, codes: NDArray[np.int64]) -> list[Id]:
        return [id for id in self._models.rows.ids.decode(codes) if id is not None]

    def _keys(self, codes: NDArray[np.int64]) -> list[Id]:
        return [key for key in self._models.rows.keys.decode(codes) if key is not None]

    # -- rows leave ------------------------------------------------------------------------------

    def record_names(self) -> list[str]:
        return [f"{PHASES}{self.definition.number}"]

    def named(self, ids: list[Id], owners: list[Id]) -> list[Id]:
        places = self._models.named(ids, owners, lenient=True)
        return self._ids(self._models.rows.table.ids[places])

    def owns(self, owner: Id) -> bool:
        return self._models.rows.owned(int(self._models.rows.owners.find([owner])[0])).size > 0

    def overdue(self, now: Any) -> list[Id]:
        return self._ids(self._models.rows.table.ids[self._models.overdue(now)])

    @property
    def calendar(self) -> bool:
        return int in (self._models.rows.kind, self._models.rows.end_kind)

    def records(self, leaving: Sequence[Id]) -> dict[str, Any]:
        """The phases of keys that lose their newest row and keep others."""
        return self._record(self._left_behind(leaving)[1])

    def _left_behind(self, leaving: Sequence[Id]) -> tuple[list[Id], Phases]:
        """The keys that lose their newest row, and the phases of those that keep others."""
        lose, found = list[Id](), Phases()
        if not self._counts:
            return lose, found
        gone, held = set(leaving), self._models.rows
        slots = np.unique(held.slots_of_ids(held.ids.find(list(leaving))))
        names, phases = self._keys(held.codes(slots)), held.phases(slots).tolist()
        for slot, key, phase in zip(slots.tolist(), names, phases, strict=True):
            ids = self._ids(held.table.ids[held.places(np.array([slot]))])
            stay = [self.seqs[id] for id in ids if id not in gone]
            if max(stay, default=-1) < max(self.seqs[id] for id in ids):
                lose.append(key)
                if stay:
                    found[key] = max(stay), phase
        return lose, found

    def _forget(self, ids: Sequence[Id]) -> None:
        lose, found = self._left_behind(ids)
        self._models.forget(ids)
        self._adopt(lose, found)

    # -- answers ---------------------------------------------------------------------------------

    def predict(self, X: Any, keys: Any, missing: str) -> Any:
        with _unknown_keys():
            return self.fleet.predict(keys, self.matrix(X), missing=missing)

    def predict_interval(self, X: Any, chosen: IntervalChoice, keys: Any, missing: str) -> Interval:
        with _unknown_keys():
            about: Any = {**chosen._asdict(), "missing": missing}
            return self.fleet.predict_interval(keys, self.matrix(X), **about)

    def _coefficients(self, key: Any) -> tuple[list[float], float]:
        if key is None:
            raise invalid("key", None, "a key of live rows", "pass key=, since the model is keyed")
        with _unknown_keys():
            fits = self.fleet.fits([key])
        values: list[float] = fits.coef[0].tolist()
        return values, float(fits.intercept[0])

    def described(self) -> dict[str, Any]:
        return {**super().described(), "keyed": True, "keys": len(self.fleet)}

    def held(self, owner: Id) -> Held:
        """What the model holds about an owner, key by key."""
        found = self.fleet.held(owner)
        columns = zip(self.definition.names, found.features.values(), strict=True)
        return replace(found, features=dict(columns))

    def audit(self, ids: Iterable[Id], owners: Iterable[Id]) -> Audit:
        """Whether the model of every key is a function of its live rows."""
        return audit_fleet(self.fleet, list(ids), list(owners))

    def touched(self, ids: Sequence[Id]) -> list[Id]:
        held = self._models.rows
        slots = np.unique(held.slots_of_ids(held.ids.find(list(ids))))
        return self._keys(held.codes(slots))

    def digest_part(self, touched: Sequence[Id]) -> bytes:
        """What the digest of a receipt covers: name, number of rows, coefficients of these keys."""
        fits = self.fleet.fits([key for key in touched if key in self.fleet])
        return self._digest(fits.intercept, fits.coef)


@contextmanager
def _unknown_keys() -> Iterator[None]:
    """An error that does not name the key."""
    try:
        yield
    except UnknownKey:
        text = "'keys' has one without live rows: expected keys that have some"
        raise UnknownKey(f"{text}; pass missing='ok' to allow that.") from None


def _keyed_rows(
    rows: StoredRows, seqs: Sequence[int], known: dict[int, int]
) -> tuple[KeyedRows, Phases]:
    """The rows of all keys, and the phases that no row holds.

    ``known`` are phases by the number of the newest row of a key.
    """
    keys, newest, group = _grouped(rows)
    own = np.zeros(len(rows), np.int64) if rows.phases is None else rows.phases
    phases, beside = own[newest], Phases()
    for g, at in enumerate(newest.tolist()) if known else ():
        if seqs[at] in known:
            phases[g] = known[seqs[at]]
            beside[keys[g]] = seqs[at], known[seqs[at]]
    rows = rows.take(np.lexsort((group if rows.times is None else rows.times, group)))
    arrays: dict[str, Any] = {"X": rows.X, "y": rows.y, "weights": rows.weights}
    arrays |= {"counts": np.bincount(group, minlength=len(keys)), "phases": phases}
    names: dict[str, Any] = {"keys": keys, "ids": rows.ids}
    if rows.owners is not None:
        table = {name: at for at, name in enumerate(dict.fromkeys(rows.owners))}
        names["owners"] = list(table)
        arrays["owners"] = np.array([table[name] for name in rows.owners])
    columns = {"times": rows.times, "until": rows.untils}
    arrays |= {name: values for name, values in columns.items() if values is not None}
    return fleet_file.keyed_rows(names, arrays), beside


def _grouped(rows: StoredRows) -> tuple[list[Id], NDArray[np.int64], NDArray[np.int64]]:
    """The keys, the place of the newest row of each, and the number of the key of each row."""
    numbers: dict[Any, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in rows.keys or ()], np.int64)
    if len(group) != len(rows) or None in numbers:
        raise ValueError("rows without a key")
    newest = np.zeros(len(numbers), np.int64)
    newest[group] = np.arange(len(rows))  # the last one stays
    return list(numbers), newest, group
