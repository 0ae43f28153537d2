"""``Store``: models whose rows are durable, and cannot be read once they are forgotten."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np

from efface.batch.fleet import Fleet
from efface.diagnostics.audit import Audit
from efface.errors import DamagedStore, StoreStopped, TooManyDue, UnknownOwner, invalid
from efface.inputs.ids import AnyId, Id, as_id, requested, some_ids
from efface.inputs.parameters import choice
from efface.models.held import Held
from efface.models.intervals import DEFAULT_METHOD, Interval, IntervalChoice, MethodName
from efface.models.regression import Model
from efface.store import layout
from efface.store.backups import write_backup
from efface.store.condition import StoreState
from efface.store.disk import StoreDisk
from efface.store.durable_files import failures
from efface.store.file_systems import refuse_windows
from efface.store.group_commit import GroupCommit, find_model
from efface.store.learning import Learned, LearnRequest
from efface.store.master_key import MasterKey
from efface.store.opening import without_rows
from efface.store.receipts import Receipt, removal_subject, subject
from efface.store.rotation import rotate
from efface.store.single_model import SingleModel
from efface.store.stored_fleet import StoredFleet
from efface.store.stored_models import Definition, StoredModel, refuse_unknown, resolved
from efface.store.writer import Writer

SECRET = 32  # bytes of the secret of a request
PATIENCE = 1.0  # seconds that an access request waits for a write


@final
class Store:
    """Models in a folder: rows are encrypted, each under a key of its own; forgetting destroys it.

    A folder that does not exist, or is empty, becomes a new store. ``rows`` is the address of a
    PostgreSQL database for a new store, None for a SQLite file in the folder. ``master_key`` wraps
    the keys of rows. ``destroyed`` names a file elsewhere to which the numbers of destroyed keys
    are written, ``anchor`` one for the heads of the chain of receipts, ``mirror`` a folder on
    another disk for a second copy of the keys. The store remembers them; False gives one up.

    A method returns once its change is durable. Threads may call all methods: rows that wait while
    another thread commits share the next commit. One process owns a store.

    >>> import tempfile
    >>> from efface import Ridge
    >>> from efface.store import Store
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(f"{folder.name}/orders") as store:
    ...     store.add("demand", Ridge(fit_intercept=False), features=["temp"])
    ...     _ = store.learn("demand", [[1.0], [2.0]], [2.0, 9.0], owners=["ann", "bob"])
    ...     receipt = store.forget(owner="bob")
    >>> receipt.rows
    1
    >>> with Store(f"{folder.name}/orders") as store:
    ...     store.predict("demand", [[1.0]])
    array([1.])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        rows: str | None = None,
        *,
        master_key: bytes | None = None,
        destroyed: str | os.PathLike[str] | Literal[False] | None = None,
        anchor: str | os.PathLike[str] | Literal[False] | None = None,
        mirror: str | os.PathLike[str] | Literal[False] | None = None,
    ) -> None:
        refuse_windows()
        self.path, master = Path(path), MasterKey(master_key)
        self._closed, self._closing, self._copying = True, False, threading.Lock()
        places = {"destroyed": destroyed, "anchor": anchor, "mirror": mirror}
        given = {kind: place for kind, place in places.items() if place is not None}
        with failures(str(path)):
            if not layout.is_store(self.path):
                layout.create(self.path, master, rows)
            self._disk = StoreDisk(self.path, master, rows, given)
        try:
            with failures(str(path)):
                self._writer = Writer(self._disk)
        except BaseException:
            self._disk.close()
            raise
        self._queue = GroupCommit(self._writer)
        self._closed = False
        self._expire_at_open()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._models)} models"
        return f"Store({str(self.path)!r}, {state})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- models ----------------------------------------------------------------------------------

    def add(
        self, name: str, model: Any, features: Sequence[str] | int, *, keyed: bool = False
    ) -> None:
        """Add a model: one of the library, of which the parameters are kept, and its features.

        ``features`` are the names of the columns of X, or their number. With ``keyed`` there is one
        model per key, as in ``efface.Fleet``; ids are unique across all keys.
        """
        with self._working():
            if not str(name).isprintable() or not 0 < len(name) <= 200:
                raise invalid("name", name, "a text of 1 to 200 characters", "name the model")
            if name in self._models:
                raise invalid("name", name, "a name that no model has", "name another one")
            number = self._writer.next_number
            definition = Definition.of(number, name, model, features, keyed=keyed)
            self._writer.define(without_rows(definition))

    def remove(self, name: str, *, secret: bytes | None = None) -> Receipt:
        """Remove a model with all its rows; return the receipt.

        The keys of its rows are destroyed as by ``forget``. Ids of these rows may come again, in
        another model. A request that is repeated under the same ``secret`` finds its receipt.
        """
        drawn = _drawn(secret)
        with self._committed():
            if name not in self._models:
                known = self._disk.chain.find(removal_subject(drawn, name))
                if known is not None:
                    return known
            return self._writer.remove(find_model(self._models, name), drawn)

    def models(self) -> dict[str, dict[str, Any]]:
        """What is known of each model: its class, parameters, features and number of rows."""
        with self._working():
            return {name: stored.described() for name, stored in self._models.items()}

    # -- rows come -------------------------------------------------------------------------------

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
        """Learn rows; they are durable when this returns. ``keys`` are for a keyed model.

        Rows without ids get UUIDs. A row that is there already, with the same id and content, is
        skipped; one with another content is refused. Ids whose rows left in the last seven days are
        refused, or skipped if ``left`` is "skip".
        """
        skip = choice("left", left, ("raise", "skip")) == "skip"
        request = LearnRequest(name, X, y, sample_weight, ids, owners, at, until, skip, keys)
        self.learn_many([request])
        return request.outcome()

    def learn_many(self, requests: Sequence[LearnRequest]) -> None:
        """Learn the rows of many requests in one commit; each then has its result or its error.

        Requests of other threads that wait at the same time share the commit.
        """
        self._disk.refuse_forked()
        for request in requests:
            self._queue.put(request)
        with self._writer.lock:  # another thread may have committed them meanwhile
            if not all(request.done for request in requests):
                self._refuse_closed()
                self._queue.commit()

    # -- rows leave ------------------------------------------------------------------------------

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
        """Forget rows by id and by owner, in every model or in one; return the receipt.

        When this returns no file of the store, and no older copy of its rows, can be read for them.
        ``forever`` refuses all later rows of these owners. ``secret`` is a value of 32 random bytes
        that only the asker knows: with it the receipt can be matched to the owner, and a request
        that is repeated finds the same receipt.
        """
        lenient = choice("missing", missing, ("raise", "ok")) == "ok"
        wanted = requested(ids, owner, owners)
        if forever and not wanted.owners:
            raise invalid("forever", True, "owners", "name owner= or owners=")
        drawn = _drawn(secret)
        with self._committed():
            chosen = self._chosen(model)
            repeated = self._disk.chain.find(subject(drawn, *wanted)) is not None
            if not lenient and not repeated:
                refuse_unknown(wanted, chosen)
            return self._writer.forget(wanted, chosen, drawn, forever=forever)

    def expire(self, now: Any = None, *, force: bool = False) -> dict[str, int]:
        """Remove the rows that are too old or due at ``now``, by default the clock's time.

        Return how many rows left, by model. If over half of the rows of a model would leave,
        ``force`` is needed: the clock may be wrong.
        """
        with self._committed():
            due = self._due(now)
            for stored, found in due:
                if 2 * len(found) > len(stored) and not force:
                    name, share = stored.definition.name, f"{len(found):,} of {len(stored):,} rows"
                    text = f"'now' lets {share} of model {name!r} leave: expected at most half"
                    raise TooManyDue(f"{text}; check the clock, or pass force=True.")
            self._writer.let_go(due)
            return {stored.definition.name: len(found) for stored, found in due}

    def _due(self, now: Any) -> list[tuple[StoredModel, list[Id]]]:
        models: Iterable[StoredModel] = self._models.values()
        if now is None:
            now, models = np.datetime64(time.time_ns(), "ns"), [m for m in models if m.calendar]
        found = [(stored, stored.overdue(now)) for stored in models if len(stored)]
        return [(stored, ids) for stored, ids in found if ids]

    def _expire_at_open(self) -> None:
        """What fell due while the store was closed leaves; see ``expire`` for more than half."""
        try:
            with self._working():
                due = self._due(None)
                self._writer.let_go([(m, ids) for m, ids in due if 2 * len(ids) <= len(m)])
        except BaseException:
            self.close()
            raise

    def resolve(self, names: Sequence[str], *, owners: bool = True) -> list[Id]:
        """Texts as the live rows have them: whole numbers where rows have the number."""
        with self._committed():
            return [resolved(name, list(self._models.values()), owners) for name in names]

    # -- answers ---------------------------------------------------------------------------------

    def predict(self, name: str, X: Any, *, keys: Any = None, missing: str = "raise") -> Any:
        """The predictions of a model for the rows of X; of a keyed one by the models of ``keys``.

        A key without live rows is an error, unless ``missing`` is "ok".
        """
        with self._working():
            return find_model(self._models, name).predict(X, keys, missing)

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
        """Prediction intervals of a model for the rows of X, within limits of the response."""
        chosen = IntervalChoice(level, method, lower, upper)
        with self._working():
            return find_model(self._models, name).predict_interval(X, chosen, keys, missing)

    def coefficients(self, name: str, key: AnyId | None = None) -> tuple[dict[str, float], float]:
        """The coefficient of each feature, and the intercept; of a keyed model those of a key."""
        with self._working():
            return find_model(self._models, name).coefficients(key)

    @contextmanager
    def reading(self, name: str) -> Iterator[Model]:
        """The library's model of this name, to be looked at; nothing changes it meanwhile."""
        with self._working():
            stored = find_model(self._models, name)
            if not isinstance(stored, SingleModel):
                raise invalid("name", name, "a model that is not keyed", "use reading_fleet")
            yield stored.model

    @contextmanager
    def reading_fleet(self, name: str) -> Iterator[Fleet]:
        """The same for a keyed model: the library's fleet."""
        with self._working():
            stored = find_model(self._models, name)
            if not isinstance(stored, StoredFleet):
                raise invalid("name", name, "a keyed model", "use reading")
            yield stored.fleet

    def held(self, owner: AnyId, *, model: str | None = None) -> dict[str, Held]:
        """All that the store holds about an owner, by model, in those that have their rows.

        A write that hangs is not waited for: what was acknowledged before it is told.
        """
        who, found = as_id(owner, "owner"), None
        while found is None:
            found = self._held(who, model)
        if not found:
            raise nothing_held(refused=self.refuses(who))
        return found

    def _held(self, who: Id, model: str | None) -> dict[str, Held] | None:
        """The same; None if the lock is not free and no write is under way."""
        self._disk.refuse_forked()
        if self._writer.lock.acquire(timeout=PATIENCE):
            try:
                with self._committed():
                    return self._held_by(who, model)
            finally:
                self._writer.lock.release()
        with self._writer.condition.under_way() as writes:
            self._refuse_closed()
            return self._held_by(who, model) if writes else None

    def _held_by(self, who: Id, model: str | None) -> dict[str, Held]:
        return {m.definition.name: m.held(who) for m in self._chosen(model) if m.owns(who)}

    def refuses(self, owner: AnyId) -> bool:
        """Whether a person was forgotten for ever: then no row of them is learned."""
        self._disk.refuse_forked()
        self._refuse_closed()
        return self._disk.refused.refuses([as_id(owner, "owner")])

    def audit(
        self,
        forgotten: AnyId | Iterable[AnyId] = (),
        *,
        forgotten_owners: AnyId | Iterable[AnyId] = (),
        model: str | None = None,
    ) -> dict[str, Audit]:
        """Check models against fresh ones, all or one, and that only slots of rows hold keys."""
        ids, owners = some_ids(forgotten), some_ids(forgotten_owners, "owner")
        with self._committed():
            self._writer.settle()
            numbers = [seq for stored in self._models.values() for seq in stored.seqs.values()]
            with failures("keys"):
                occupied = self._disk.occupied()
            if not np.array_equal(np.sort(np.array(numbers, dtype=np.int64)), occupied):
                raise DamagedStore("'keys' are not those of the live rows: open the store again.")
            if strange := self._disk.strange_names():
                text = f"'{strange[0]}' lies with the keys: expected no hidden or unknown file"
                raise DamagedStore(f"{text}; opening the store again removes it.")
            return {m.definition.name: m.audit(ids, owners) for m in self._chosen(model)}

    def status(self) -> dict[str, Any]:
        """Counts, and the head of the chain of receipts."""
        with self._working():
            counts = {name: len(stored) for name, stored in self._models.items()}
            due = {stored.definition.name: len(ids) for stored, ids in self._due(None)}
            return {
                "models": counts,
                "rows": sum(counts.values()),
                "overdue": due,
                **self._disk.status(),
            }

    def state(self) -> StoreState:
        """Whether the store can write; this never waits for the disk."""
        if self._closed:
            raise StoreStopped(f"'{self.path}' is closed: open the store again.")
        return self._writer.condition.state(self._writer.failure)

    def receipts(self) -> list[Receipt]:
        """All receipts, oldest first."""
        with self._working():
            return self._disk.chain.receipts()

    # -- copies and keys -------------------------------------------------------------------------

    def backup(self, path: str | os.PathLike[str], *, keys: bool = False) -> None:
        """Write a copy of the store to a new folder: of the rows, or with ``keys`` of everything.

        A copy without keys is ciphertext; ``restore`` needs the keys of the store to use it. A copy
        with keys can be read, also for rows that are forgotten later: keep it for days, not years.
        Other threads learn, predict and forget meanwhile; the copy is of one moment near its end.
        """
        self._disk.refuse_forked()
        place = Path(path)
        with self._copying, failures(str(path)):
            write_backup(self._disk, place, self._boundary, self._refuse_closing, keys=keys)

    @contextmanager
    def _boundary(self) -> Iterator[None]:
        """A moment between two commits, at which only live rows have keys."""
        with self._committed():
            self._writer.finish()
            yield

    def _refuse_closing(self) -> None:
        if self._closing:
            raise StoreStopped(f"'{self.path}' is being closed: the copy was given up.")

    def rotate(self, master_key: bytes | None) -> None:
        """Wrap the keys of rows by another master key, or by none.

        Once the old master key is destroyed, older copies of the keys cannot be read.
        """
        master = MasterKey(master_key)
        with self._committed(), self._writer.or_stop():
            self._writer.settle()
            with failures(str(self.path)):
                rotate(self._disk, master)

    def rotate_signing_key(self) -> Receipt:
        """Sign receipts by a new key; return the record of the change, signed by both keys.

        Publish the record and the new public key: receipts of the old key verify with them.
        """
        with self._committed(), self._writer.or_stop(), failures(str(self.path)):
            record = self._disk.change_signing_key()
            self._writer.finish()
            return record

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Destroy the keys that wait for it, and let another process own the store."""
        if self._disk.foreign:
            return
        self._closing = True
        self._writer.shredder.stop()
        with self._copying, self._writer.lock:
            if self._closed:
                return
            try:
                if self._writer.failure is None:
                    self._queue.commit()
                    self._writer.finish()
            finally:
                self._closed = True
                self._writer.models.clear()
                self._disk.close()

    # -- inside ----------------------------------------------------------------------------------

    @property
    def _models(self) -> dict[str, StoredModel]:
        return self._writer.models

    def _chosen(self, model: str | None) -> list[StoredModel]:
        return list(self._models.values()) if model is None else [find_model(self._models, model)]

    @contextmanager
    def _working(self) -> Iterator[None]:
        """The store is open and belongs to this process and thread."""
        self._disk.refuse_forked()
        with self._writer.lock:
            self._refuse_closed()
            yield

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreStopped(f"'{self.path}' is closed: open the store again.")
        self._writer.refuse_stopped()

    @contextmanager
    def _committed(self) -> Iterator[None]:
        """The same, and all rows that waited are in."""
        with self._working():
            self._queue.commit()
            self._writer.refuse_stopped()
            yield


def nothing_held(*, refused: bool) -> UnknownOwner:
    """The error for an access request of a person without rows."""
    more = "; they were forgotten for ever: all later rows of them are refused" if refused else ""
    return UnknownOwner(f"'owner' has no live row: nothing is held about them{more}.")


def _drawn(secret: bytes | None) -> bytes:
    """The secret of a request, which is drawn if none is given."""
    if secret is not None and len(secret) != SECRET:
        size = f"{len(secret)} bytes"
        raise invalid("secret", size, f"{SECRET} bytes", f"draw os.urandom({SECRET})")
    return os.urandom(SECRET) if secret is None else secret
