"""Stores for tests: rows with planted names and values, copies of folders, a search for bytes."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np

from efface import Ridge
from efface.store import Store

WIDTH = 3
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
    content = files(folder)
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
