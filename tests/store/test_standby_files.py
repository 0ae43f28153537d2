"""What a mirror has beside the keys: enough for another host to go on."""

from __future__ import annotations

import json

import pytest
from store_cases import filled, traces

from efface.errors import DamagedStore, StorageFailure, WrongMasterKey
from efface.service.tokens import TokenFile
from efface.store import Store
from efface.store.layout import About
from efface.store.master_key import MasterKey
from efface.store.standby_files import STANDBY, read_standby
from efface.store.takeover import finish

MASTER, NEXT = b"m" * 32, b"n" * 32


@pytest.fixture
def orders(tmp_path):
    filled(tmp_path / "orders", mirror=tmp_path / "second", master_key=MASTER).close()
    return tmp_path / "orders"


def secrets(folder):
    names = ("signing.key", "blind.key")
    return {name: (folder / name).read_bytes() for name in names}


def test_secrets_are_sealed_under_the_master_key(tmp_path, orders):
    found = read_standby(tmp_path / "second", MasterKey(MASTER))
    assert found.secrets == secrets(orders)
    assert (found.about.store, found.about.rows) == (About.read(orders).store, None)
    hidden = secrets(orders).values()
    needles = [*hidden, *(each.hex().encode() for each in hidden)]
    assert traces(tmp_path / "second", needles) == []
    with pytest.raises(WrongMasterKey):
        read_standby(tmp_path / "second", MasterKey(NEXT))


def test_it_follows_receipts_keys_and_tokens(tmp_path, orders):
    second, tokens = tmp_path / "second", TokenFile(orders)
    token = tokens.create(["read"])
    assert (second / "tokens.json").read_bytes() == (orders / "tokens.json").read_bytes()
    tokens.revoke(token.split("_")[1])
    assert (second / "tokens.json").read_bytes() == (orders / "tokens.json").read_bytes()
    before = secrets(orders)["signing.key"]
    with Store(orders, master_key=MASTER) as store:
        store.forget(owner="person 3")
        chain = (orders / "receipts.jsonl").read_bytes()
        assert chain == (second / "receipts.jsonl").read_bytes()
        assert chain
        store.rotate_signing_key()
        assert read_standby(second, MasterKey(MASTER)).secrets == secrets(orders)
        assert secrets(orders)["signing.key"] != before
        store.rotate(NEXT)
        found = read_standby(second, MasterKey(NEXT))
        assert (found.about.epoch, found.secrets) == (2, secrets(orders))
        store.forget(owner="person 4")
        assert store.audit()["demand"].holds
    assert (orders / "receipts.jsonl").read_bytes() == (second / "receipts.jsonl").read_bytes()
    assert not list(second.glob("0001*"))


def test_what_a_crash_left_behind_is_made_equal_at_open(tmp_path, orders):
    second = tmp_path / "second"
    with Store(orders, master_key=MASTER) as store:
        store.forget(owner="person 3")
    for name in ("receipts.jsonl", STANDBY):
        (second / name).write_bytes(b"")
    (second / "tokens.json").write_bytes(b"{}")
    Store(orders, master_key=MASTER).close()
    assert (orders / "receipts.jsonl").read_bytes() == (second / "receipts.jsonl").read_bytes()
    assert read_standby(second, MasterKey(MASTER)).secrets == secrets(orders)
    assert not (second / "tokens.json").exists()


@pytest.mark.parametrize("lost", ["key_mirror.make_equal", "standby_files.write_standby"])
def test_a_mirror_keeps_the_keys_of_the_epoch_that_it_names(tmp_path, orders, monkeypatch, lost):
    """A host that is lost in the midst of a rotation leaves a mirror that is whole."""

    def fail(*_):
        raise OSError

    store, second = Store(orders, master_key=MASTER), tmp_path / "second"
    with monkeypatch.context() as patch:
        patch.setattr(f"efface.store.{lost}", fail)
        with pytest.raises(StorageFailure):
            store.rotate(NEXT)
    store.close()
    assert read_standby(second, MasterKey(MASTER)).about.epoch == 1
    assert (second / "0001-000000.bin").exists()
    Store(orders, master_key=NEXT).close()
    assert read_standby(second, MasterKey(NEXT)).about.epoch == 2
    assert not list(second.glob("0001*"))


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"about": "{}", "secrets": ""}'])
def test_what_is_no_standby_is_refused(tmp_path, orders, content):
    path = tmp_path / "second" / STANDBY
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(DamagedStore, match=STANDBY):
        read_standby(tmp_path / "second", MasterKey(MASTER))


def test_an_altered_description_is_refused(tmp_path, orders):
    path = tmp_path / "second" / STANDBY
    plain = json.loads(path.read_bytes())
    plain["about"] = plain["about"].replace('"epoch": 1', '"epoch": 2')
    path.write_text(json.dumps(plain))
    with pytest.raises(DamagedStore, match="altered"):
        read_standby(tmp_path / "second", MasterKey(MASTER))


def test_nothing_is_emptied_without_a_record_of_a_takeover(tmp_path, orders):
    before = sorted((tmp_path / "second").iterdir())
    finish(orders)
    (orders / "taken").write_text(f"0123456789abcdef {tmp_path / 'second'}")
    finish(orders)  # of another instance
    assert sorted((tmp_path / "second").iterdir()) == before
    assert not (orders / "taken").exists()
