"""A change of the signing key: signed by both, finished or undone after a crash at any step."""

from __future__ import annotations

import pytest
from store_cases import files, filled, traces

from efface.errors import BadReceipt
from efface.store import Store, signing
from efface.store.layout import About
from efface.store.receipts import ReceiptChain, linked_keys, verify_chain


def test_receipts_of_both_keys_verify(tmp_path):
    folder = tmp_path / "orders"
    with filled(folder, anchor=tmp_path / "heads") as store:
        first = store.forget(owner="person 1")
        old, secret = store.status()["public_key"], (folder / "signing.key").read_bytes()
        record = store.rotate_signing_key()
        new = store.status()["public_key"]
        last = store.forget(owner="person 2")
        assert record.fields["next_key"] == new != old
        assert last.fields["key"] == new
    assert traces(folder, [secret]) == []  # the old key is overwritten
    assert not (folder / signing.NEXT).exists()
    with Store(folder) as store:
        assert verify_chain(store.receipts(), new) == 3
        assert store.forget(owner="person 3").fields["key"] == new
    first.verify(old)
    assert linked_keys(new, [first, record, last]) == {old, new} == linked_keys(old, [record])
    assert linked_keys(new, [first, last]) == {new}
    assert linked_keys("ff" * 32, [record]) == {"ff" * 32}


def test_a_forged_change_links_nothing(tmp_path):
    with filled(tmp_path / "orders") as store, filled(tmp_path / "other") as other:
        mine, theirs = store.rotate_signing_key(), other.rotate_signing_key()
    forged = type(mine)(mine.payload, mine.signature, theirs.countersignature)
    with pytest.raises(BadReceipt):
        linked_keys(mine.fields["key"], [forged])


STEPS = {  # what fails, and whether the change is in the chain by then
    "replace_file": (signing, False),
    "append": (ReceiptChain, False),
    "write": (About, True),
    "overwrite": (signing, True),
    "sync_folder": (signing, True),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_change_that_is_interrupted_is_finished_or_undone(tmp_path, monkeypatch, step):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    folder, (place, done) = tmp_path / "orders", STEPS[step]
    store = filled(folder)
    old = store.status()["public_key"]
    with monkeypatch.context() as patched:
        patched.setattr(place, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.rotate_signing_key()
    store.close()
    for _ in range(2):
        with Store(folder) as store:
            key = store.status()["public_key"]
            assert (key != old) is done
            assert store.forget(owner="nobody", missing="ok").fields["key"] == key
            verify_chain(store.receipts(), key)
            assert len(store.receipts()) == store.receipts()[-1].number
    assert signing.NEXT not in files(folder)


def test_a_next_key_that_is_not_whole_is_removed(tmp_path):
    filled(tmp_path / "orders").close()
    (tmp_path / "orders" / signing.NEXT).write_bytes(b"short")
    with Store(tmp_path / "orders") as store:
        assert store.receipts() == []
    assert signing.NEXT not in files(tmp_path / "orders")
