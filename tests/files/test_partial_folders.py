"""Unfinished results are removed at the end, or by the next run if their process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from efface.files.partial_folders import temporary_folder

WRITE = """
import sys, time
from pathlib import Path
from efface.files.partial_folders import temporary_folder
with temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "rows").write_text("secret")
    print("written", flush=True)
    time.sleep(600)
"""


def names(path):
    return sorted(each.name for each in path.iterdir())


def test_a_folder_is_removed_at_the_end(tmp_path):
    with temporary_folder(tmp_path / "out") as folder:
        assert folder.parent == tmp_path
        assert names(tmp_path) == [folder.name]
    assert names(tmp_path) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next_run(tmp_path):
    out = tmp_path / "o*t"
    writing = subprocess.Popen([sys.executable, "-c", WRITE, out], stdout=subprocess.PIPE)
    with writing:
        assert writing.stdout.readline() == b"written\n"
        (left,) = names(tmp_path)
        with temporary_folder(out) as folder:  # the other process is at work: its folder stays
            assert names(tmp_path) == sorted([left, folder.name])
        assert names(tmp_path) == [left]
        os.kill(writing.pid, signal.SIGKILL)
        writing.wait()
        assert names(tmp_path) == [left]
        with temporary_folder(tmp_path / "other"):  # results of another name are not touched
            assert left in names(tmp_path)
        with temporary_folder(out) as folder:
            assert names(tmp_path) == [folder.name]


def test_folders_that_are_not_ours_stay(tmp_path):
    (tmp_path / ".out.thesis.partial").mkdir()
    with temporary_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == [".out.thesis.partial"]
