"""The one writer of a store: makes planned changes durable, then applies them to the models.

A change is a list of steps. If the commit of a transaction fails cleanly nothing has changed, and
the change can be tried again. After any other failure the writer stops: it is unknown what is on
the disk, and only opening the store again tells.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from efface.errors import StorageFailure, StorageFull, StoreError, StoreStopped, UnclearCommit
from efface.inputs.ids import Id, RequestedRows
from efface.store.condition import Condition
from efface.store.disk import StoreDisk, notes_in, timestamp
from efface.store.durable_files import failures
from efface.store.key_pool import KeyPool, TakenKeys
from efface.store.key_segments import SLOT, SLOTS
from efface.store.notes import Note
from efface.store.opening import read_models
from efface.store.receipts import Receipt, removal_subject, state_digest, subject
from efface.store.records import MODELS, NUMBERS
from efface.store.row_cipher import NONCE, EncryptedRows
from efface.store.row_format import encode
from efface.store.shredding import Shredder
from efface.store.steps import (
    Step,
    Transaction,
    clear_steps,
    forget_steps,
    learn_steps,
    leave_steps,
    recovery_steps,
    shred_steps,
)
from efface.store.stored_models import PlannedRows, StoredModel

Leaving = Sequence[tuple[StoredModel, Sequence[Id]]]


@final
class Writer:
    """Owns the disk and the models of an open store. Callers hold ``lock``."""

    def __init__(self, disk: StoreDisk) -> None:
        self.disk, self.lock = disk, threading.RLock()
        self.failure: BaseException | None = None  # why it stopped
        self.condition = Condition()
        self._pool = KeyPool()
        self._finished: list[str] = []  # the names of notes that a next transaction removes
        self.models = self._recover()
        self.shredder = Shredder(self._shred_in_time)

    def __repr__(self) -> str:
        return f"Writer({len(self.models)} models)"

    def _recover(self) -> dict[str, StoredModel]:
        """Rebuild the models from the rows, then finish what a crash left unfinished."""
        disk, contents = self.disk, self.disk.contents()
        models, rows = read_models(disk, contents)
        notes = notes_in(contents)
        steps = recovery_steps(disk.found(rows, notes))
        disk.settle_folders()  # the keys are those of the rows
        for note in notes:
            disk.left.enter(note.left)
        self._run([lambda disk: disk.end_days(int(time.time())), *steps])
        self._finished = [note.name for note in notes]
        self._highest = int(contents.get(NUMBERS, 0))
        if notes:
            self._commit(self._change())
        used = set((rows // SLOTS).tolist())
        disk.remove_empty(used | {disk.state.next_seq // SLOTS})
        return models

    # -- changes ---------------------------------------------------------------------------------

    @property
    def next_number(self) -> int:
        """The number of the next model: one that no model ever had."""
        return 1 + max(self._highest, *(m.definition.number for m in self.models.values()), 0)

    def define(self, stored: StoredModel) -> None:
        """Add a model without rows."""
        self._commit(self._change(puts={MODELS: _plain((*self.models.values(), stored))}))
        self.models[stored.definition.name] = stored

    def remove(self, stored: StoredModel, secret: bytes) -> Receipt:
        """Remove a model with all its rows, destroy their keys, and sign a receipt."""
        disk, about = self.disk, stored.definition
        seqs, others = list(stored.seqs.values()), [m for m in self.models.values() if m != stored]
        what = {"counts": {about.name: len(seqs)}, "removed": about.name}
        note = Note.of(seqs, subject=removal_subject(secret, about.name), time=timestamp(), **what)
        phases = {k: each for k, each in (disk.state.phases or {}).items() if k != about.number}
        highest = self.next_number - 1

        def removed() -> None:
            with self.condition.lock:
                del self.models[about.name]
            self._highest, disk.digest = highest, state_digest(secret, [])

        self._reserve("receipts", disk.chain.reserve)
        with self._shredding() as waiting:
            puts = {MODELS: _plain(others), NUMBERS: highest}
            change = self._change(
                note=note, puts=puts, drops=stored.record_names(), deletes=seqs, phases=phases
            )
            self._run(forget_steps(change, note, waiting, removed), change)
        self._finished.append(note.name)
        assert disk.last_receipt is not None
        return disk.last_receipt

    def learn(self, plans: Sequence[PlannedRows]) -> None:
        """Make planned rows durable, then let the models learn them."""
        disk, first = self.disk, self.disk.state.next_seq
        self._run([lambda disk: disk.end_days(int(time.time()))])
        leaving = [(plan.stored, plan.left) for plan in plans if plan.left]
        passing = [(plan.stored, ids) for plan in plans if (ids := plan.passing())]
        total = sum(plan.entries for plan in plans)
        note = None
        if total or leaving or passing:
            if room := self._pool.room(total):
                self._reserve("keys", lambda: disk.reserve(room))
            note = self._note(leaving, passing) if leaving or passing else None
            with self._taken_keys(total) as taken, self._shredding() as waiting:
                change = self._change(
                    inserts=self._encrypted(plans, taken.keys),
                    leaving=leaving,
                    note=note,
                    puts={name: each for plan in plans for name, each in plan.records.items()},
                    next_seq=first + total,
                    phases=self._phases(plans),
                )
                self._run(learn_steps(taken, change, waiting, disk.state.version), change)
        with self.or_stop():
            for plan in plans:
                plan.stored.learn(plan, first)
                first += plan.entries
        if note is not None:
            self.shredder.add(note)

    def forget(
        self, wanted: RequestedRows, models: Sequence[StoredModel], secret: bytes, *, forever: bool
    ) -> Receipt:
        """Forget the rows that a request names, and sign a receipt.

        A request that was made before under the same secret, and has nothing left to do, gets the
        same receipt.
        """
        disk, about = self.disk, subject(secret, wanted.ids, wanted.owners)
        found = [(stored, stored.named(wanted.ids, wanted.owners)) for stored in models]
        leaving = [(stored, ids) for stored, ids in found if ids]
        refused = tuple(map(disk.refused.hash, wanted.owners)) if forever else ()
        known = disk.chain.find(about)
        if known is not None and not leaving and disk.refused.has(refused):
            return known
        counts = {stored.definition.name: len(ids) for stored, ids in leaving}
        note = self._note(leaving, counts=counts, subject=about, refused=refused, time=timestamp())
        self._reserve("receipts", disk.chain.reserve)
        with self._shredding() as waiting:
            change = self._change(leaving=leaving, note=note, puts=_records(leaving))
            steps = forget_steps(change, note, waiting, lambda: self._forgotten(leaving, secret))
            self._run(steps, change)
        self._finished.append(note.name)
        assert disk.last_receipt is not None
        return disk.last_receipt

    def _forgotten(self, leaving: Leaving, secret: bytes) -> None:
        """Rows leave the models; the receipt has the digest of the state after."""
        touched = [stored.touched(ids) for stored, ids in leaving]
        self._apply(leaving)
        parts = [m.digest_part(keys) for (m, _), keys in zip(leaving, touched, strict=True)]
        self.disk.digest = state_digest(secret, parts)

    def _apply(self, leaving: Leaving) -> None:
        with self.condition.lock:  # another thread may look at the models while a write hangs
            for stored, ids in leaving:
                stored.forget(ids)

    def let_go(self, leaving: Leaving) -> None:
        """Rows leave by themselves, and their keys are destroyed."""
        self._run([lambda disk: disk.end_days(int(time.time()))])
        if leaving:
            note = self._note(leaving)
            change = self._change(leaving=leaving, note=note, puts=_records(leaving))
            self._run(leave_steps(change, [note], lambda: self._apply(leaving)), change)
            self._finished.append(note.name)

    def shred(self) -> None:
        """Destroy the keys of rows that left by themselves."""
        with self._shredding() as waiting:
            self._run(shred_steps(waiting))

    def settle(self) -> None:
        """Destroy the keys of all rows that left, and those that were drawn ahead."""
        self._drop_pool()
        self.shred()

    def _drop_pool(self) -> None:
        next_seq = self.disk.state.next_seq
        self._run(clear_steps(self._pool.slots(next_seq)))
        self._pool.drop(next_seq)

    def _shred_in_time(self) -> None:
        """Called by the thread of the shredder. A failure stops the writer, which then says so."""
        with self.lock:
            if self.failure is None:
                try:
                    self.shred()
                except StoreError as error:
                    self.failure = error

    def finish(self) -> None:
        """Destroy all keys that are not of live rows, and remove the notes that are finished."""
        self.settle()
        if self._finished or self.disk.chain.count != self.disk.state.receipts:
            self._commit(self._change())

    def refuse_stopped(self) -> None:
        """Raise if the writer stopped."""
        if self.failure is not None:
            text = f"'{self.disk.folder}' stopped after a failure"
            raise StoreStopped(f"{text}: open the store again.") from self.failure

    # -- parts of a change -----------------------------------------------------------------------

    def _note(self, leaving: Leaving, passing: Leaving = (), **about: Any) -> Note:
        """A note about rows that leave, and about ids of rows that never entered."""
        ids = [(stored.definition.number, found) for stored, found in (*leaving, *passing)]
        self.condition.began()
        try:
            with failures("keys"):
                left = self.disk.left.hidden(ids, int(time.time())) if ids else None
        finally:
            self.condition.given_up()
        return Note.of(_numbers(leaving), left=left, **about)

    def _encrypted(self, plans: Sequence[PlannedRows], keys: bytes) -> list[EncryptedRows]:
        rows, at = list[EncryptedRows](), 0
        for plan in plans:
            first, last = at, at + plan.entries
            if first < last:
                nonces, texts = os.urandom(NONCE * plan.entries), encode(plan.entering())
                place = plan.stored.definition.number, self.disk.state.next_seq + first
                mine = keys[SLOT * first : SLOT * last]
                rows.append(self.disk.cipher.encrypt(*place, mine, nonces, texts))
            at = last
        return rows

    def _phases(self, plans: Sequence[PlannedRows]) -> dict[int, int]:
        phases = dict(self.disk.state.phases or {})
        for plan in plans:
            phases[plan.stored.definition.number] = plan.phase
        return {number: phase for number, phase in phases.items() if phase}

    def _change(
        self,
        *,
        inserts: Sequence[EncryptedRows] = (),
        leaving: Leaving = (),
        note: Note | None = None,
        puts: dict[str, Any] | None = None,
        drops: Sequence[str] = (),
        deletes: Sequence[int] = (),
        **state: Any,
    ) -> Transaction:
        """A transaction: the next state, rows that come and leave, and records."""
        disk, chain = self.disk, self.disk.chain
        known = {"receipts": chain.count, "chain": chain.digest, "refused": len(disk.refused)}
        records, gone = dict(puts or {}), [*drops, *self._finished]
        alone = bool(inserts) and not (leaving or note or records or gone)
        after = disk.state.after(rows_alone=alone, **known, **state)
        if note is not None:
            records[note.name] = note.to_plain()
        return Transaction(after, inserts, [*deletes, *_numbers(leaving)], records, gone)

    # -- failures --------------------------------------------------------------------------------

    def _commit(self, change: Transaction) -> None:
        self._run([lambda disk: disk.commit(change)], change)

    def _run(self, steps: Sequence[Step], change: Transaction | None = None) -> None:
        """Run steps; the notes that their transaction removes are gone then."""
        self.condition.began()
        for step in steps:
            try:
                step(self.disk)
            except StorageFull:
                self.condition.ended("the disk is full")
                raise
            except UnclearCommit as error:
                self.failure = error
                raise
            except StorageFailure:  # of a commit: nothing was changed
                self.condition.given_up()
                raise
            except OSError as error:
                text = f"'{self.disk.folder}' failed: {error.strerror or type(error).__name__}"
                advice = "nothing was acknowledged; repair the disk, then open the store again"
                self.failure = StorageFailure(f"{text}; {advice}.")
                raise self.failure from error
            except BaseException as error:
                self.failure = error
                raise
        if change is None:
            self.condition.given_up()
        else:
            self.condition.ended()
            gone = set(change.drops)
            self._finished = [name for name in self._finished if name not in gone]

    def _reserve(self, what: str, take: Callable[[], None]) -> None:
        """Take space before anything changes; a full disk refuses it."""
        self.condition.began()
        try:
            with failures(what):
                take()
        except StorageFull:
            self.condition.ended("the disk is full")
            raise
        finally:
            self.condition.given_up()

    @contextmanager
    def _taken_keys(self, count: int) -> Iterator[TakenKeys]:
        """The keys of rows that are committed inside."""
        taken = self._pool.take(self.disk.state.next_seq, count)
        try:
            yield taken
        except StorageFailure:
            if self.failure is None:  # nothing was committed: what these keys encrypt is gone
                self._drop_pool()
            raise
        self._pool.keep(taken)

    @contextmanager
    def _shredding(self) -> Iterator[list[Note]]:
        """The notes whose slots wait for their destruction, which happens inside."""
        waiting = self.shredder.take()
        try:
            yield waiting
        except BaseException:
            self.shredder.put_back(waiting)
            raise
        self._finished += [note.name for note in waiting]

    @contextmanager
    def or_stop(self) -> Iterator[None]:
        """What follows a commit must not fail; if it does, the store must be opened again."""
        try:
            yield
        except BaseException as error:
            self.failure = error
            raise


def _plain(models: Iterable[StoredModel]) -> list[Any]:
    return [each.definition.to_plain() for each in models]


def _numbers(leaving: Leaving) -> list[int]:
    return [stored.seqs[id] for stored, ids in leaving for id in ids]


def _records(leaving: Leaving) -> dict[str, Any]:
    return {name: each for m, ids in leaving for name, each in m.records(ids).items()}
