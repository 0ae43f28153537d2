"""Tests of efface.cli.access_tokens."""

from __future__ import annotations

from command_line import here

from efface.service.tokens import TokenFile
from efface.store import Store


def test_tokens_are_made_listed_and_revoked(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "orders"
    Store(folder).close()
    made = here(
        "token", "create", folder, "--role", "read", "--role", "forget", monkeypatch=monkeypatch
    )
    assert made == 0
    token = capsys.readouterr().out.splitlines()[-1]
    assert TokenFile(folder).find(token).roles == ("read", "forget")
    assert here("token", "list", folder, monkeypatch=monkeypatch) == 0
    listed = capsys.readouterr().out
    id = token.split("_")[1]
    assert listed.startswith(f"{id}  20")
    assert listed.endswith("read, forget\n")
    assert here("token", "revoke", folder, id, monkeypatch=monkeypatch) == 0
    assert TokenFile(folder).find(token) is None


def test_a_wrong_role_and_no_store_are_told(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "orders"
    Store(folder).close()
    assert here("token", "create", folder, "--role", "root", monkeypatch=monkeypatch) == 2
    assert "expected some of learn, predict" in capsys.readouterr().err
    assert here("token", "list", tmp_path, monkeypatch=monkeypatch) == 2
    assert "is no store" in capsys.readouterr().err
