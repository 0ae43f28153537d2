"""Tests of efface.service.tokens."""

from __future__ import annotations

import json

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
