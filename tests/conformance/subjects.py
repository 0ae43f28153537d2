"""The public ways to keep a model that learns and forgets, behind one set of verbs."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from conformance.expected_rows import Row, Window
from conformance.oracle import Spec

import efface
from efface import FIFD, AddDrop, Fleet, KeepFor
from efface.models.river import Regressor
from efface.store import Store

START = np.datetime64("2024-01-01T00:00", "ns")
HOUR = np.timedelta64(3_600_000_000_000, "ns")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # files without a disk


class Fit(NamedTuple):
    """What a model says of itself; None where the path does not tell."""

    ids: list[Any]
    coef: np.ndarray
    intercept: float
    penalty: float | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Setting:
    """A model, its window and the kind of its times: None, "number" or "calendar" (hours)."""

    spec: Spec
    window: Window
    clock: str | None = None

    @property
    def fades_by_time(self) -> bool:
        return self.spec.halflife is not None and self.window.kind == "age"

    def time(self, hours: float | None) -> Any:
        if hours is None or self.clock != "calendar":
            return hours
        return START + np.timedelta64(round(hours * 3600), "s")

    def window_argument(self) -> Any:
        kind, size = self.window.kind, self.window.size
        if kind == "age":
            return f"{round(size * 3600)}s" if self.clock == "calendar" else KeepFor(float(size))
        if kind == "add":
            return AddDrop(int(size), self.window.drop)
        if kind == "rows":
            return int(size) if self.clock is None else FIFD(int(size))
        return None

    def halflife_argument(self) -> Any:
        length = self.spec.halflife
        if self.fades_by_time and self.clock == "calendar":
            return f"{round(length * 3600)}s"
        return length

    def build(self) -> Any:
        """A model of the library."""
        spec, options = self.spec, {}
        if spec.kind == "Ridge":
            options["alpha"] = spec.alpha
        if spec.kind in ("AdaptiveRidge", "SwitchingRidge"):
            options |= {"delta": spec.delta, "theta_max": spec.theta_max}
        if spec.kind == "SwitchingRidge":
            options["switch_at"] = spec.switch_at
        return getattr(efface, spec.kind)(
            window=self.window_argument(),
            fit_intercept=spec.intercept,
            standardize=spec.standardize,
            halflife=self.halflife_argument(),
            **options,
        )

    def columns(self, rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Rows as X, y and the further arguments of ``fit``, ``partial_fit`` and ``replay``."""
        X = np.array([r.x for r in rows], dtype=float)
        options: dict[str, Any] = {"sample_weight": np.array([r.weight for r in rows])}
        if any(r.id is not None for r in rows):
            options["ids"] = [r.id for r in rows]
        if any(r.owner is not None for r in rows):
            options["owners"] = [r.owner for r in rows]
        if self.clock is not None:
            options["at"] = [self.time(r.at) for r in rows]
            options["until"] = [self.time(r.until) for r in rows]
        return X, np.array([r.y for r in rows]), options


class Subject(ABC):
    """A model, or several by key, that is taught rows and forgets them."""

    keyed = False
    numbers_rows = False  # does a row without an id get the next number?
    durable = True  # can it be saved and loaded?

    def __init__(self, setting: Setting, width: int) -> None:
        self.setting, self.width = setting, width

    @abstractmethod
    def learn(self, row: Row) -> None: ...

    @abstractmethod
    def learn_many(self, rows: Sequence[Row]) -> None: ...

    @abstractmethod
    def forget(self, ids: list[Any], owners: list[Any]) -> int: ...

    @abstractmethod
    def expire(self, now: Any) -> int: ...

    @abstractmethod
    def fits(self, keys: Iterable[str]) -> dict[str, Fit]:
        """What the models of these keys say of themselves."""

    def predict(self, key: str, x: np.ndarray) -> float | None:
        return None

    def saved(self) -> bytes | None:
        """The bytes of the file that ``save`` writes."""
        return None

    def reload(self) -> None:
        """Go on with a copy that was saved and loaded, if it is durable."""
        return

    @property
    def root(self) -> object:
        """From which all that it keeps can be reached."""
        return self

    def close(self) -> None:
        return


def _written(save: Any) -> bytes:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder) / "saved"
        save(path)
        return path.read_bytes()


class ModelSubject(Subject):
    """One model, row by row and in batches."""

    numbers_rows = True

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting, width)
        self.model = setting.build().empty(width)

    def learn(self, row: Row) -> None:
        at, until = self.setting.time(row.at), self.setting.time(row.until)
        marks = {"id": row.id, "at": at, "owner": row.owner, "until": until}
        self.model.learn_one(row.x.copy(), row.y, weight=row.weight, **marks)

    def learn_many(self, rows: Sequence[Row]) -> None:
        X, y, options = self.setting.columns(rows)
        self.model.partial_fit(X, y, **options)

    def replay(self, rows: Sequence[Row]) -> Any:
        X, y, options = self.setting.columns(rows)
        return efface.replay(self.model, X, y, coef=True, **options)

    def forget(self, ids: list[Any], owners: list[Any]) -> int:
        return self.model.forget(ids, owners=owners, missing="ok")

    def expire(self, now: Any) -> int:
        return self.model.expire(now)

    def fits(self, keys: Iterable[str]) -> dict[str, Fit]:
        m = self.model
        return {"a": Fit(m.ids_, np.array(m.coef_), m.intercept_, m.penalty_, m.rank_)}

    def predict(self, key: str, x: np.ndarray) -> float | None:
        return self.model.predict_one(x.copy())

    def saved(self) -> bytes | None:
        return _written(self.model.save)

    def reload(self) -> None:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            self.model.save(f"{folder}/model")
            self.model = efface.load(f"{folder}/model")

    @property
    def root(self) -> object:
        return self.model


