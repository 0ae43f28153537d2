"""Tests of efface.service.disk_probe."""

from __future__ import annotations

import time

from efface.service.disk_probe import DiskProbe


def wait(holds):
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_disk_that_takes_writes_is_told_from_one_that_does_not(tmp_path):
    folder = tmp_path / "orders"
    folder.mkdir()
    probe = DiskProbe(folder, every=0.01)
    wait(lambda: probe.free)
    assert probe.error is None
    assert list(folder.iterdir()) == []
    folder.rename(tmp_path / "elsewhere")
    wait(lambda: probe.error)
    assert probe.error == "No such file or directory"
    failed = probe.age
    wait(lambda: probe.age > failed + 0.05)  # nothing is synced meanwhile
    (tmp_path / "elsewhere").rename(folder)
    wait(lambda: probe.error is None)
    probe.close()
