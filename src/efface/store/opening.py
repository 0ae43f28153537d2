"""Opening a store: decrypt its rows and rebuild its models from them; nothing changes."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedStore
from efface.store.disk import StoreDisk
from efface.store.key_segments import SLOTS
from efface.store.records import MODELS
from efface.store.row_cipher import Body
from efface.store.row_format import decode
from efface.store.single_model import SingleModel
from efface.store.stored_fleet import PHASES, StoredFleet
from efface.store.stored_models import Definition, StoredModel
from efface.store.stored_rows import StoredRows


def read_models(
    disk: StoreDisk, contents: dict[str, Any]
) -> tuple[dict[str, StoredModel], NDArray[np.int64]]:
    """The models of a store, by name, and the sequence numbers of all rows."""
    definitions = [Definition.from_plain(plain) for plain in contents[MODELS]]
    texts: dict[int, list[bytes]] = {each.number: [] for each in definitions}
    seqs: dict[int, list[int]] = {each.number: [] for each in definitions}
    with _without_collector():
        for rows, plain in _decrypted(disk):
            _sort(rows, plain, texts, seqs)
        found = {
            each.name: _rebuilt(disk, each, texts.pop(each.number), seqs[each.number], contents)
            for each in definitions
        }
    numbers = [np.array(each, dtype=np.int64) for each in seqs.values()]
    return found, np.sort(np.concatenate([np.zeros(0, np.int64), *numbers]))


def _sort(
    rows: Sequence[Body],
    plain: Sequence[bytes],
    texts: dict[int, list[bytes]],
    seqs: dict[int, list[int]],
) -> None:
    """Add rows to those of their models."""
    numbers = {model for _, model, _ in rows}
    for number in numbers:
        if number not in texts:
            raise DamagedStore(f"'rows' has rows of model {number}, which is not there.")
        if len(numbers) == 1:
            texts[number] += plain
            seqs[number] += [seq for seq, _, _ in rows]
        else:
            mine = [at for at, row in enumerate(rows) if row[1] == number]
            texts[number] += [plain[at] for at in mine]
            seqs[number] += [rows[at][0] for at in mine]


def _rebuilt(
    disk: StoreDisk,
    definition: Definition,
    texts: list[bytes],
    seqs: list[int],
    contents: dict[str, Any],
) -> StoredModel:
    number, rows = definition.number, decode(texts, definition.width)
    if not definition.keyed:
        return SingleModel(definition, rows, seqs, disk.state.phase(number))
    return StoredFleet(definition, rows, seqs, contents.get(f"{PHASES}{number}", ()))


def without_rows(definition: Definition) -> StoredModel:
    """A model that has no row yet."""
    kind = StoredFleet if definition.keyed else SingleModel
    return kind(definition, StoredRows.none(definition.width), [])


def _decrypted(disk: StoreDisk) -> Iterator[tuple[list[Body], list[bytes]]]:
    """The rows of each key segment, and their plaintexts; one without a key is refused."""
    segment, rows = -1, list[Body]()
    for row in disk.database.rows():
        if row[0] // SLOTS != segment:
            yield rows, _opened(disk, rows, segment)
            segment, rows = row[0] // SLOTS, []
        rows.append(row)
    yield rows, _opened(disk, rows, segment)


def _opened(disk: StoreDisk, rows: list[Body], segment: int) -> list[bytes]:
    keys = disk.keys.read(segment) if segment in disk.keys.segments else b""
    found = disk.cipher.decrypt_all(rows, keys, segment * SLOTS)
    plain = [text for text in found if text is not None]
    lost = len(found) - len(plain)
    if lost:
        finding = f"'rows' has {lost:,} rows in key segment {segment} that do not decrypt"
        advice = "the database, the keys or a file is an older copy or damaged"
        raise DamagedStore(
            f"{finding}: {advice}; put the right ones in place, or run 'efface store restore'."
        )
    return plain


@contextmanager
def _without_collector() -> Iterator[None]:
    """Rows are millions of small objects without cycles: the collector would only walk them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
