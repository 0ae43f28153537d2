"""A process whose system calls fail on request: runs a script of calls on a store, and checks it.

Every sync, write and rename of the script fails in turn, and all that follow it. The store must say
so, acknowledge nothing that is not there, and be whole when it is opened again.
"""

from __future__ import annotations

import ctypes
import errno
import shutil
import sys
from pathlib import Path

import numpy as np
from store_cases import KEYED, Twins, data, slots

from efface import AddDrop, Ridge
from efface.errors import EffaceError, StoreError
from efface.store import Store
from efface.store.receipts import verify_chain

FAULTS = {"sync": 0, "write": 1, "rename": 2}


def calls():
    """What is done to a store and to its twin."""
    rows = [
        (*data(count, seed=count), [f"{count}-{k}" for k in range(count)]) for count in (4, 3, 5)
    ]
    for X, y, ids in rows:
        people = [f"{len(ids)} p{k % 3}" for k in range(len(ids))]
        about, person = {"ids": ids, "owners": people}, {"owner": people[1], "missing": "ok"}
        keys = [f"shop {k % 2}" for k in range(len(ids))]
        models = (("demand", {}), (KEYED, {"keys": keys}))
        for name, more in models if len(ids) == 5 else models[:1]:
            yield lambda each, X=X, y=y, name=name, about={**about, **more}: each.learn(
                name, X, y, **about
            )
        yield lambda each, person=person: each.forget(**person, forever=True)


def prepared(store, twins):
    """Both models have rows."""
    X, y = data(5, seed=99)
    about = {"ids": list(range(5)), "owners": ["p0", "p1", "p2", "p0", "p1"]}
    for each in (store, twins):
        each.learn("demand", X, y, **about)
        each.learn(KEYED, X, y, **about, keys=["shop 0"] * 5)


def prepare(folder, window):
    twins = both(window)
    with Store(folder) as store:
        twins.add_to(store)
        prepared(store, twins)


def both(window):
    return Twins(window, 3, Ridge(window=AddDrop(2, 1)))


def attempt(faults, folder, window, kind, after, code):
    """Whether the script went through before call number ``after`` of a kind failed."""
    twins, pending = both(window), None
    prepared(both(window), twins)
    armed = [-1, -1, -1]
    armed[FAULTS[kind]] = after
    faults.arm(*armed, code)
    failed = True
    try:
        with Store(folder) as store:
            for call in calls():
                pending = call
                call(store)
                call(twins)
                pending = None
        failed = False
    except StoreError:
        pass
    faults.arm(-1, -1, -1, 0)
    with Store(folder) as store:
        if not twins.equal(store):
            assert pending is not None, "an acknowledged call is lost"
            pending(twins)
        assert twins.equal(store)
        assert store.status()["rows"] == len(slots(folder))
        receipts = store.receipts()
        assert verify_chain(receipts) == len(receipts)
        assert all(audit.holds for audit in store.audit().values())
        try:
            store.learn("demand", np.ones((1, 3)), [1.0], ids=["after"])
        except EffaceError as error:
            raise AssertionError("the store does not go on") from error
    return not failed


QUICK = {"sync": (errno.EIO,), "write": (errno.ENOSPC,), "rename": (errno.EIO,)}
FULL = dict.fromkeys(FAULTS, (errno.EIO, errno.ENOSPC))


def main(library, folder, extent):
    faults, folder = ctypes.CDLL(library), Path(folder)
    for window in (6,) if extent == "quick" else (None, 6):
        template = folder / f"template {window}"
        prepare(template, window)
        for kind, codes in (QUICK if extent == "quick" else FULL).items():
            for code in codes:
                print(kind, attempts(faults, folder / "store", template, window, kind, code))


def attempts(faults, place, template, window, kind, code):
    """Let the first call fail, the second, ... until none does; return how many there are."""
    after = 0
    while True:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)
        if attempt(faults, place, window, kind, after, code):
            return after
        after += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
