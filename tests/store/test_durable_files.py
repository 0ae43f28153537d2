"""Files that are replaced as a whole, and the lock of a folder."""

from __future__ import annotations

import errno
import os

import pytest

from efface.errors import StorageFailure, StoreInUse
from efface.store.durable_files import FolderLock, failures, overwrite, replace_file, write_all


def test_a_file_is_replaced_and_readable_by_its_owner_alone(tmp_path):
    path = tmp_path / "file"
    for content in (b"old", b"new"):
        replace_file(path, content)
        assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with pytest.raises(TypeError):
        replace_file(path, "text")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: real(file, content[:3], at))
    with open(tmp_path / "file", "w+b") as file:
        write_all(file.fileno(), b"0123456789", 2)
        assert file.read() == b"\0\0" + b"0123456789"


def test_one_process_owns_a_folder(tmp_path):
    lock = FolderLock(tmp_path / "lock")
    with pytest.raises(StoreInUse, match="in use"):
        FolderLock(tmp_path / "lock")
    lock.release()
    FolderLock(tmp_path / "lock").release()


def test_errors_of_the_system_name_what_failed():
    with (
        pytest.raises(StorageFailure, match="'orders' failed: the disk is full"),
        failures("orders"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_overwritten_where_it_lies(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"secret")
    place = path.stat().st_ino
    overwrite(path)
    assert path.read_bytes() == bytes(6)
    overwrite(path, b"others")
    assert (path.read_bytes(), path.stat().st_ino) == (b"others", place)
