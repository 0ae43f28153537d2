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
from store_cases import data, slots

from efface import Ridge
from efface.errors import EffaceError, StoreError
from efface.live.snapshot import same
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
        yield (
            lambda store, X=X, y=y, about=about: store.learn("demand", X, y, **about),
            lambda twin, X=X, y=y, about=about: twin.partial_fit(X, y, **about),
        )
        yield (
            lambda store, person=person: store.forget(**person, forever=True),
            lambda twin, person=person: twin.forget(**person),
        )


def prepare(folder, window):
    with Store(folder) as store:
        store.add("demand", Ridge(window=window), features=3)
        X, y = data(5, seed=99)
        store.learn("demand", X, y, ids=list(range(5)), owners=["p0", "p1", "p2", "p0", "p1"])


def attempt(faults, folder, window, kind, after, code):
    """Whether the script went through before call number ``after`` of a kind failed."""
    twin, pending = Ridge(window=window).empty(3), None
    X, y = data(5, seed=99)
    twin.partial_fit(X, y, ids=list(range(5)), owners=["p0", "p1", "p2", "p0", "p1"])
    armed = [-1, -1, -1]
    armed[FAULTS[kind]] = after
    faults.arm(*armed, code)
    failed = True
    try:
        with Store(folder) as store:
            for ask, follow in calls():
                pending = follow
                ask(store)
                follow(twin)
                pending = None
        failed = False
    except StoreError:
        pass
    faults.arm(-1, -1, -1, 0)
    with Store(folder) as store:
        found = store._models["demand"].model
        if not same(found._snapshot(), twin._snapshot()):
            assert pending is not None, "an acknowledged call is lost"
            pending(twin)
        assert same(found._snapshot(), twin._snapshot())
        assert found.n_rows_ == len(slots(folder))
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
