"""A client of the service with the verbs of ``Store``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, Self, final
from urllib.parse import quote, urlsplit

import httpx
import numpy as np

from efface import errors
from efface.diagnostics.audit import Audit
from efface.errors import EffaceError, InvalidValue, StoreError, invalid
from efface.inputs.arrays import as_matrix, as_vector, as_weights
from efface.inputs.frames import FrameColumns, eager
from efface.inputs.ids import AnyId, Id, as_id, as_ids, as_owners, id_column, requested, some_ids
from efface.inputs.times import Times, as_times, as_untils, kind_of, never
from efface.live.policies import to_plain
from efface.models.held import Held
from efface.models.intervals import DEFAULT_METHOD, Interval, MethodName
from efface.store.durable import nothing_held
from efface.store.learning import Learned
from efface.store.receipts import Receipt

BATCH = 2_000  # rows of one request
_LOCAL = ("127.0.0.1", "localhost", "::1")


@final
class Client:
    """A store behind ``efface serve``, with the verbs of ``Store``; see docs/service.md.

    ``url`` is HTTPS, unless the service is on this machine. Errors are those that the store raises.
    ``learn`` sends rows in parts of 2,000, each durable once it is answered; give rows ids, and a
    call that was interrupted can be repeated.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in _LOCAL:
            raise invalid("url", url, "https://", "a token must not travel in the clear")
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"authorization": f"Bearer {token}"},
            timeout=timeout,
            trust_env=False,
        )

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # -- models ----------------------------------------------------------------------------------

    def add(
        self, name: str, model: Any, features: Sequence[str] | int, *, keyed: bool = False
    ) -> None:
        """Add a model, unless the same one is there; with ``keyed`` one per key."""
        parameters = {key: to_plain(value) for key, value in model.get_params(deep=False).items()}
        given = features if isinstance(features, int) else list(features)
        kind = type(model).__name__
        body = {"kind": kind, "parameters": parameters, "features": given, "keyed": keyed}
        self._ask("PUT", f"/models/{_quoted(name)}", body)

    def remove(self, name: str, *, secret: bytes | None = None) -> Receipt:
        """Remove a model with all its rows; return the receipt."""
        body = {"secret": (os.urandom(32) if secret is None else secret).hex()}
        found = self._ask("DELETE", f"/models/{_quoted(name)}", body)
        return Receipt.parse(found["receipt"])

    def models(self) -> dict[str, dict[str, Any]]:
        """What is known of each model."""
        found = self._ask("GET", "/models")["models"]
        return {each["name"]: {"model": each["kind"], **each} for each in found}

    def coefficients(self, name: str, key: AnyId | None = None) -> tuple[dict[str, float], float]:
        """The coefficient of each feature, and the intercept; of a keyed model those of a key."""
        path = f"/models/{_quoted(name)}"
        if key is not None:
            found = self._ask("POST", f"{path}/keys", {"key": as_id(key, "key")})
        else:
            found = self._ask("GET", path)
        return found["coefficients"], found["intercept"]

    # -- rows ------------------------------------------------------------------------------------

    def learn(
        self,
        name: str,
        X: Any,
        y: Any,
        *,
        ids: Iterable[AnyId] | None = None,
        owners: Iterable[AnyId | None] | None = None,
        at: Any = None,
        until: Any = None,
        sample_weight: Any = None,
        left: str = "raise",
        keys: Any = None,
    ) -> Learned:
        """Learn rows of an array or a frame; they are durable when this returns."""
        rows = _features(X)
        count = len(rows)
        columns: dict[str, Sequence[Any] | None] = {
            "y": as_vector(eager(y), count).tolist(),
            "id": None if ids is None else as_ids(ids, count),
            "owner": as_owners(owners, count),
            "at": None if at is None else _times(as_times(at, count)),
            "until": _times(as_untils(until, count)),
            "key": _key_column(keys, count),
        }
        weights = as_weights(sample_weight, count)
        columns["weight"] = None if weights is None else weights.tolist()
        for key, values in columns.items():
            if values is not None:
                for row, value in zip(rows, values, strict=True):
                    row[key] = value
        parts = [
            self._learn(name, rows[first : first + BATCH], left) for first in range(0, count, BATCH)
        ]
        found = [id for part in parts for id in part.ids]
        return Learned(found, sum(p.learned for p in parts), sum(p.skipped for p in parts))

    def _learn(self, name: str, rows: list[dict[str, Any]], left: str) -> Learned:
        return Learned(
            **self._ask("POST", f"/models/{_quoted(name)}/rows", {"rows": rows, "left": left})
        )

    def predict(self, name: str, X: Any, *, keys: Any = None, missing: str = "raise") -> Any:
        """The predictions for the rows of X; of a keyed model by the models of ``keys``."""
        found = [
            self._predict(name, part, missing=missing)["predictions"] for part in _parts(X, keys)
        ]
        return np.array([each for part in found for each in part])

    def predict_interval(
        self,
        name: str,
        X: Any,
        level: float = 0.95,
        method: MethodName = DEFAULT_METHOD,
        *,
        lower: float | None = None,
        upper: float | None = None,
        keys: Any = None,
        missing: str = "raise",
    ) -> Interval:
        """Prediction intervals for the rows of X, within limits of the response."""
        more: dict[str, Any] = {"interval": level, "method": method, "missing": missing}
        more |= {"lower": lower, "upper": upper}
        found = [self._predict(name, part, **more) for part in _parts(X, keys)]
        middle, least, most = (
            np.array([none if each is None else each for part in found for each in part[key]])
            for key, none in (("predictions", math.nan), ("lower", -math.inf), ("upper", math.inf))
        )
        reasons = [part["reason"] for part in found if part["reason"] is not None]
        return Interval(middle, least, most, reasons[0] if reasons else None)

    def _predict(self, name: str, rows: list[dict[str, Any]], **more: Any) -> Any:
        return self._ask("POST", f"/models/{_quoted(name)}/predictions", {"rows": rows, **more})

    # -- people ----------------------------------------------------------------------------------

    def held(self, owner: AnyId) -> dict[str, Held]:
        """All that is held about a person, by model."""
        who = as_id(owner, "owner")
        found = self._ask("POST", "/access-requests", {"owner": who})
        if not found["models"]:  # the service answers for who is refused for ever
            raise nothing_held(refused=found["refused"])
        return {name: _held(who, plain) for name, plain in found["models"].items()}

    def forget(
        self,
        ids: AnyId | Iterable[AnyId] | None = None,
        *,
        owner: AnyId | None = None,
        owners: Iterable[AnyId] | None = None,
        model: str | None = None,
        missing: str = "raise",
        forever: bool = False,
        secret: bytes | None = None,
    ) -> Receipt:
        """Forget rows by id, or all of a person or of several; return the receipt.

        Without a ``secret`` one is drawn and dropped: pass ``os.urandom(32)`` to keep it.
        """
        wanted = requested(ids, owner, owners)
        body: dict[str, Any] = {
            "owners": wanted.owners or None,
            "ids": wanted.ids or None,
            "model": model,
            "missing": missing,
            "forever": forever,
            "secret": (os.urandom(32) if secret is None else secret).hex(),
        }
        return Receipt.parse(self._ask("POST", "/erasures", body)["receipt"])

    def resolve(self, names: Sequence[str], *, owners: bool = True) -> list[Id]:
        """Texts as the service has them: as texts."""
        return list(names)

    def expire(self, now: Any = None, *, force: bool = False) -> dict[str, int]:
        """A service lets rows leave by itself, by its own clock."""
        raise invalid("expire", "asked of a service", "a folder", "it expires rows by itself")

    def backup(self, path: str | os.PathLike[str], *, keys: bool = False) -> None:
        """Let the service write a copy: ``path`` is a name below its own folder of copies."""
        self._ask("POST", "/backups", {"target": os.fspath(path), "keys": keys})

    # -- proofs ----------------------------------------------------------------------------------

    def audit(
        self,
        forgotten: AnyId | Iterable[AnyId] = (),
        *,
        forgotten_owners: AnyId | Iterable[AnyId] = (),
        model: str | None = None,
    ) -> dict[str, Audit]:
        """Check models against fresh ones."""
        body = {
            "forgotten": some_ids(forgotten),
            "forgotten_owners": some_ids(forgotten_owners, "owner"),
            "model": model,
        }
        found = self._ask("POST", "/audits", body)["models"]
        return {name: Audit(**_audit(plain)) for name, plain in found.items()}

    def receipts(self) -> list[Receipt]:
        """All receipts, oldest first."""
        count = self.status()["receipts"]
        numbers = range(1, count + 1)
        return [Receipt.parse(self._ask("GET", f"/receipts/{n}")["receipt"]) for n in numbers]

    def status(self) -> dict[str, Any]:
        """Counts, and the head of the chain of receipts."""
        found: dict[str, Any] = self._ask("GET", "/receipts")["status"]
        return found

    # -- inside ----------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.TransportError as error:
            text = f"'{self._http.base_url}' did not answer ({type(error).__name__})"
            raise StoreError(f"{text}: start the service, or correct the address.") from error
        if response.is_success:
            return response.json()
        raise _error(response)


