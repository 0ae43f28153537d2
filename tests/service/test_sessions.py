"""Tests of efface.service.sessions."""

from __future__ import annotations

import time

from efface.service.sessions import HOURS, Sessions
from efface.service.tokens import TokenFile
from efface.store import Store


def make(tmp_path, *, secure=False):
    Store(tmp_path / "orders").close()
    tokens = TokenFile(tmp_path / "orders")
    return Sessions(tokens, secure=secure), tokens, tokens.find(tokens.create(["read"]))


def test_a_session_stands_for_its_token_until_it_ends(tmp_path):
    sessions, _, token = make(tmp_path)
    id = sessions.open(token)
    assert sessions.find(id) == token
    assert sessions.find(id + "x") is None
    sessions.close(id)
    assert sessions.find(id) is None


def test_a_session_ends_with_its_token_and_with_time(tmp_path, monkeypatch):
    sessions, tokens, token = make(tmp_path)
    first, second = sessions.open(token), sessions.open(token)
    later = time.monotonic() + HOURS * 3600 + 1
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: later)
        assert sessions.find(first) is None
    tokens.revoke(token.id)
    assert sessions.find(second) is None


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(tmp_path):
    plain, _, token = make(tmp_path)
    header = plain.header(plain.open(token))
    assert header.startswith("efface=")
    assert header.endswith("HttpOnly; SameSite=Strict")
    secure = Sessions(plain._tokens, secure=True)
    assert secure.header("x").startswith("__Host-efface=x; Path=/; ")
    assert secure.header("x").endswith("; Secure")
    assert "Max-Age=0" in secure.header("")


def test_the_number_of_sessions_is_bounded(tmp_path):
    sessions, _, token = make(tmp_path)
    ids = [sessions.open(token) for _ in range(1_005)]
    assert sessions.find(ids[0]) is None
    assert sessions.find(ids[-1]) is not None
    assert len(sessions._open) == 1_000