class FleetSubject(Subject):
    """One model per key."""

    keyed = True

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting, width)
        self.fleet = Fleet(setting.build(), threads=1)

    def learn(self, row: Row) -> None:
        self.learn_many([row])

    def learn_many(self, rows: Sequence[Row]) -> None:
        X, y, options = self.setting.columns(rows)
        self.fleet.learn([r.key for r in rows], X, y, **options)

    def replay(self, rows: Sequence[Row]) -> Any:
        X, y, options = self.setting.columns(rows)
        keys = [r.key for r in rows]
        return efface.replay(self.fleet, X, y, by=keys, coef=True, **options)

    def forget(self, ids: list[Any], owners: list[Any]) -> int:
        return self.fleet.forget(ids, owners=owners, missing="ok")

    def expire(self, now: Any) -> int:
        return self.fleet.expire(now)

    def fits(self, keys: Iterable[str]) -> dict[str, Fit]:
        keys = [key for key in keys if key in self.fleet]
        found = self.fleet.fits(keys) if keys else ([], [], [])
        by_key = {key: self.fleet[key].ids_ for key in keys}
        return {
            key: Fit(by_key[key], np.array(coef), float(intercept), float(penalty))
            for key, coef, intercept, penalty in zip(keys, *found, strict=True)
        }

    def predict(self, key: str, x: np.ndarray) -> float | None:
        return float(self.fleet.predict([key], x[np.newaxis], missing="ok")[0])

    def saved(self) -> bytes | None:
        return _written(self.fleet.save)

    def reload(self) -> None:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            self.fleet.save(f"{folder}/fleet")
            self.fleet = Fleet.load(f"{folder}/fleet")

    @property
    def root(self) -> object:
        return self.fleet


class RiverSubject(Subject):
    """The wrapper for River: rows are dicts."""

    durable = False

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting, width)
        self.wrapper = Regressor(setting.build())
        self.names = [f"f{j:02}" for j in range(width)]

    def _dict(self, x: np.ndarray) -> dict[str, float]:
        return dict(zip(self.names, x.tolist(), strict=True))

    def learn(self, row: Row) -> None:
        at, until = self.setting.time(row.at), self.setting.time(row.until)
        marks = {"id": row.id, "at": at, "owner": row.owner, "until": until}
        self.wrapper.learn_one(self._dict(row.x), row.y, row.weight, **marks)

    def learn_many(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.learn(row)

    def forget(self, ids: list[Any], owners: list[Any]) -> int:
        return self.wrapper.forget(ids, owners=owners, missing="ok")

    def expire(self, now: Any) -> int:
        return self.wrapper.expire(now)

    def fits(self, keys: Iterable[str]) -> dict[str, Fit]:
        weights = self.wrapper.weights
        coef = np.array([weights.get(name, 0.0) for name in self.names])
        return {"a": Fit(self.wrapper.ids, coef, self.wrapper.intercept)}

    def predict(self, key: str, x: np.ndarray) -> float | None:
        return self.wrapper.predict_one(self._dict(x))

    @property
    def root(self) -> object:
        return self.wrapper


class StoreSubject(Subject):
    """A model that survives a restart: rows are encrypted on disk."""

    def __init__(self, setting: Setting, width: int) -> None:
        super().__init__(setting, width)
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.store = Store(f"{self.folder.name}/store")
        self.store.add("m", setting.build(), width)

    def learn(self, row: Row) -> None:
        self.learn_many([row])

    def learn_many(self, rows: Sequence[Row]) -> None:
        X, y, options = self.setting.columns(rows)
        self.store.learn("m", X, y, **options)

    def forget(self, ids: list[Any], owners: list[Any]) -> int:
        return self.store.forget(ids, owners=owners, missing="ok").rows

    def expire(self, now: Any) -> int:
        return self.store.expire(now, force=True).get("m", 0)

    def fits(self, keys: Iterable[str]) -> dict[str, Fit]:
        with self.store.reading("m") as m:
            return {"a": Fit(m.ids_, np.array(m.coef_), m.intercept_, m.penalty_, m.rank_)}

    def predict(self, key: str, x: np.ndarray) -> float | None:
        return float(self.store.predict("m", x[np.newaxis])[0])

    def reload(self) -> None:
        self.store.close()
        self.store = Store(f"{self.folder.name}/store")

    @property
    def root(self) -> object:
        return self.store

    def close(self) -> None:
        self.store.close()
        self.folder.cleanup()


SUBJECTS: dict[str, type[Subject]] = {
    "events": ModelSubject,
    "fleet": FleetSubject,
    "river": RiverSubject,
    "store": StoreSubject,
}
