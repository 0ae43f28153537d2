"""What the writer publishes of a model after each commit: immutable, read without a lock.

Of a keyed model it publishes one immutable entry per key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from efface.batch.fleet import Fleet
from efface.errors import UnknownKey, invalid
from efface.inputs.ids import Id
from efface.inputs.months import Months
from efface.inputs.times import Time, never
from efface.inputs.types import Matrix, Vector
from efface.live.live_rows import LiveRows
from efface.live.policies import KeepFor
from efface.models.regression import Model


@dataclass(frozen=True, eq=False)
class Published(ABC):
    """A model as of one commit."""

    keyed: ClassVar[bool]
    name: str
    kind: str
    parameters: Mapping[str, Any]
    features: tuple[str, ...]
    rows: int
    commit: int

    @property
    def values(self) -> int:
        """How many values of features there are."""
        return self.rows * len(self.features)

    @abstractmethod
    def predict(
        self, X: Matrix, keys: Sequence[Id] | None = None, *, lenient: bool = False
    ) -> Vector:
        """The predictions for checked rows, of a keyed model by the models of their keys.

        A key without rows is refused, or predicts 0 as a model without rows if ``lenient``.
        """

    @abstractmethod
    def refuse_unknown(self, keys: Sequence[Id] | None) -> None:
        """Raise unless rows with these keys can be predicted; the text repeats no key."""

    @abstractmethod
    def of_key(self, key: Id) -> dict[str, Any]:
        """The model of a key, as JSON knows it."""

    def point(self, most: int) -> dict[str, Any]:
        """What the dashboard draws, with at most so many coefficients."""
        return {"rows": self.rows, "penalty": None, "coefficients": []}

    def described(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "parameters": dict(self.parameters),
            "features": list(self.features),
            "keyed": self.keyed,
            "rows": self.rows,
            "coefficients": {},
            "intercept": None,
            "penalty": None,
            "next_due": None,
            "commit": self.commit,
        }


@final
@dataclass(frozen=True, eq=False)
class PublishedModel(Published):
    """A model that is not keyed. ``due`` is when the next row leaves by its age or its end."""

    keyed = False
    coef: Vector
    intercept: float
    penalty: float
    due: Time | None

    def predict(
        self, X: Matrix, keys: Sequence[Id] | None = None, *, lenient: bool = False
    ) -> Vector:
        self.refuse_unknown(keys)
        return np.asarray(X @ self.coef + self.intercept)

    def refuse_unknown(self, keys: Sequence[Id] | None) -> None:
        if keys is not None:
            raise invalid("key", "given", "none, since the model is not keyed", "leave it out")

    def of_key(self, key: Id) -> dict[str, Any]:
        raise invalid("name", self.name, "a keyed model", "see GET /models")

    def point(self, most: int) -> dict[str, Any]:
        coefficients = self.coef[:most].tolist()
        return {"rows": self.rows, "penalty": self.penalty, "coefficients": coefficients}

    def described(self) -> dict[str, Any]:
        return {
            **super().described(),
            "coefficients": dict(zip(self.features, self.coef.tolist(), strict=True)),
            "intercept": self.intercept,
            "penalty": self.penalty,
            "next_due": readable_time(self.due),
        }


def published(name: str, about: Mapping[str, Any], model: Model, commit: int) -> PublishedModel:
    """What is published of a model; ``about`` is what ``Store.models`` says of it."""
    coef = model.coef_
    coef.flags.writeable = False
    live = model.live_rows
    return PublishedModel(
        name=name,
        kind=about["model"],
        parameters=about["parameters"],
        features=tuple(about["features"]),
        coef=coef,
        intercept=model.intercept_,
        penalty=model.penalty_,
        rows=len(live.index),
        due=next_due(live),
        commit=commit,
    )


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


def next_due(live: LiveRows) -> Time | None:
    """When the next row is too old or at its end; None if none will be."""
    end = live.marks.consents.earliest
    policy, oldest = live.policy, next(iter(live.index.since), None)
    if not isinstance(policy, KeepFor) or oldest is None:
        return end
    age = later(oldest, policy.length)
    return age if end is None else min(age, end)


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


def later(time: Time, length: Time | Months) -> Time:
    """A time plus a duration; months end as ``efface.inputs.months`` says."""
    if not isinstance(length, Months):
        return time + length
    at = np.datetime64(int(time), "ns")
    month = at.astype("datetime64[M]")
    then = month + np.timedelta64(length.count, "M")
    same = then.astype("datetime64[ns]") + (at - month.astype("datetime64[ns]"))
    last = (then + np.timedelta64(1, "M")).astype("datetime64[ns]")
    return int(min(same, last).astype(np.int64))


def readable_time(time: Time | None) -> str | float | None:
    """A calendar time in ISO 8601, a number as it is; None after the last year of the library.

    >>> readable_time(0), readable_time(1.5)
    ('1970-01-01T00:00:00.000000000Z', 1.5)
    """
    if not isinstance(time, int):
        return time
    return None if time >= never(int) else f"{np.datetime64(time, 'ns')}Z"
