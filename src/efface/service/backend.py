"""What the routes call: the store behind its queue, and what it published.

The thread of the queue alone calls the store. Answers that need no store come from what was
published after the last commit.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from efface.diagnostics.audit import Audit
from efface.diagnostics.diagnosis import diagnose
from efface.errors import (
    BadReceipt,
    EffaceError,
    InvalidValue,
    StorageFull,
    StoreError,
    TooManyDue,
    UnknownModel,
    UnknownOwner,
    invalid,
)
from efface.inputs.ids import Id
from efface.inputs.times import Time
from efface.inputs.types import Matrix, Vector
from efface.models.base import given_parameters
from efface.models.held import Held
from efface.models.intervals import Interval
from efface.models.linear import MODELS
from efface.service.bodies import AuditRequest, Erasure, NewModel, Questions
from efface.service.metrics import Metrics
from efface.service.problems import RefusedRequest
from efface.service.published import (
    Published,
    PublishedFleet,
    keys_named,
    next_due_of,
    published,
    readable_time,
    replaced_fits,
)
from efface.service.recent import Errors, RecentPast
from efface.service.write_queue import WriteQueue
from efface.store import Store, StoreState
from efface.store.durable import SECRET
from efface.store.layout import RECEIPTS
from efface.store.learning import Learned, LearnRequest
from efface.store.receipts import Receipt, read_receipts, verify_chain
from efface.store.stored_models import Definition

_SAMPLED = 20  # rows of a commit whose intervals are computed for the dashboard
_READERS = 4  # threads that answer access requests
_FEW = 200_000  # values of a model that are looked at for its rank and condition
MODEL_BYTES = 1 << 30  # that one model may need
_PER_PAIR = 160  # bytes for each pair of features: factors, their update, and an audit
_PAUSES = (0.5, 10.0)  # seconds between looks at few values, and at many
T = TypeVar("T")


class Erased(NamedTuple):
    """The receipt of an erasure, and the secret by which it names the person."""

    receipt: Receipt
    secret: bytes

    def plain(self) -> dict[str, Any]:
        """As JSON knows it."""
        receipt = self.receipt
        about = {"number": receipt.number, "rows": receipt.rows, "head": receipt.head}
        return {**about, "receipt": receipt.json, "secret": self.secret.hex()}


@final
class Backend:
    """A store that requests share. ``on_failure`` is called once if the store cannot go on."""

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        on_failure: Callable[[], None],
        model_bytes: int = MODEL_BYTES,
    ) -> None:
        self._store, self._metrics, self._on_failure = store, metrics, on_failure
        self._model_bytes = model_bytes
        self._commits, self._looked = 0, dict[str, float]()
        self.models: dict[str, Published] = {}
        self._about = store.models()
        self.models = {name: self._published(name) for name in self._about}
        self.past = RecentPast()
        self.failed = False
        self._readers = ThreadPoolExecutor(_READERS, "efface-reader")
        self._queue = WriteQueue(self._commit)

    # -- what the routes call --------------------------------------------------------------------

    def model(self, name: str) -> Published:
        """What is published of a model."""
        found = self.models.get(name)
        if found is None:
            raise UnknownModel(
                f"'name' is {name!r}: expected a model of the store; see GET /models."
            )
        return found

    async def create(self, name: str, body: NewModel) -> bool:
        """Add a model; False if the same one is there."""
        count = body.features if isinstance(body.features, int) else len(body.features)
        self._refuse_large(count)
        definition, model = _defined(name, body)
        return await self._call(lambda: self._create(definition, model, body))

    async def learn(self, read: Callable[[], LearnRequest], size: int = 0) -> Learned:
        """Learn the rows that ``read`` finds in a body of so many bytes; then they are durable."""
        return await self._queue.learn(read, size)

    async def predict_interval(
        self, name: str, X: Matrix, keys: Sequence[Id] | None, body: Questions
    ) -> Interval:
        """Prediction intervals of checked rows."""
        asked = {"method", "lower", "upper", "missing"}
        about: dict[str, Any] = {"keys": keys, **body.model_dump(include=asked)}
        level = body.interval or 0.95
        return await self._call(lambda: self._store.predict_interval(name, X, level, **about))

    async def held(self, owner: int | str) -> tuple[dict[str, Held], bool]:
        """What is held about a person, and whether they are refused for ever.

        The thread of the writer is not asked, since its disk may hang.
        """
        loop = asyncio.get_running_loop()
        job = partial(self._guarded, partial(self._held, owner))
        return await loop.run_in_executor(self._readers, job)

    def _held(self, owner: int | str) -> tuple[dict[str, Held], bool]:
        refused = self._store.refuses(owner)
        try:
            return self._store.held(owner), refused
        except UnknownOwner:
            if not refused:
                raise
            return {}, True

    async def forget(self, body: Erasure) -> Erased:
        """Forget rows; the receipt is there when this returns."""
        secret = os.urandom(SECRET) if body.secret is None else bytes.fromhex(body.secret)
        receipt = await self._call(lambda: self._forget(body, secret))
        return Erased(receipt, secret)

    async def audit(self, body: AuditRequest) -> dict[str, Audit]:
        """Audit models; a body has the arguments of ``Store.audit``."""
        for model in self.models.values():
            if body.model in (None, model.name):
                self._refuse_large(len(model.features))
        return await self._call(lambda: self._store.audit(**body.model_dump()))

    async def remove(self, name: str, secret: str | None) -> Erased:
        """Remove a model with all its rows; the receipt is there when this returns."""
        drawn = os.urandom(SECRET) if secret is None else bytes.fromhex(secret)
        return Erased(await self._call(lambda: self._remove(name, drawn)), drawn)

    async def backup(self, target: Path, *, keys: bool) -> None:
        """Write a copy, in a thread of its own: the writer goes on meanwhile."""
        await asyncio.shield(asyncio.to_thread(self._store.backup, target, keys=keys))

    def _refuse_large(self, features: int) -> None:
        """Raise if a model of so many features needs more memory than one may have."""
        if _PER_PAIR * features**2 > self._model_bytes:
            most = math.isqrt(self._model_bytes // _PER_PAIR)
            need = f"{_PER_PAIR * features**2 / 1e9:.1f} GB"
            expected = f"at most {most:,}, since so many may need {need} of memory"
            advice = f"use fewer, or raise --model-memory above {self._model_bytes / 1e9:.1f} GB"
            raise invalid("features", features, expected, advice)

    async def details(self, name: str) -> dict[str, Any]:
        """What is published of a model, and its rank and condition if it has few values."""
        model = self.model(name)
        found: dict[str, Any] = {"rank": None, "condition": None}
        if model.keyed:
            due = await self._call(lambda: self._next_due(name))
            found["next_due"] = readable_time(due)
        elif 0 < model.values <= _FEW:
            found = await self._call(lambda: self._diagnosed(name))
        return {**self.model(name).described(), **found}

    async def chain(self) -> tuple[dict[str, Any], list[Receipt]]:
        """The status of the store, and all receipts that were acknowledged, oldest first."""
        status = await self._call(self._store.status)
        path, count = self._store.path / RECEIPTS, int(status["receipts"])
        return status, await asyncio.to_thread(read_receipts, path, "line", count)

    async def expire(self) -> None:
        """Let rows leave that are due. Over half of a model's rows stay, and the metrics say so."""
        try:
            left = await self._call(self._expire)
        except TooManyDue:
            self._metrics.overdue.set(1)
            return
        self._metrics.overdue.set(0)
        self._metrics.expired.inc(sum(left.values()))

    async def close(self) -> None:
        """Finish what was accepted, then close the store."""
        await self._queue.close()
        self._readers.shutdown(wait=False)
        await asyncio.to_thread(self._store.close)

    @property
    def waiting(self) -> int:
        """How many requests wait for the writer."""
        return len(self._queue)

    @property
    def oldest(self) -> float:
        """Seconds since the oldest request that is not finished."""
        return self._queue.oldest

    @property
    def state(self) -> StoreState:
        """Whether the store can write; this never waits for the disk."""
        return self._store.state()

    # -- in the thread of the writer -------------------------------------------------------------

    async def _call(self, job: Callable[[], T]) -> T:
        return await self._queue.call(lambda: self._guarded(job))

    def _guarded(self, job: Callable[[], T]) -> T:
        try:
            return job()
        except StorageFull:  # nothing was changed: answers go on
            raise
        except StoreError:
            self._fail()
            raise

    def _fail(self) -> None:
        if not self.failed:
            self.failed = True
            self._on_failure()

    def _commit(self, requests: Sequence[LearnRequest]) -> None:
        """Learn the rows of many requests in one commit, and publish."""
        errors = self._predicted(requests)
        self._store.learn_many(requests)
        failed = [each.error for each in requests if isinstance(each.error, StoreError)]
        if not all(isinstance(error, StorageFull) for error in failed):
            self._fail()
        done = [request for request in requests if request.result is not None]
        self._metrics.commits.inc()
        for request in done:
            assert request.result is not None
            self._metrics.learned.inc(request.result.learned)
            self._metrics.skipped.inc(request.result.skipped)
        for name in dict.fromkeys(request.name for request in done):
            keys = [key for each in done if each.name == name for key in each.keys or ()]
            self._publish(name, keys, errors.get(name))

    def _predicted(self, requests: Sequence[LearnRequest]) -> dict[str, Errors]:
        """How the models predict the rows before they learn them, by model."""
        by_model: dict[str, list[LearnRequest]] = {}
        for request in requests:
            model = self.models.get(request.name)
            if model is not None and model.rows and model.keyed == (request.keys is not None):
                by_model.setdefault(request.name, []).append(request)
        return {name: self._errors(name, parts) for name, parts in by_model.items()}

    def _errors(self, name: str, parts: Sequence[LearnRequest]) -> Errors:
        X = np.concatenate([part.X for part in parts])
        y = np.concatenate([part.y for part in parts])
        model = self.models[name]
        keys = [key for part in parts for key in part.keys] if model.keyed else None
        absolute = np.abs(y - model.predict(X, keys, lenient=True))
        covered = None if model.keyed else self._covered(name, X, y)
        return Errors(len(y), float(absolute.mean()), covered)

    def _covered(self, name: str, X: Matrix, y: Vector) -> float | None:
        """The share of some rows in their intervals, now and then: it takes a look at all rows."""
        now, last = time.monotonic(), self._looked.get(name, -math.inf)
        pause = _PAUSES[self.models[name].values > _FEW]
        if now < last + pause:
            return None
        self._looked[name] = now
        X, y = X[:_SAMPLED], y[:_SAMPLED]
        with self._store.reading(name) as model:
            _, lower, upper = model.predict_interval(X)
        inside = ((lower <= y) & (y <= upper))[np.isfinite(upper)]
        return float(inside.mean()) if inside.size else None

    def _create(self, definition: Definition, model: Any, body: NewModel) -> bool:
        known = self._store.models().get(definition.name)
        if known is not None:
            wanted = (definition.kind, definition.parameters, definition.names, body.keyed)
            about = known["model"], known["parameters"], known["features"]
            if (*about, known.get("keyed", False)) == wanted:
                return False
            raise RefusedRequest(
                409, f"Another model is named {definition.name!r}: choose another name."
            )
        self._store.add(definition.name, model, body.features, keyed=body.keyed)
        self._about = self._store.models()
        self.models = {**self.models, definition.name: self._published(definition.name)}
        return True

    def _forget(self, body: Erasure, secret: bytes) -> Receipt:
        touched, wanted = self._touched(body), body.model_dump(exclude={"secret"})
        receipt = self._store.forget(**wanted, secret=secret)
        self._metrics.erasures.inc()
        self._metrics.forgotten.inc(receipt.rows)
        for name in receipt.fields["rows"]:
            self.past.drop(name, time.time())
            self._publish(name, touched.get(name))
        return receipt

    def _remove(self, name: str, secret: bytes) -> Receipt:
        receipt = self._store.remove(name, secret=secret)
        self._metrics.erasures.inc()
        self._metrics.forgotten.inc(receipt.rows)
        self.past.drop(name, time.time())
        self.models = {known: each for known, each in self.models.items() if known != name}
        self._about = self._store.models()
        return receipt

    def _touched(self, body: Erasure) -> dict[str, list[Id]]:
        """The keys of the rows that an erasure names, by keyed model."""
        owners = [each for each in (body.owner, *(body.owners or ())) if each is not None]
        found = {}
        for name in [name for name, model in self.models.items() if model.keyed]:
            with self._store.reading_fleet(name) as fleet:
                found[name] = keys_named(fleet, body.ids or (), owners)
        return found

    def _expire(self) -> dict[str, int]:
        left = self._store.expire()
        for name in left:
            self._publish(name)
        return left

    def _next_due(self, name: str) -> Time | None:
        with self._store.reading_fleet(name) as fleet:
            return next_due_of(fleet)

    def _diagnosed(self, name: str) -> dict[str, Any]:
        with self._store.reading(name) as model:
            if not len(model.live_rows.index):
                return {"rank": 0, "condition": None}
            found = diagnose(model)
        return {"rank": found.rank, "condition": found.condition}

    # -- publishing ------------------------------------------------------------------------------

    def _publish(
        self, name: str, keys: Sequence[Id] | None = None, errors: Errors | None = None
    ) -> None:
        """Publish a model that changed, of a keyed one these keys or all; the past follows."""
        self._commits += 1
        self.models[name] = self._published(name, keys)
        self.past.add(self.models[name], errors, time.time())

    def _published(self, name: str, keys: Sequence[Id] | None = None) -> Published:
        """What is published of a model; of a keyed one, the entries of ``keys`` are replaced."""
        about, before = self._about[name], self.models.get(name)
        if not about.get("keyed"):
            with self._store.reading(name) as model:
                return published(name, about, model, self._commits)
        with self._store.reading_fleet(name) as fleet:
            known = before.fits if isinstance(before, PublishedFleet) else {}
            fits = replaced_fits(known, fleet, keys)
            names, counts = tuple(about["features"]), (fleet.n_rows_, self._commits)
            return PublishedFleet(name, about["model"], about["parameters"], names, *counts, fits)


def _defined(name: str, body: NewModel) -> tuple[Definition, Any]:
    """The model that a body describes; raises what refuses it."""
    kind = MODELS.get(body.kind)
    if kind is None:
        raise invalid("kind", body.kind, f"one of {', '.join(MODELS)}", "name a model of efface")
    try:
        json.dumps(body.parameters, allow_nan=False)
        model = kind(**given_parameters(body.parameters))
        return Definition.of(0, name, model, body.features), model
    except EffaceError:
        raise
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        text = f"'parameters' cannot be used by {body.kind} ({type(error).__name__})"
        raise InvalidValue(f"{text}: expected its arguments; see docs/models.md.") from error


def chain_verdict(receipts: Sequence[Receipt], public_key: str) -> str | None:
    """Why a chain does not verify; None if it does."""
    try:
        verify_chain(receipts, public_key)
    except BadReceipt as error:
        return str(error)
    return None
