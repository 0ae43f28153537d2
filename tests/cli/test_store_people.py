"""``efface store forget`` and ``held``: names by prompt or standard input, receipts and secrets."""

from __future__ import annotations

import io
import json

import pytest
from command_line import here
from store_cases import data, filled

from efface import Ridge
from efface.store import Store
from efface.store.receipts import Receipt


@pytest.fixture
def ask(monkeypatch, capsys, tmp_path):
    """Runs a command with a text as its standard input."""
    filled(tmp_path / "orders").close()
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = here("store", *arguments, monkeypatch=monkeypatch)
        shown = capsys.readouterr()
        return code or 0, shown.out, shown.err

    return run


def test_a_person_is_forgotten_with_a_receipt(ask, tmp_path):
    options = ("--receipt", "ann.json", "--secret", "ann.secret")
    code, out, _ = ask("forget", "orders", "--owner-stdin", *options, stdin="person 3\n")
    assert code == 0
    assert "5 rows forgotten (demand 5)" in out
    assert "person" not in out
    receipt = Receipt.parse((tmp_path / "ann.json").read_text())
    assert receipt.head in out
    secret = bytes.fromhex((tmp_path / "ann.secret").read_text())
    assert receipt.names(secret, "person 3")
    assert (tmp_path / "ann.secret").stat().st_mode & 0o777 == 0o600
    code, again, _ = ask(
        "forget", "orders", "--owner-stdin", *options, "--missing", "ok", stdin="person 3\n"
    )
    assert again == out  # the same receipt
    assert ask("forget", "orders", "--owner-stdin", stdin="person 3\n")[0] == 2


def test_the_owner_is_asked_for_at_a_prompt(ask):
    code, out, err = ask("held", "orders", stdin="person 2\n")
    assert code == 0
    assert "Owner" in err
    rows = json.loads(out)["demand"]
    assert [row["id"] for row in rows] == [f"order-{k}" for k in range(2, 40, 8)]
    X, y = data(40)
    assert rows[0]["temp"] == X[2, 0]
    assert rows[0]["response"] == y[2]


def test_rows_are_forgotten_by_id_and_many_people_at_once(ask, tmp_path):
    code, out, _ = ask("forget", "orders", "--ids-stdin", "--json", stdin="order-1\norder-2\n\n")
    assert code == 0
    assert json.loads(out)["rows"] == {"demand": 2}
    people = "person 5\nperson 6\n"
    assert "10 rows" in ask("forget", "orders", "--owner-stdin", "--forever", stdin=people)[1]
    with Store(tmp_path / "orders") as store:
        assert store.status()["refused_owners"] == 2
    assert ask("forget", "orders", "--owner-stdin", stdin="\n")[0] == 2
    assert ask("held", "orders", "--owner-stdin", stdin="nobody\n")[0] == 2


def test_numbers_are_found_as_numbers(ask, tmp_path):
    with Store(tmp_path / "orders") as store:
        store.add("other", Ridge(), features=3)
        store.learn("other", *data(4), ids=[7, 8, 9, 10], owners=[1, 2, -3, "7"])
    assert "1 rows" in ask("forget", "orders", "--ids-stdin", stdin="8\n")[1]
    assert "1 rows" in ask("forget", "orders", "--owner-stdin", stdin="-3\n")[1]
    assert "1 rows" in ask("forget", "orders", "--owner-stdin", stdin="7\n")[1]
    rows = json.loads(ask("held", "orders", "--owner-stdin", stdin="1\n")[1])["other"]
    assert [row["id"] for row in rows] == [7]


def test_a_model_is_removed_once_that_is_confirmed(ask, tmp_path):
    assert ask("remove", "orders", "demand", stdin="n\n")[0] == 2
    code, out, err = ask("remove", "orders", "demand", "--receipt", "r.json", stdin="y\n")
    assert code == 0
    assert "40 rows" in err
    assert "demand is removed, with 40 rows\nreceipt 1, head of the chain " in out
    assert Receipt.parse((tmp_path / "r.json").read_text()).fields["removed"] == "demand"
    code, _, err = ask("remove", "orders", "demand", "--yes")
    assert code == 2
    assert "expected one of none" in err
