"""A model of a store: its definition, and the number of each live row.

``efface.store.single_model`` has those with one model, ``efface.store.stored_fleet`` those with one
model per key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from efface.batch.fleet import Fleet
from efface.diagnostics.audit import Audit
from efface.errors import UnknownId, UnknownOwner, invalid
from efface.inputs.arrays import as_matrix
from efface.inputs.frames import FrameColumns
from efface.inputs.ids import Id, RequestedRows
from efface.models.base import Keys
from efface.models.held import Held
from efface.models.intervals import Interval, IntervalChoice
from efface.models.regression import Model
from efface.store.stored_rows import StoredRows


@final
@dataclass(frozen=True)
class Definition:
    """What a store knows of a model beside its rows: no value of a row."""

    number: int
    name: str
    kind: str  # the class
    parameters: dict[str, Any]
    width: int
    features: tuple[str, ...] | None = None
    keyed: bool = False  # one model per key

    @property
    def names(self) -> list[str]:
        """The names of the features: "x0", "x1", ... if they have none."""
        return list(self.features or [f"x{j}" for j in range(self.width)])

    def to_plain(self) -> list[Any]:
        """As JSON knows it."""
        features = None if self.features is None else list(self.features)
        plain = [self.number, self.name, self.kind, self.parameters, self.width, features]
        return [*plain, True] if self.keyed else plain

    @classmethod
    def from_plain(cls, plain: Sequence[Any]) -> Definition:
        """The definition back."""
        number, name, kind, parameters, width, features, *keyed = plain
        names = None if features is None else tuple(features)
        return cls(number, name, kind, parameters, width, names, bool(keyed))

    @classmethod
    def of(
        cls, number: int, name: str, model: Any, features: Any, *, keyed: bool = False
    ) -> Definition:
        """The definition of a model that a user passes, and of its features."""
        if not isinstance(model, Model):
            expected = "a linear model of efface such as Ridge()"
            raise invalid("model", type(model).__name__, expected, "pass one")
        if keyed:
            Fleet(model)  # refuses what a fleet does not have
        width, names = _features(features)
        made = model.empty(width)._snapshot()
        return cls(number, name, made.model, made.parameters, width, names, keyed)


def _features(features: Any) -> tuple[int, tuple[str, ...] | None]:
    """The number of features, and their names if there are any."""
    if isinstance(features, int) and not isinstance(features, bool) and features > 0:
        return features, None
    if not isinstance(features, str | bytes) and isinstance(features, Iterable):
        names = tuple(features)
        if names and all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return len(names), names
    expected = "different names of columns, or the number of features"
    raise invalid("features", features, expected, "name the columns of X")


@final
@dataclass(frozen=True, eq=False)
class PlannedRows:
    """Rows that a model is about to learn, and what then enters and leaves."""

    stored: StoredModel
    new: StoredRows
    entered: NDArray[np.intp]  # which of the new rows are alive in the end, in their order
    left: Sequence[Id]  # the ids of live rows that leave
    phase: int = 0  # of the policy, once they are in
    phases: NDArray[np.int64] | None = None  # the same for the key of each row that enters
    records: dict[str, Any] = field(default_factory=dict)  # that change with it
    change: Any = None  # what the library planned

    @property
    def entries(self) -> int:
        """How many rows enter."""
        return len(self.entered)

    def passing(self) -> list[Id]:
        """The ids of new rows that do not stay: because of later rows, or of their age."""
        if self.entries == len(self.new):
            return []
        stay = set(self.entered.tolist())
        return [id for row, id in enumerate(self.new.ids) if row not in stay]

    def entering(self) -> StoredRows:
        """The rows that enter, in the order of their arrival."""
        kept = self.new if self.entries == len(self.new) else self.new.take(self.entered)
        return kept if self.phases is None else replace(kept, phases=self.phases)


class StoredModel(ABC):
    """A model whose rows are in the store."""

    def __init__(self, definition: Definition, rows: StoredRows, seqs: Sequence[int]) -> None:
        self.definition = definition
        self.seqs: dict[Id, int] = dict(zip(rows.ids, seqs, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.definition.name!r}, {len(self.seqs)} rows)"

    def __len__(self) -> int:
        return len(self.seqs)

    def matrix(self, X: Any) -> Any:
        """X, or of a frame the columns that are features, in the order of the features."""
        frame = None if type(X) is np.ndarray else FrameColumns.of(X)
        if frame is None:
            return X
        if self.definition.features is None:
            return as_matrix(frame)
        lacking = [name for name in self.definition.names if name not in frame.names]
        if lacking:
            expected = f"the columns {', '.join(self.definition.names)}"
            raise invalid("X", f"without {', '.join(lacking)}", expected, "add the columns")
        return as_matrix(frame.select(self.definition.names))

    # -- rows come -------------------------------------------------------------------------------

    @abstractmethod
    def checked(
        self, X: Any, y: Any, sample_weight: Any, marks: Keys, keys: Any = None
    ) -> StoredRows:
        """Checked rows; nothing changes."""

    @abstractmethod
    def plan(self, new: StoredRows) -> PlannedRows:
        """Which rows leave and enter if these are learned; nothing changes."""

    def learn(self, planned: PlannedRows, first: int) -> None:
        """Learn rows; those that enter have the sequence numbers from ``first`` on."""
        self._learn(planned)
        for id in planned.left:
            del self.seqs[id]
        ids = planned.new.ids
        if planned.entries < len(ids):
            ids = [ids[row] for row in planned.entered.tolist()]
        self.seqs.update(zip(ids, range(first, first + len(ids)), strict=True))

    @abstractmethod
    def _learn(self, planned: PlannedRows) -> None: ...

    def equal(self, new: StoredRows, places: Sequence[int]) -> NDArray[np.bool_]:
        """Which of these rows have the content of the live row with the same id."""
        there = new.take(np.array(places, dtype=np.intp))
        return there.equal(self.rows_of(there.ids))

    @abstractmethod
    def rows_of(self, ids: Sequence[Id]) -> StoredRows:
        """The live rows with these ids, in the order of the ids."""

    # -- rows leave ------------------------------------------------------------------------------

    @abstractmethod
    def named(self, ids: list[Id], owners: list[Id]) -> list[Id]:
        """The ids of live rows with these ids or owners."""

    def knows(self, id: Id) -> bool:
        """Whether a live row has this id."""
        return id in self.seqs

    @abstractmethod
    def owns(self, owner: Id) -> bool:
        """Whether a live row has this owner."""

    @abstractmethod
    def overdue(self, now: Any) -> list[Id]:
        """The ids of rows that are too old or due at ``now``."""

    @property
    @abstractmethod
    def calendar(self) -> bool:
        """Whether rows have calendar times or ends."""

    def records(self, leaving: Sequence[Id]) -> dict[str, Any]:
        """The records that change when rows leave; nothing changes yet."""
        return {}

    def record_names(self) -> list[str]:
        """The names of the records that leave with the model."""
        return []

    def forget(self, ids: Sequence[Id]) -> None:
        """Rows leave."""
        self._forget(ids)
        for id in ids:
            del self.seqs[id]

    @abstractmethod
    def _forget(self, ids: Sequence[Id]) -> None: ...

    # -- answers ---------------------------------------------------------------------------------

    @abstractmethod
    def predict(self, X: Any, keys: Any, missing: str) -> Any:
        """The predictions for rows."""

    @abstractmethod
    def predict_interval(self, X: Any, chosen: IntervalChoice, keys: Any, missing: str) -> Interval:
        """Prediction intervals for rows."""

    def coefficients(self, key: Any) -> tuple[dict[str, float], float]:
        """The coefficient of each feature, and the intercept."""
        values, intercept = self._coefficients(key)
        return dict(zip(self.definition.names, values, strict=True)), intercept

    @abstractmethod
    def _coefficients(self, key: Any) -> tuple[list[float], float]: ...

    def described(self) -> dict[str, Any]:
        """What is known of it without a value of a row."""
        about = self.definition
        return {
            "model": about.kind,
            "parameters": dict(about.parameters),
            "features": about.names,
            "rows": len(self),
        }

    @abstractmethod
    def held(self, owner: Id) -> Held:
        """What the model holds about an owner."""

    @abstractmethod
    def audit(self, ids: Iterable[Id], owners: Iterable[Id]) -> Audit:
        """Whether the model is a function of its live rows."""

    def touched(self, ids: Sequence[Id]) -> list[Id]:
        """The keys of rows, where there is one model per key."""
        return []

    @abstractmethod
    def digest_part(self, touched: Sequence[Id]) -> bytes:
        """What the digest of a receipt covers: name, number of rows and coefficients."""

    def _digest(self, *values: Any) -> bytes:
        name = self.definition.name.encode("utf-8") + b"\0"
        parts = (np.asarray(each, dtype="<f8").tobytes() for each in (len(self), *values))
        return name + b"".join(parts)


def resolved(name: str, models: Sequence[StoredModel], owners: bool) -> Id:
    """A text as live rows have it, as owner or as id: a whole number where rows have that."""
    if not name.removeprefix("-").isdecimal():
        return name
    known = [each.owns if owners else each.knows for each in models]
    return int(name) if any(has(int(name)) for has in known) else name


def refuse_unknown(wanted: RequestedRows, models: Sequence[StoredModel]) -> None:
    """Raise if a request names an id or an owner that no model has."""
    for id in wanted.ids:
        if not any(stored.knows(id) for stored in models):
            raise UnknownId("'ids' has one that no live row has: pass missing='ok' to allow that.")
    for owner in wanted.owners:
        if not any(stored.owns(owner) for stored in models):
            text = "'owner' has no live row: nothing is held about them"
            raise UnknownOwner(f"{text}; pass missing='ok' for a receipt of 0 rows.")
