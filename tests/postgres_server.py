"""A real PostgreSQL server for tests, from the packages of the system, on a local socket.

Without PostgreSQL these tests are skipped. If EFFACE_REQUIRE_POSTGRES is set, as in CI, they fail.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest


def programs():
    """The folder of the server's programs; without it, skips the test or fails it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if path := found[-1] if found else shutil.which("initdb"):
        return Path(path).parent
    reason = (
        "PostgreSQL is not installed: run `apt-get install postgresql`, or `make postgres` as root"
    )
    if os.environ.get("EFFACE_REQUIRE_POSTGRES"):
        pytest.fail(reason)
    pytest.skip(reason)


class PostgresServer:
    """A server whose data lie in a folder of its own; it refuses to run as root.

    ``of`` is a server whose synchronous standby this one is.
    """

    def __init__(self, of=None):
        self._programs = programs()
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="efface-postgres-", dir=memory))
        self._as = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data = self.folder / "data"
        if of is None:
            command = ["initdb", "-D", self.data, "-A", "trust", "-U", "efface", "-N"]
            self._run([*command, "--locale=C", "--wal-segsize=1"])
        else:
            command = ["pg_basebackup", "-D", self.data, "-h", of.folder, "-U", "efface", "-R"]
            self._run([*command, "-X", "stream", "-c", "fast", "--no-sync"])
        self.address = f"host={self.folder} user=efface dbname=postgres"
        self._process = None
        self.start()
        if of is not None:
            of._wait_for_standby()

    def _wait_for_standby(self):
        """Let no commit return before the standby has it."""
        with psycopg.connect(self.address, autocommit=True) as client:
            client.execute("alter system set synchronous_standby_names = '*'")
            client.execute("select pg_reload_conf()")
            end = time.monotonic() + 60.0
            query = "select count(*) from pg_stat_replication where sync_state = 'sync'"
            while client.execute(query).fetchone() != (1,):
                assert time.monotonic() < end, "the standby does not follow"
                time.sleep(0.05)

    def promote(self):
        """Let a standby take writes."""
        with psycopg.connect(self.address, autocommit=True) as client:
            client.execute("select pg_promote(wait => true)")

    def _run(self, command):
        where = {"cwd": self.folder, "check": True, "stdout": subprocess.DEVNULL, **self._as}
        subprocess.run([self._programs / command[0], *command[1:]], **where)

    def start(self, *options):
        """Start the server and wait until it answers."""
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", *options]
        command = [self._programs / "postgres", "-D", self.data]
        command += [part for setting in settings for part in ("-c", setting)]
        with open(self.folder / "log", "ab") as log:
            where = {"cwd": self.folder, "stdout": log, "stderr": log, **self._as}
            self._process = subprocess.Popen(command, **where)
        end = time.monotonic() + 60.0
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.05)

    def _answers(self):
        try:
            psycopg.connect(self.address, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self):
        """End the server and its children at once, as a crash does."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        pids = [*map(int, children.read_text().split())] if children.exists() else []
        for pid in (self._process.pid, *pids):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        end = time.monotonic() + 10.0
        while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
            time.sleep(0.01)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self):
        """Stop the server in order; all is in its files then."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def close(self):
        if self._process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)
