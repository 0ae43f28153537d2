"""Clients that learn, predict and forget until a service is killed, and what they were told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import httpx
from command_line import COMMAND
from service_cases import rows


class Server:
    """``efface serve`` in a process of its own."""

    def __init__(self, folder, *options):
        self._log = open(f"{folder}.log", "ab")  # noqa: SIM115
        command = [*COMMAND, "serve", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        line = self.process.stdout.readline()
        assert " at http" in line, (line, self.process.poll())
        self.url = line.split(" at ")[1].strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        return self._end()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self._end()

    def _end(self):
        code = self.process.wait(60)
        self.rest = self.process.stdout.read()
        self.process.stdout.close()
        self._log.close()
        return code


class Worker(threading.Thread):
    """A client that learns rows of its own people, predicts, and forgets some of them."""

    def __init__(self, url, token, number, first):
        super().__init__(daemon=True)
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False)
        self.number, self.at = number, first
        self.known, self.unsure = {}, {}  # rows that are surely there; and perhaps there, by id
        self.gone, self.perhaps_gone = set(), set()  # people
        self.answers, self.surprises, self.over = 0, [], False

    def run(self):
        with self._http:
            while not self.over:
                try:
                    self._turn()
                except httpx.TransportError:
                    return
                self.answers += 1

    def _turn(self):
        self._learn()
        if self.at % 3 == 0:
            found = self._http.post("/models/demand/predictions", json={"rows": [{"x": [1, 2]}]})
            self._expect(found)
        if self.at % 4 == 0 and self.known:
            self._forget(next(iter(self.known.values()))["owner"])

    def _learn(self):
        content = rows(5, seed=self.at, people=1)
        for k, row in enumerate(content):
            row["id"] = f"w{self.number}-{self.at}-{k}"
            row["owner"] = f"p{self.number}-{self.at}"
        self.at += 1
        mine = {row["id"]: row for row in content}
        self.unsure |= mine
        found = self._http.post("/models/demand/rows", json={"rows": content})
        if self._expect(found):
            self.known |= mine
        for id in mine:
            del self.unsure[id]

    def _forget(self, owner):
        self.perhaps_gone.add(owner)
        if self._expect(self._http.post("/erasures", json={"owner": owner, "missing": "ok"})):
            self.gone.add(owner)
            self.known = {id: row for id, row in self.known.items() if row["owner"] != owner}
        self.perhaps_gone.discard(owner)

    def _expect(self, response):
        if response.status_code == 503:
            return False
        if response.status_code != 200:
            self.surprises.append(response.text)
        return response.status_code == 200


def loaded(url, token, count=8, first=0, seconds=0.5):
    """Workers that have run for a while and still run."""
    workers = [Worker(url, token, number, first) for number in range(count)]
    for worker in workers:
        worker.start()
    time.sleep(seconds)
    return workers


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd")) if sys.platform == "linux" else None
