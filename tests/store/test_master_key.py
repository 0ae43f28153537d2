"""The master key: wrapping, and where it comes from."""

from __future__ import annotations

import os

import pytest

from efface.errors import WrongMasterKey
from efface.store.master_key import MasterKey, from_command, from_credential, from_file

KEY = bytes(range(32))


def test_keys_are_wrapped_apart_and_come_back():
    keys, master = os.urandom(32 * 5), MasterKey(KEY)
    wrapped = master.wrap(keys)
    assert master.unwrap(wrapped) == keys
    assert wrapped[32:64] == master.wrap(keys[32:64])
    assert MasterKey(bytes(32)).unwrap(wrapped) != keys


def test_it_never_shows_itself():
    assert KEY.hex() not in repr(MasterKey(KEY)) + str(MasterKey(KEY).fingerprint)
    assert MasterKey(KEY).fingerprint != MasterKey(bytes(32)).fingerprint
    assert MasterKey(None).fingerprint is None


@pytest.mark.parametrize("content", [KEY, KEY.hex().encode() + b"\n"])
def test_it_comes_from_a_file_a_command_or_a_credential(tmp_path, monkeypatch, content):
    path = tmp_path / "efface-master-key"
    path.write_bytes(content)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert from_file(path) == from_command(f"cat {path}") == from_credential() == KEY
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    assert from_credential() is None


def test_what_is_no_master_key_is_refused(tmp_path):
    (tmp_path / "short").write_bytes(b"zz")
    for make in (
        lambda: MasterKey(b"short"),
        lambda: from_file(tmp_path / "short"),
        lambda: from_file(tmp_path / "absent"),
        lambda: from_command("exit 3"),
    ):
        with pytest.raises(WrongMasterKey):
            make()
