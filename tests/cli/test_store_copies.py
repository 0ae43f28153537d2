"""``efface store backup``, ``restore`` and ``rotate``: what is shown before anything is lost."""

from __future__ import annotations

import io
import json
import shutil

import pytest
from command_line import here
from store_cases import files, filled

from efface.store import Store


@pytest.fixture
def efface(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = here("store", *arguments, monkeypatch=monkeypatch)
        shown = capsys.readouterr()
        return code or 0, shown.out, shown.err

    return run


def test_rows_are_restored_once_the_counts_are_confirmed(efface, tmp_path):
    filled(tmp_path / "orders").close()
    assert efface("backup", "orders", "copy") == (0, "copy  rows without keys\n", "")
    with Store(tmp_path / "orders") as store:
        store.forget(owner="person 1")
    (tmp_path / "orders" / "rows.db").unlink()
    before = files(tmp_path / "orders")
    code, _, err = efface("restore", "orders", "--from", "copy", stdin="n\n")
    assert code == 2
    assert "35  rows are kept" in err
    assert "5  rows were forgotten since" in err
    assert files(tmp_path / "orders") == before
    assert efface("restore", "orders", "--from", "copy", stdin="y\n")[0] == 0
    code, out, _ = efface("restore", "orders", "--yes", "--json")
    assert json.loads(out) == {"kept": 35, "forgotten": 0, "unreadable": 0, "without_row": 0}


def test_a_copy_with_keys_says_that_it_must_go(efface, tmp_path):
    filled(tmp_path / "orders").close()
    assert "within days" in efface("backup", "orders", "copy", "--keys")[1]
    assert efface("restore", "new", "--from", "copy", "--yes")[0] == 0
    assert efface("status", "new")[0] == 0
    assert efface("backup", "orders", "copy")[0] == 2


def test_the_master_key_is_rotated_and_removed(efface, tmp_path):
    filled(tmp_path / "orders").close()
    (tmp_path / "new.key").write_bytes(b"n" * 32)
    assert "epoch 2" in efface("rotate", "orders", "--new-master-key", "new.key")[1]
    assert efface("status", "orders")[0] == 2
    with Store(tmp_path / "orders", master_key=b"n" * 32) as store:
        assert store.status()["rows"] == 40
    key = ("--master-key", "new.key")
    assert efface("rotate", "orders", *key)[0] == 2
    assert "epoch 3" in efface("rotate", "orders", *key, "--remove-master-key")[1]
    assert efface("status", "orders")[0] == 0


def test_the_signing_key_is_changed_and_the_record_published(efface, tmp_path):
    with filled(tmp_path / "orders") as store:
        (tmp_path / "ann.json").write_text(store.forget(owner="person 1").json)
    about = ("--signing-key", "--public-key", "new.pub", "--changes", "changes.jsonl")
    code, out, _ = efface("rotate", "orders", *about)
    assert code == 0
    with Store(tmp_path / "orders") as store:
        key = store.status()["public_key"]
    assert key in out
    assert (tmp_path / "new.pub").read_text() == f"{key}\n"
    assert len((tmp_path / "changes.jsonl").read_text().splitlines()) == 1
    assert efface("rotate", "orders", "--signing-key", "--remove-master-key")[0] == 2


def test_the_keys_are_mirrored_and_restored_from_the_mirror(efface, tmp_path):
    filled(tmp_path / "orders").close()
    assert efface("mirror", "orders", "second") == (0, "second  mirrors the keys\n", "")
    shutil.rmtree(tmp_path / "orders" / "keys")
    assert efface("status", "orders")[0] == 2
    code, out, _ = efface("restore", "orders", "--mirror", "second", "--yes", "--json")
    assert (code, json.loads(out)["kept"]) == (0, 40)
    assert json.loads(efface("status", "orders", "--json")[1])["mirror"]
    assert efface("mirror", "orders", "--stop")[0] == 0
    assert not json.loads(efface("status", "orders", "--json")[1])["mirror"]
    assert efface("mirror", "orders")[0] == 2
    assert efface("init", "other", "--mirror", "third")[0] == 0
    assert list((tmp_path / "third").glob("*.bin"))


@pytest.mark.parametrize("kind", ["anchor", "destroyed"])
def test_files_elsewhere_are_named_and_given_up(efface, tmp_path, kind):
    filled(tmp_path / "orders").close()
    assert efface(kind, "orders", "elsewhere")[0] == 0
    assert (tmp_path / "elsewhere").read_text().startswith(f"efface {kind} 1 ")
    (tmp_path / "elsewhere").unlink()
    code, _, err = efface("status", "orders")
    assert code == 2
    assert f"efface store {kind} --stop" in err.replace("\n", " ")
    assert efface(kind, "orders", "--stop")[0] == 0
    assert efface("status", "orders")[0] == 0
    assert efface(kind, "orders")[0] == 2
