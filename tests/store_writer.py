"""A process that forks writers of a store on request, so that tests can kill them at any moment.

It reads lines of JSON from stdin: folder, seed, clock, rows and log. Each starts a writer and
answers with its process id. A writer tells every call to its log before and after. It is meant to
be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from store_cases import KEYED

from efface.store import Store

PEOPLE, SHOPS = 6, 4


def work(folder, seed, clock, log, rows):
    """Learn, forget and expire until the process is killed; ``log`` is a file descriptor."""
    rng = np.random.default_rng(seed)

    def tell(what, **about):
        os.write(log, json.dumps({"what": what, **about}).encode() + b"\n")

    store = Store(folder, rows)
    names = list(store.models())
    tell("open")
    while True:
        kind = rng.choice(["learn", "learn", "learn", "forget", "expire"])
        if kind == "learn":
            count = int(rng.integers(1, 40))
            X = rng.normal(size=(count, 2))
            clock += count
            name = names[int(rng.integers(len(names)))]
            batch = {
                "X": X.tolist(),
                "y": X.sum(axis=1).tolist(),
                "ids": [f"{seed}-{rng.integers(1 << 60)}" for _ in range(count)],
                "owners": [f"p{rng.integers(PEOPLE)}" for _ in range(count)],
                "at": (clock + np.arange(count, dtype=float)).tolist(),
                "until": (clock + rng.uniform(20.0, 400.0, count)).tolist(),
            }
            if name == KEYED:
                batch["keys"] = [f"shop {rng.integers(SHOPS)}" for _ in range(count)]
            tell("learn", name=name, **batch)
            store.learn(name, **batch)
        elif kind == "forget":
            owner = f"p{rng.integers(PEOPLE)}"
            tell("forget", owner=owner)
            store.forget(owner=owner, missing="ok")
        else:
            tell("expire", now=clock + 10.0)
            store.expire(clock + 10.0, force=True)
        tell("done")


def whole_lines(log):
    """The lines of a log; one that a kill cut short announces a call that was never made."""
    return log.read_bytes().split(b"\n")[:-1]


def serve():
    """Fork a writer per line of stdin."""
    for line in sys.stdin:
        about = json.loads(line)
        log = os.open(about["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        writer = os.fork()
        if not writer:
            work(about["folder"], about["seed"], about["clock"], log, about["rows"])
        os.close(log)
        print(writer, flush=True)
        sys.stdin.readline()  # the test has killed it
        print(os.waitpid(writer, 0)[1], flush=True)


class Writers:
    """The process that forks writers."""

    def __init__(self):
        command = [sys.executable, "-W", "ignore", str(Path(__file__))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, **pipes)

    def start(self, folder, seed, clock, rows=None, log=None):
        about = {"folder": str(folder), "seed": seed, "clock": clock, "rows": rows}
        about["log"] = f"{folder}.log" if log is None else str(log)
        return int(self._ask(json.dumps(about)))

    def status(self):
        """How the last writer ended."""
        return int(self._ask("ended"))

    def _ask(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


if __name__ == "__main__":
    serve()