def _error(response: httpx.Response) -> EffaceError:
    """The exception that the service named."""
    try:
        found = response.json()
        detail, name = str(found["detail"]), found.get("error")
    except (ValueError, KeyError, TypeError):
        return StoreError(f"'url' answered {response.status_code}: expected an efface service.")
    kind = getattr(errors, str(name), None)
    if not (isinstance(kind, type) and issubclass(kind, EffaceError)):
        kind = StoreError if response.status_code >= 500 else InvalidValue
    made: EffaceError = kind(detail)
    return made


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _features(X: Any) -> list[dict[str, Any]]:
    """One entry per row: its features as a list, or by name for a frame."""
    X = eager(X)
    frame, values = FrameColumns.of(X), as_matrix(X).tolist()
    if frame is None:
        return [{"x": row} for row in values]
    return [{"x": dict(zip(frame.names, row, strict=True))} for row in values]


def _key_column(keys: Any, count: int) -> list[Id] | None:
    if keys is None:
        return None
    found = id_column(keys, count, "key")
    return found.tolist() if isinstance(found, np.ndarray) else list(found)


def _parts(X: Any, keys: Any) -> list[list[dict[str, Any]]]:
    """Rows to predict, in parts of one request each."""
    rows = _features(X)
    for row, key in zip(rows, _key_column(keys, len(rows)) or (), strict=keys is not None):
        row["key"] = key
    return [rows[first : first + BATCH] for first in range(0, len(rows), BATCH)]


