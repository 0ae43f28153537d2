"""Tests of efface.service.tokens."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from efface.errors import DamagedStore, InvalidValue
from efface.service.tokens import ROLES, TokenFile
from efface.store import Store


@pytest.fixture
def folder(tmp_path):
    Store(tmp_path / "orders").close()
    return tmp_path / "orders"


def test_a_token_is_found_with_its_roles_and_only_its_digest_is_kept(folder):
    tokens = TokenFile(folder)
    text = tokens.create(["learn", "predict", "learn"])
    found = tokens.find(text)
    assert found.roles == ("learn", "predict")
    assert found.may("learn", "predict")
    assert not found.may("learn", "read")
    content = (folder / "tokens.json").read_text("ascii")
    assert text not in content
    assert text.split("_", 2)[2] not in content
    assert (folder / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_other_texts_are_no_tokens(folder):
    tokens = TokenFile(folder)
    text = tokens.create(ROLES)
    other = text[:-1] + ("A" if text[-1] != "A" else "B")
    for wrong in ("", "eff", other, text + "x", text.upper(), "eff_" + "0" * 8 + text[12:]):
        assert tokens.find(wrong) is None


def test_a_running_service_sees_new_and_revoked_tokens(folder):
    running, command = TokenFile(folder), TokenFile(folder)
    first = command.create(["read"])
    assert running.find(first) is not None
    second = command.create(["read"])
    assert running.find(second) is not None
    command.revoke(first.split("_")[1])
    assert running.find(first) is None
    assert running.by_id(second.split("_")[1]).id == second.split("_")[1]
    (folder / "tokens.json").unlink()
    assert running.find(second) is None


CHANGES = """
import sys
from efface.service.tokens import TokenFile
tokens = TokenFile(sys.argv[1])
for _ in range(20):
    kept, gone = tokens.create(["read"]), tokens.create(["read"])
    tokens.revoke(gone.split("_")[1])
    print(kept, gone)
"""


def test_processes_that_change_tokens_at_once_lose_no_change(folder):
    command = [sys.executable, "-c", CHANGES, str(folder)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    texts = [each.communicate(timeout=120)[0] for each in running]
    lines = [line.split() for text in texts for line in text.splitlines()]
    assert [each.returncode for each in running] == [0] * 4
    tokens = TokenFile(folder)
    assert len(lines) == 80
    assert all(tokens.find(kept) is not None for kept, _ in lines)
    assert all(tokens.find(gone) is None for _, gone in lines)
    assert len(tokens.all()) == 80


def test_wrong_roles_ids_files_and_folders_are_refused(folder, tmp_path):
    tokens = TokenFile(folder)
    for roles in ([], ["root"], ["read", "root"]):
        with pytest.raises(InvalidValue, match="expected some of learn"):
            tokens.create(roles)
    assert not (folder / "tokens.json").exists()
    with pytest.raises(InvalidValue, match="the id of a token"):
        tokens.revoke("12345678")
    with pytest.raises(InvalidValue, match="is no store"):
        TokenFile(tmp_path)
    (folder / "tokens.json").write_text(json.dumps({"tokens": [{"id": 1}]}))
    with pytest.raises(DamagedStore, match=r"tokens\.json"):
        tokens.all()
