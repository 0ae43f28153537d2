"""What the writer publishes of a keyed model: one immutable entry per key, read without a lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from efface.batch.fleet import Fleet
from efface.errors import UnknownKey, invalid
from efface.inputs.ids import Id
from efface.inputs.times import Time, never
from efface.inputs.types import Matrix, Vector
from efface.live.policies import KeepFor
from efface.service.published import Published, later


class KeyFit(NamedTuple):
    """The regression of one key."""

    coef: Vector
    intercept: float
    penalty: float
    rows: int


@final
@dataclass(frozen=True, eq=False)
class PublishedFleet(Published):
    """A keyed model as of one commit, but for ``fits``: the writer replaces the entries of keys."""

    keyed = True
    fits: dict[Id, KeyFit] = field(repr=False)

    def predict(
        self, X: Matrix, keys: Sequence[Id] | None = None, *, lenient: bool = False
    ) -> Vector:
        if not lenient:
            self.refuse_unknown(keys)
        none = KeyFit(np.zeros(len(self.features)), 0.0, 0.0, 0)
        fits = [self.fits.get(key, none) for key in _given(keys)]
        slopes = (X * np.array([fit.coef for fit in fits])).sum(axis=1)
        return np.asarray(slopes + np.array([fit.intercept for fit in fits]))

    def refuse_unknown(self, keys: Sequence[Id] | None) -> None:
        for at, key in enumerate(_given(keys)):
            if key not in self.fits:
                text = f"'rows.{at}.key' has no live row: expected a key that was learned"
                raise UnknownKey(f"{text}; pass missing='ok' to allow that.")

    def of_key(self, key: Id) -> dict[str, Any]:
        fit = self.fits.get(key)
        if fit is None:
            raise UnknownKey("'key' has no live row: expected a key that was learned.")
        return {
            "key": key,
            "rows": fit.rows,
            "coefficients": dict(zip(self.features, fit.coef.tolist(), strict=True)),
            "intercept": fit.intercept,
            "penalty": fit.penalty,
            "commit": self.commit,
        }

    def described(self) -> dict[str, Any]:
        return {**super().described(), "keys": len(self.fits)}


def _given(keys: Sequence[Id] | None) -> Sequence[Id]:
    if keys is None:
        raise invalid("key", None, "one key per row", "add it, since the model is keyed")
    return keys


def replaced_fits(
    fits: dict[Id, KeyFit], fleet: Fleet, keys: Sequence[Id] | None
) -> dict[Id, KeyFit]:
    """The same dictionary with the regressions of these keys as they are now; None for all keys."""
    asked = dict.fromkeys([*fits, *fleet.keys()] if keys is None else keys)
    new = _fits_of(fleet, asked)
    fits |= new
    for key in asked.keys() - new.keys():
        fits.pop(key, None)
    return fits


def _fits_of(fleet: Fleet, keys: Iterable[Id]) -> dict[Id, KeyFit]:
    """The regressions of those keys that have live rows."""
    known = [key for key in keys if key in fleet]
    if not known:
        return {}
    found, rows = fleet.fits(known), fleet.keyed_models.rows
    counts = rows.counts(rows.slots_of(rows.keys.find(known)))
    coef = [row.copy() for row in found.coef]  # a view would keep the coefficients of other keys
    parts = coef, found.intercept.tolist(), found.penalty.tolist(), counts.tolist()
    return {key: KeyFit(*each) for key, *each in zip(known, *parts, strict=True)}


def keys_named(fleet: Fleet, ids: Sequence[Id], owners: Sequence[Id]) -> list[Id]:
    """The keys of the live rows with these ids or owners."""
    rows = fleet.keyed_models.rows
    places = fleet.keyed_models.named(list(ids), list(owners), lenient=True)
    slots = np.unique(rows.slots_of_ids(rows.table.ids[places]))
    return [key for key in rows.keys.decode(rows.codes(slots)) if key is not None]


def next_due_of(fleet: Fleet) -> Time | None:
    """When the next row of any key is too old or at its end; None if none will be."""
    models, due = fleet.keyed_models, list[Time]()
    places, table = models.rows.live(), models.rows.table
    if not places.size:
        return None
    if isinstance(models.policy, KeepFor) and table.times is not None:
        due.append(later(table.times[places].min().item(), models.policy.length))
    if table.untils is not None:
        end = table.untils[places].min().item()
        due += [end] if end != never(type(end)) else []
    return min(due, default=None)