def _times(times: Times | None) -> list[str | float | None] | None:
    """Times as JSON knows them; None for a row without an end."""
    if times is None:
        return None
    none = never(kind_of(times))
    if times.dtype == np.int64:
        return [None if t == none else f"{np.datetime64(t, 'ns')}Z" for t in times.tolist()]
    return [None if t == none else t for t in times.tolist()]


def _held(owner: Id, plain: dict[str, Any]) -> Held:
    return Held(
        owner=owner,
        ids=plain["ids"],
        times=_moments(plain["at"]),
        until=_moments(plain["until"]),
        features={name: np.array(values) for name, values in plain["features"].items()},
        responses=np.array(plain["responses"]),
        weights=np.array(plain["weights"]),
        keys=plain["keys"],
    )


def _moments(given: list[Any] | None) -> Any:
    if given is None:
        return None
    if any(isinstance(each, str) for each in given):
        texts = ["NaT" if each is None else each.removesuffix("Z") for each in given]
        return np.array(texts, dtype="datetime64[ns]")
    return np.array([math.inf if each is None else each for each in given])


def _audit(plain: dict[str, Any]) -> dict[str, Any]:
    """The fields of an audit; JSON has no infinity and no tuples."""
    found = {
        key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()
    }
    return {key: math.inf if value is None else value for key, value in found.items()}
