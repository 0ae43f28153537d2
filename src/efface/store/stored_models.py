"""A model of a store: its definition, the library's model, and the number of each live row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from efface.diagnostics.audit import Audit, audit
from efface.errors import DamagedStore, invalid
from efface.inputs.arrays import as_matrix
from efface.inputs.frames import FrameColumns
from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, never
from efface.live.arrivals import Arrivals
from efface.live.live_rows import LiveRows
from efface.live.plans import Outcome
from efface.live.snapshot import Snapshot
from efface.models.base import Keys
from efface.models.held import Held, held_rows
from efface.models.intervals import Interval, MethodName
from efface.models.linear import from_snapshot
from efface.models.regression import Model
from efface.store.row_format import StoredRows


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

    @property
    def names(self) -> list[str]:
        """The names of the features: "x0", "x1", ... if they have none."""
        return list(self.features or [f"x{j}" for j in range(self.width)])

    def to_plain(self) -> list[Any]:
        """As JSON knows it."""
        features = None if self.features is None else list(self.features)
        return [self.number, self.name, self.kind, self.parameters, self.width, features]

    @classmethod
    def from_plain(cls, plain: Sequence[Any]) -> Definition:
        """The definition back."""
        number, name, kind, parameters, width, features = plain
        names = None if features is None else tuple(features)
        return cls(number, name, kind, parameters, width, names)

    @classmethod
    def of(cls, number: int, name: str, model: Any, features: Any) -> Definition:
        """The definition of a model that a user passes, and of its features."""
        if not isinstance(model, Model):
            expected = "a linear model of efface such as Ridge()"
            raise invalid("model", type(model).__name__, expected, "pass one")
        width, names = _features(features)
        made = model.empty(width)._snapshot()
        return cls(number, name, made.model, made.parameters, width, names)

    def snapshot(self, rows: StoredRows, phase: int) -> Snapshot:
        """The snapshot of the model with these rows, which are in the order of their arrival."""
        times, owners = rows.times, rows.owners
        order: Any = slice(None)
        if times is not None and (times[1:] < times[:-1]).any():
            order = np.argsort(times, kind="stable")
        pick = order if isinstance(order, slice) else order.tolist()
        return Snapshot(
            model=self.kind,
            parameters=self.parameters,
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
class StoredModel:
    """A model whose rows are in the store."""

    def __init__(
        self, definition: Definition, rows: StoredRows, seqs: list[int], phase: int
    ) -> None:
        self.definition = definition
        try:
            self.model: Model = from_snapshot(definition.snapshot(rows, phase))
        except (KeyError, TypeError, ValueError) as error:
            text = f"'{definition.name}' cannot be rebuilt from its rows ({type(error).__name__})"
            raise DamagedStore(f"{text}: restore the store, or upgrade efface.") from error
        self.seqs: dict[Id, int] = dict(zip(rows.ids, seqs, strict=True))

    def __repr__(self) -> str:
        return f"StoredModel({self.definition.name!r}, {len(self.seqs)} rows)"

    def __len__(self) -> int:
        return len(self.seqs)

    # -- rows come -------------------------------------------------------------------------------

    def matrix(self, X: Any) -> Any:
        """X, or of a frame the columns that are features, in the order of the features."""
        frame = FrameColumns.of(X)
        if frame is None:
            return X
        if self.definition.features is None:
            return as_matrix(frame)
        lacking = [name for name in self.definition.names if name not in frame.names]
        if lacking:
            expected = f"the columns {', '.join(self.definition.names)}"
            raise invalid("X", f"without {', '.join(lacking)}", expected, "add the columns")
        return as_matrix(frame.select(self.definition.names))

    def arrivals(self, X: Any, y: Any, sample_weight: Any, keys: Keys) -> Arrivals:
        """Checked rows; nothing changes."""
        return self.model.arrivals(self.matrix(X), y, sample_weight, keys)

    def outcome(self, new: Arrivals) -> Outcome:
        """Which rows leave and enter if these are learned; nothing changes."""
        return self.model.live_rows.outcome(new)

    def learn(self, new: Arrivals, outcome: Outcome, first: int) -> None:
        """Learn rows; those that enter have the sequence numbers from ``first`` on."""
        self.model.live_rows.learn(new)
        for id in outcome.left:
            del self.seqs[id]
        ids = new.ids
        if len(outcome.entered) < len(ids):
            ids = [ids[row] for row in np.sort(outcome.entered).tolist()]
        self.seqs.update(zip(ids, range(first, first + len(ids)), strict=True))

    def equal(self, new: Arrivals, places: Sequence[int]) -> NDArray[np.bool_]:
        """Which of these rows have the content of the live row with the same id."""
        live = self.model.live_rows
        order = [new.ids[place] for place in places]
        at = [int(live.index.positions([id])[0]) for id in order]
        X, y, weights = live.solver.values(np.array(at, dtype=np.intp))
        rows = list(places)
        same = (new.X[rows] == X).all(axis=1) & (y == new.y[rows]) & (weights == new.weights[rows])
        owners = live.marks.owners.of(order)
        coming = new.owners or [None] * len(new)
        same &= np.array([a == coming[p] for a, p in zip(owners, rows, strict=True)])
        return np.asarray(same & self._same_times(live, order, at, new, rows))

    def _same_times(
        self, live: LiveRows, ids: list[Id], at: list[int], new: Arrivals, rows: list[int]
    ) -> NDArray[np.bool_]:
        times = live.index.times_at(np.array(at, dtype=np.intp))
        if (times is None) != (new.times is None):
            return np.zeros(len(rows), dtype=bool)
        same = np.ones(len(rows), dtype=bool)
        if times is not None and new.times is not None:
            same &= times == new.times[rows]
        ends = _open_ends(live.marks.until_of_each(ids), len(rows))
        coming = _open_ends(None if new.untils is None else new.untils[rows], len(rows))
        alike = np.array([a == b for a, b in zip(ends, coming, strict=True)], dtype=bool)
        return np.asarray(same & alike)

    # -- rows leave ------------------------------------------------------------------------------

    def named(self, ids: Sequence[Id], owners: Sequence[Id]) -> list[Id]:
        """The ids of live rows with these ids or owners."""
        return self.model.live_rows.named(ids, owners, lenient=True)

    def knows(self, id: Id) -> bool:
        """Whether a live row has this id."""
        return id in self.seqs

    def owns(self, owner: Id) -> bool:
        """Whether a live row has this owner."""
        return owner in self.model.live_rows.marks.owners

    def overdue(self, now: Any) -> list[Id]:
        """The ids of rows that are too old or due at ``now``."""
        return self.model.live_rows.overdue(now)

    @property
    def calendar(self) -> bool:
        """Whether rows have calendar times or ends."""
        live = self.model.live_rows
        return int in (live.index.kind, live.marks.consents.kind)

    def forget(self, ids: Sequence[Id]) -> None:
        """Rows leave."""
        self.model.live_rows.forget(ids)
        for id in ids:
            del self.seqs[id]

    # -- answers ---------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The predictions for rows."""
        return self.model.predict(self.matrix(X))

    def predict_interval(self, X: Any, level: float, method: MethodName) -> Interval:
        """Prediction intervals for rows."""
        return self.model.predict_interval(self.matrix(X), level, method)

    def coefficients(self) -> tuple[dict[str, float], float]:
        """The coefficient of each feature, and the intercept."""
        values = self.model.coef_.tolist()
        return dict(zip(self.definition.names, values, strict=True)), self.model.intercept_

    def described(self) -> dict[str, Any]:
        """What is known of it without a value of a row."""
        about = self.definition
        return {
            "model": about.kind,
            "parameters": dict(about.parameters),
            "features": about.names,
            "rows": len(self),
        }

    def held(self, owner: Id) -> Held:
        """What the model holds about an owner."""
        return held_rows(self.model.live_rows, owner, self.definition.names)

    def audit(self, ids: Iterable[Id], owners: Iterable[Id]) -> Audit:
        """Whether the model is a function of its live rows."""
        return audit(self.model, list(ids), forgotten_owners=list(owners))

    def digest_part(self) -> bytes:
        """What the digest of a receipt covers: name, number of rows and coefficients."""
        solver = self.model.live_rows.solver
        name = self.definition.name.encode("utf-8") + b"\0"
        counts = np.array([len(self), solver.intercept], dtype="<f8").tobytes()
        return name + counts + np.asarray(solver.coef, dtype="<f8").tobytes()


def _open_ends(ends: Times | None, count: int) -> list[Time]:
    """Ends, with infinity for rows without one, whatever the kind of times."""
    if ends is None:
        return [never(None)] * count
    none = never(int if ends.dtype == np.int64 else float)
    return [never(None) if end == none else end for end in ends.tolist()]
