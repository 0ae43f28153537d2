"""A process that forks others, each of which is killed inside of one operation on a store.

It reads lines of JSON from stdin: the operation, the folder, and before which write, sync, rename
or removal it ends; a half-written file is left too. It answers with how many there were.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from store_cases import NAMES, data

from efface import Ridge
from efface.store import Store, restore

OLD, NEW = b"o" * 32, b"n" * 32
PAGE = 4_096
CALLS = ("pwrite", "fdatasync", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")


def opened(place, **options):
    return Store(place / "orders", **options)


def learn(place):
    with opened(place) as store:
        for k in range(3):
            store.learn("demand", *data(2, seed=70 + k), at=[datetime.now(UTC)] * 2)


def forget(place):
    with opened(place) as store:
        store.forget(owner="person 1", forever=True)
        store.forget(ids=["order-2"])


def expire(place):
    with opened(place) as store:
        store.expire(datetime.now(UTC) + timedelta(days=2), force=True)


def rotate(place):
    with opened(place) as store:
        store.rotate(None)


def rotate_wrapped(place):
    with opened(place, master_key=OLD) as store:
        store.rotate(NEW)


def mirror(place):
    with opened(place, mirror=place / "second") as store:
        store.learn("demand", *data(2, seed=80), at=[datetime.now(UTC)] * 2)


def backup(place):
    with opened(place) as store:
        store.backup(place / "copy")


def backup_keys(place):
    with opened(place) as store:
        store.backup(place / "copy", keys=True)


def restore_rows(place):
    restore(place / "orders", place / "monday")


def restore_all(place):
    restore(place / "restored", place / "monday")


# One line per operation. "remove" is one more line once the store has it.
OPERATIONS = {
    "learn": learn,
    "forget": forget,
    "expire": expire,
    "rotate": rotate,
    "rotate with a master key": rotate_wrapped,
    "mirror": mirror,
    "backup": backup,
    "backup with keys": backup_keys,
    "restore rows": restore_rows,
    "restore all": restore_all,
}
if hasattr(Store, "remove"):

    def remove(place):
        with opened(place) as store:
            store.remove("demand")

    OPERATIONS["remove"] = remove


def prepare(place, name):
    """A store with rows, some of which expire, and a copy if it is to be restored."""
    key = {"master_key": OLD} if name == "rotate with a master key" else {}
    now = datetime.now(UTC)
    with Store(place / "orders", **key) as store:
        store.add("demand", Ridge(), features=NAMES)
        owners, ids = [f"person {k % 8}" for k in range(40)], [f"order-{k}" for k in range(40)]
        until = [now + timedelta(days=1) if k % 4 == 3 else None for k in range(40)]
        store.learn("demand", *data(40), ids=ids, owners=owners, at=[now] * 40, until=until)
    if name.startswith("restore"):
        with opened(place) as store:
            store.backup(place / "monday", keys=name == "restore all")


def count_and_kill(at):
    """Kill this process at call number ``at``, which is half done; return the count of calls."""
    calls = [0]

    def counted(real, name):
        def call(*given, **options):
            calls[0] += 1
            if calls[0] == at:
                if name == "pwrite" and len(given[1]) > PAGE:  # a kill does not split a page
                    real(given[0], bytes(given[1])[:PAGE], given[2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **options)

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name), name))
    return calls


def serve():
    """Fork a process per line of stdin; answer with its status and the number of its calls."""
    for line in sys.stdin:
        name, place, at = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            calls = count_and_kill(at)
            OPERATIONS[name](Path(place))
            os.write(writing, str(calls[0]).encode())
            os._exit(0)
        os.close(writing)
        status = os.waitpid(child, 0)[1]
        with os.fdopen(reading) as pipe:
            print(json.dumps([status, pipe.read()]), flush=True)


class Kills:
    """The process that forks others."""

    def __init__(self):
        command = [sys.executable, "-W", "ignore", str(Path(__file__))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, **pipes)

    def run(self, name, place, at=0):
        """How the process ended, and how many calls it made if it was not killed."""
        self._process.stdin.write(json.dumps([name, str(place), at]) + "\n")
        self._process.stdin.flush()
        status, calls = json.loads(self._process.stdout.readline())
        return status, int(calls or 0)

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


if __name__ == "__main__":
    serve()
