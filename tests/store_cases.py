"""Stores for tests: rows with planted names and values, copies of folders, a search for bytes."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np

from efface import AddDrop, Ridge
from efface.batch.fleet_content import fleet_snapshot
from efface.live import fleet_file
from efface.live.snapshot import same
from efface.store import Store
from efface.store.opening import without_rows
from efface.store.stored_models import Definition

WIDTH = 3
KEYED = "shops"  # the name of a model with one model per shop
NAMES = ["temp", "hum", "wind"]


def data(count, seed=0, width=WIDTH):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, width))
    return X, X.sum(axis=1) + rng.normal(size=count)


def filled(folder, count=40, *, model=None, owners=8, keyed=False, **options):
    """An open store with rows 0, 1, ... of the owners "person 0", "person 1", ... in turn.

    If ``keyed`` there is one model for each of three shops, to which rows come in turn.
    """
    store = Store(folder, **options)
    store.add("demand", model or Ridge(), features=NAMES, keyed=keyed)
    X, y = data(count)
    about = {"owners": [f"person {k % owners}" for k in range(count)]}
    about |= {"keys": [f"shop {k % 3}" for k in range(count)]} if keyed else {}
    store.learn("demand", X, y, ids=[f"order-{k}" for k in range(count)], **about)
    return store


def files(folder):
    """The content of every file under a folder, by its path."""
    paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def traces(folder, needles):
    """Which of some bytes are in which file."""
    zeros = bytes(64)  # most of a segment, in which nothing is found
    content = {
        name: zeros.join(filter(None, text.split(zeros))) for name, text in files(folder).items()
    }
    return [
        (name, needle) for name, text in content.items() for needle in needles if needle in text
    ]


def row_needles(X, y, ids, owners):
    """What a file could hold of rows: float64 values in both byte orders, and names."""
    numbers = [*np.ravel(X).tolist(), *np.ravel(y).tolist()]
    floats = [struct.pack(order + "d", number) for number in numbers for order in "<>"]
    return [*floats, *(str(name).encode() for name in (*ids, *owners))]


def copied(folder, target):
    """A copy of a store as it lies on the disk, also of one that is open."""
    shutil.copytree(folder, target)
    return target


def slots(folder):
    """The 32-byte slots that hold a key, by sequence number; keys must not be wrapped."""
    found = {}
    for path in sorted((Path(folder) / "keys").glob("*.bin")):
        segment, content = int(path.stem.partition("-")[2]), path.read_bytes()
        words = np.frombuffer(content, np.uint64, count=65_536 * 4).reshape(65_536, 4)
        for slot in np.flatnonzero(words.any(axis=1)).tolist():
            found[65_536 * segment + slot] = content[32 * slot : 32 * slot + 32]
    return found


def slots_of_rows(store):
    """The same of an open store, without the keys that are drawn ahead."""
    return {seq: key for seq, key in slots(store.path).items() if seq < store._disk.state.next_seq}


def counted(store):
    """A list that gets an entry for every transaction of an open store from now on."""
    database, commits = store._disk.database, []
    apply = database.apply
    database.apply = lambda *change: (commits.append(change), apply(*change))
    return commits


def content(fleet):
    """The bytes of the file of a fleet: rows and phases of all keys."""
    snapshot = fleet_snapshot(fleet._model, fleet.keyed_models.rows)
    return b"".join(fleet_file.encode(snapshot))


class Twins:
    """The library's models of a store with the models "demand" and ``KEYED``."""

    def __init__(self, window, width, counting=None):
        self.single = Ridge(window=window)
        self.counting = counting or Ridge(window=AddDrop(7, 4, 9))
        self.width, self.model = width, self.single.empty(width)
        made = Definition.of(2, KEYED, self.counting, width, keyed=True)
        self.fleet = without_rows(made).fleet

    def add_to(self, store):
        store.add("demand", self.single, features=self.width)
        store.add(KEYED, self.counting, features=self.width, keyed=True)

    def learn(self, name, X, y, **about):
        (self.fleet.learn if name == KEYED else self.model.partial_fit)(X=X, y=y, **about)

    def forget(self, *, forever=False, **about):
        for model in (self.model, self.fleet):
            model.forget(**about)

    def expire(self, now):
        self.model.expire(now)
        self.fleet.expire(now)

    def equal(self, store):
        """Whether the store has the same live rows, to the last bit, in the same order."""
        models = store._models
        return content(self.fleet) == content(models[KEYED].fleet) and same(
            self.model._snapshot(), models["demand"].model._snapshot()
        )
