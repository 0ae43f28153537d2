"""What the writer publishes of a model after each commit: immutable, read without a lock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from efface.errors import invalid
from efface.inputs.ids import Id
from efface.inputs.months import Months
from efface.inputs.times import Time
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


def next_due(live: LiveRows) -> Time | None:
    """When the next row is too old or at its end; None if none will be."""
    end = live.marks.consents.earliest
    policy, oldest = live.policy, next(iter(live.index.since), None)
    if not isinstance(policy, KeepFor) or oldest is None:
        return end
    age = later(oldest, policy.length)
    return age if end is None else min(age, end)


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
    """A calendar time in ISO 8601, a number as it is.

    >>> readable_time(0), readable_time(1.5)
    ('1970-01-01T00:00:00.000000000Z', 1.5)
    """
    return f"{np.datetime64(time, 'ns')}Z" if isinstance(time, int) else time
