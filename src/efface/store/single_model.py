"""One model of a store: the library's model of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np

from efface.diagnostics.audit import Audit, audit
from efface.errors import DamagedStore, invalid
from efface.inputs.ids import Id
from efface.live.snapshot import Snapshot
from efface.models.base import Keys
from efface.models.held import Held, held_rows
from efface.models.intervals import Interval, IntervalChoice
from efface.models.linear import from_snapshot
from efface.models.regression import Model
from efface.store.stored_models import Definition, PlannedRows, StoredModel
from efface.store.stored_rows import StoredRows


@final
class SingleModel(StoredModel):
    """One model for all rows."""

    def __init__(
        self, definition: Definition, rows: StoredRows, seqs: Sequence[int], phase: int = 0
    ) -> None:
        super().__init__(definition, rows, seqs)
        try:
            self.model: Model = from_snapshot(_snapshot(definition, rows, phase))
        except (KeyError, TypeError, ValueError) as error:
            text = f"'{definition.name}' cannot be rebuilt from its rows ({type(error).__name__})"
            raise DamagedStore(f"{text}: restore the store, or upgrade efface.") from error

    # -- rows come and leave ---------------------------------------------------------------------

    def checked(
        self, X: Any, y: Any, sample_weight: Any, marks: Keys, keys: Any = None
    ) -> StoredRows:
        _refuse_keys(keys)
        return StoredRows.of(self.model.arrivals(self.matrix(X), y, sample_weight, marks))

    def plan(self, new: StoredRows) -> PlannedRows:
        coming = new.arrivals()
        outcome = self.model.live_rows.outcome(coming)
        entered = outcome.entered if outcome.schedule else np.sort(outcome.entered)
        change = coming, outcome.schedule
        return PlannedRows(self, new, entered, outcome.left, outcome.phase, change=change)

    def _learn(self, planned: PlannedRows) -> None:
        self.model.live_rows.learn(*planned.change)

    def rows_of(self, ids: Sequence[Id]) -> StoredRows:
        live = self.model.live_rows
        places = np.array([int(live.index.positions([id])[0]) for id in ids], dtype=np.intp)
        times, untils = live.index.times_at(places), live.marks.until_of_each(list(ids))
        about = times, untils, live.marks.owners.of(list(ids))
        return StoredRows(*live.solver.values(places), ids, *about)

    def named(self, ids: list[Id], owners: list[Id]) -> list[Id]:
        return self.model.live_rows.named(ids, owners, lenient=True)

    def owns(self, owner: Id) -> bool:
        return owner in self.model.live_rows.marks.owners

    def overdue(self, now: Any) -> list[Id]:
        return self.model.live_rows.overdue(now)

    @property
    def calendar(self) -> bool:
        live = self.model.live_rows
        return int in (live.index.kind, live.marks.consents.kind)

    def _forget(self, ids: Sequence[Id]) -> None:
        self.model.live_rows.forget(ids)

    # -- answers ---------------------------------------------------------------------------------

    def predict(self, X: Any, keys: Any, missing: str) -> Any:
        _refuse_keys(keys)
        return self.model.predict(self.matrix(X))

    def predict_interval(self, X: Any, chosen: IntervalChoice, keys: Any, missing: str) -> Interval:
        _refuse_keys(keys)
        return self.model.predict_interval(self.matrix(X), **chosen._asdict())

    def _coefficients(self, key: Any) -> tuple[list[float], float]:
        _refuse_keys(key, "key")
        values: list[float] = self.model.coef_.tolist()
        return values, self.model.intercept_

    def held(self, owner: Id) -> Held:
        return held_rows(self.model.live_rows, owner, self.definition.names)

    def audit(self, ids: Iterable[Id], owners: Iterable[Id]) -> Audit:
        return audit(self.model, list(ids), forgotten_owners=list(owners))

    def digest_part(self, touched: Sequence[Id]) -> bytes:
        solver = self.model.live_rows.solver
        return self._digest(solver.intercept, solver.coef)


def _refuse_keys(keys: Any, subject: str = "keys") -> None:
    if keys is not None:
        expected, advice = "None, since this is one model", "add a model with keyed=True"
        raise invalid(subject, "given", expected, advice)


def _snapshot(definition: Definition, rows: StoredRows, phase: int) -> Snapshot:
    """The snapshot of the model with these rows, which are in the order of their arrival."""
    times, owners = rows.times, rows.owners
    order: Any = slice(None)
    if times is not None and (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
    pick = order if isinstance(order, slice) else order.tolist()
    return Snapshot(
        model=definition.kind,
        parameters=definition.parameters,
        phase=phase,
        features=None,
        ids=_picked(rows.ids, pick),
        times=None if times is None else times[order],
        X=rows.X[order],
        y=rows.y[order],
        weights=None if (rows.weights == 1.0).all() else rows.weights[order],
        owners=None if owners is None else _picked(owners, pick),
        until=None if rows.untils is None else rows.untils[order],
    )


def _picked(names: Sequence[Any], order: Any) -> list[Any]:
    return list(names[order]) if isinstance(order, slice) else [names[k] for k in order]
