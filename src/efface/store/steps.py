"""The order of writes: what a change does to the disk, as a list of steps, and what open finishes.

Learn: keys are written and synced, unless they were drawn ahead; then rows are committed. Forget:
one transaction deletes rows and writes a note; then keys are overwritten and synced, the models
forget, and the receipt is synced. The note is removed by a later transaction. Rows that leave by
themselves leave in the transaction that makes them leave; their keys are overwritten soon after. A
crash between two steps is finished by ``recovery_steps``.

A step acts on a ``Disk``. The store's disk is ``efface.store.disk``; the tests have a simulated one
that crashes between steps and loses what was not synced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedStore
from efface.store.key_pool import TakenKeys
from efface.store.key_segments import SLOTS
from efface.store.left_ids import Left
from efface.store.notes import Note
from efface.store.records import State
from efface.store.row_cipher import EncryptedRows

MOST_ROWS = 1 << 20  # of one request
MOST_KEYS = MOST_ROWS + SLOTS  # of one group of requests: what a crash can leave without rows


@dataclass(frozen=True)
class Transaction:
    """One transaction: rows that come and go, records that are written and removed."""

    state: State
    inserts: Sequence[EncryptedRows] = ()
    deletes: Sequence[int] = ()
    puts: Mapping[str, Any] = field(default_factory=dict)
    drops: Sequence[str] = ()


class Disk(Protocol):
    """What steps act on. An exception of a method means that it is unknown what was done."""

    def write_keys(self, first: int, keys: bytes, started: int) -> None: ...

    def zero_keys(self, seqs: Iterable[int]) -> None: ...

    def write_left(self, lefts: Sequence[Left | None]) -> None: ...

    def end_days(self, now: int) -> None: ...

    def sync_keys(self) -> None: ...

    def commit(self, change: Transaction) -> None: ...

    def log_destroyed(self, seqs: Iterable[int]) -> None: ...

    def refuse_owners(self, hashes: Sequence[str]) -> None: ...

    def sign_receipt(self, note: Note) -> None: ...


Step = Callable[[Disk], None]


def learn_steps(
    taken: TakenKeys, change: Transaction, waiting: Sequence[Note], started: int
) -> list[Step]:
    """Rows become durable; ``waiting`` notes of rows that left before are followed on the way."""
    seqs, steps = _seqs(waiting), list[Step]()
    if waiting:
        steps += _erase_steps(waiting)
    if taken.unwritten:
        steps.append(lambda disk: disk.write_keys(taken.first, taken.unwritten, started))
    if waiting or taken.unwritten:
        steps.append(lambda disk: disk.sync_keys())
    if waiting:
        steps.append(lambda disk: disk.log_destroyed(seqs))
    return [*steps, lambda disk: disk.commit(change)]


def leave_steps(
    change: Transaction, notes: Sequence[Note], apply: Callable[[], None]
) -> list[Step]:
    """Rows leave at once; ``apply`` lets the models follow."""
    return [lambda disk: disk.commit(change), *shred_steps(notes), lambda disk: apply()]


def forget_steps(
    change: Transaction, note: Note, waiting: Sequence[Note], apply: Callable[[], None]
) -> list[Step]:
    """Rows leave on request, with a receipt."""
    steps = leave_steps(change, [note, *waiting], apply)
    return [*steps, *_receipt_steps(note)]


def shred_steps(notes: Sequence[Note]) -> list[Step]:
    """Keys are destroyed, also those whose slots are zero: that may not be on the disk.

    The ids that left are written with the zeros, by the same sync.
    """
    if not any(note.runs or note.left for note in notes):
        return []
    seqs = _seqs(notes)
    return [
        *_erase_steps(notes),
        lambda disk: disk.sync_keys(),
        lambda disk: disk.log_destroyed(seqs),
    ]


def _erase_steps(notes: Sequence[Note]) -> list[Step]:
    seqs, lefts = _seqs(notes), [note.left for note in notes]
    return [lambda disk: disk.zero_keys(seqs), lambda disk: disk.write_left(lefts)]


def _seqs(notes: Sequence[Note]) -> list[int]:
    return [seq for note in notes for seq in note.seqs]


def clear_steps(slots: Sequence[int]) -> list[Step]:
    """Keys of no row are destroyed; their numbers are not logged, since rows will have them."""
    if not slots:
        return []
    return [lambda disk: disk.zero_keys(slots), lambda disk: disk.sync_keys()]


def _receipt_steps(note: Note) -> list[Step]:
    steps: list[Step] = []
    if note.refused:
        steps.append(lambda disk: disk.refuse_owners(note.refused))
    return [*steps, lambda disk: disk.sign_receipt(note)]


# -- what open finds and finishes ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """What is on the disk when a store is opened, after a first synced transaction."""

    next_seq: int
    rows: NDArray[np.int64]  # sequence numbers of rows, sorted
    occupied: NDArray[np.int64]  # sequence numbers whose slots hold a key, sorted
    notes: Sequence[Note]
    receipts: frozenset[str]  # the notes that have a receipt


def orphans(found: Found) -> list[int]:
    """The slots of keys that were drawn ahead, or of a batch that was never committed.

    Any other disagreement is refused.
    """
    noted = np.array([seq for note in found.notes for seq in note.seqs], dtype=np.int64)
    known = int(np.searchsorted(found.occupied, found.next_seq))
    new = found.occupied[known:]
    if not noted.size and np.array_equal(found.rows, found.occupied[:known]) and _few(new):
        return _numbers(new)  # the frequent case, in a fraction of the time
    lost = np.setdiff1d(found.rows, found.occupied, assume_unique=True)
    alone = np.setdiff1d(found.occupied, found.rows, assume_unique=True)
    alone = np.setdiff1d(alone, noted)
    new = alone[alone >= found.next_seq]
    both = np.intersect1d(noted, found.rows)
    late = int((found.rows >= found.next_seq).sum())
    if lost.size or new.size < alone.size or not _few(new) or both.size or late:
        excused = new.size if _few(new) else 0
        raise _disagree(lost.size, alone.size - excused, both.size + late)
    return _numbers(new)


def _few(new: NDArray[np.int64]) -> bool:
    return new.size <= MOST_KEYS


def _numbers(slots: NDArray[np.int64]) -> list[int]:
    numbers: list[int] = slots.tolist()
    return numbers


def _disagree(rows: int, keys: int, others: int) -> DamagedStore:
    text = f"'rows' and 'keys' disagree: {rows:,} rows have no key and {keys:,} keys have no row"
    text += f", {others:,} rows are there that had left" if others else ""
    advice = "the database or the keys are older copies; put the right ones in place"
    return DamagedStore(
        f"{text}: {advice}, or run 'efface store restore', which shows what is lost."
    )


def recovery_steps(found: Found) -> list[Step]:
    """Finish what notes say, and destroy the keys of rows that were never committed."""
    sync: list[Step] = [lambda disk: disk.sync_keys()]  # zeros that a killed process wrote
    steps = [*clear_steps(orphans(found)), *shred_steps(found.notes)] or sync
    for note in found.notes:
        if note.requested and note.id not in found.receipts:
            steps += _receipt_steps(note)
        elif note.refused:
            steps.append(lambda disk, note=note: disk.refuse_owners(note.refused))  # type: ignore[misc]
    return steps
