"""Receipts: signatures, links, forks and cuts of the chain."""

from __future__ import annotations

import json
import os

import pytest

from efface.errors import BadReceipt, DamagedStore
from efface.store.receipts import Receipt, ReceiptChain, SigningKey, subject, verify_chain

KEY, SECRET = SigningKey(b"k" * 32), b"s" * 32


def chain(tmp_path, count=3, key=KEY):
    path = tmp_path / "receipts.jsonl"
    path.touch()
    made = ReceiptChain(path, "store", key)
    for number in range(count):
        about = {"note": f"n{number}", "time": "t", "rows": {"m": number}}
        made.append({**about, "subject": subject(SECRET, [], [f"person {number}"]), "digest": None})
    return made


def test_a_chain_verifies_and_goes_on_after_it_was_read_again(tmp_path):
    chain(tmp_path)
    again = chain(tmp_path, count=2)
    assert again.count == 5
    assert verify_chain(again.receipts(), KEY.public) == 5
    assert [receipt.number for receipt in again.receipts()] == [1, 2, 3, 4, 5]
    assert again.receipts()[-1].head == again.head


def test_a_receipt_names_an_owner_under_the_secret_alone(tmp_path):
    found = chain(tmp_path).find(subject(SECRET, [], ["person 1"]))
    assert found.rows == 1
    assert found.names(SECRET, "person 1")
    assert not found.names(b"x" * 32, "person 1")
    assert not found.names(SECRET, "person 2")
    assert "person" not in found.json
    assert chain(tmp_path, 0).find(subject(b"x" * 32, [], ["person 1"])) is None


def test_altered_receipts_do_not_verify(tmp_path):
    receipt = chain(tmp_path).receipts()[1]
    receipt.verify()
    receipt.verify(KEY.public)
    for wrong in (
        Receipt(receipt.payload.replace('"m":1', '"m":7'), receipt.signature),
        Receipt(receipt.payload, receipt.signature[:-2] + "00"),
        Receipt(receipt.payload + " ", receipt.signature),
        Receipt(receipt.payload, "no hex"),
    ):
        with pytest.raises(BadReceipt, match="altered"):
            wrong.verify()


def test_a_forged_key_is_seen_by_who_knows_the_real_one(tmp_path):
    forged = chain(tmp_path, key=SigningKey(b"f" * 32)).receipts()[0]
    forged.verify()  # whoever signed it, it is unaltered
    with pytest.raises(BadReceipt, match="another key"):
        forged.verify(KEY.public)
    with pytest.raises(BadReceipt, match="another key"):
        verify_chain([forged], KEY.public)


@pytest.mark.parametrize("order", [[0, 2], [1, 2], [0, 1, 1], [1, 0]])
def test_gaps_repeats_and_other_orders_do_not_verify(tmp_path, order):
    receipts = chain(tmp_path).receipts()
    with pytest.raises(BadReceipt, match="follow"):
        verify_chain([receipts[k] for k in order])


def test_a_change_of_the_signing_key_is_signed_by_both(tmp_path):
    made, new = chain(tmp_path), SigningKey(b"n" * 32)
    made.append({"time": "t"}, next_key=new)
    made.key = new
    made.append({"note": "n", "subject": "x", "rows": {}})
    assert verify_chain(made.receipts(), new.public) == 5
    one, two, three, change, last = made.receipts()
    with pytest.raises(BadReceipt):
        verify_chain([one, two, three, Receipt(change.payload, change.signature), last])
    with pytest.raises(BadReceipt):
        verify_chain(made.receipts(), KEY.public)


def test_a_last_line_without_its_end_was_never_acknowledged(tmp_path):
    path = tmp_path / "receipts.jsonl"
    chain(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"payload":"')
    assert chain(tmp_path, 0).count == 3
    assert path.read_bytes() == whole


def test_lines_that_are_damaged_in_the_middle_are_refused(tmp_path):
    path = tmp_path / "receipts.jsonl"
    chain(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    for wrong in ([lines[0], b"{}\n", lines[2]], lines[1:], [*lines, b"\xff\n"]):
        path.write_bytes(b"".join(wrong))
        with pytest.raises(DamagedStore):
            chain(tmp_path, 0)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"payload": "{}", "signature": ""}', '{"payload": 3}']
)
def test_what_is_no_receipt_is_refused(text):
    with pytest.raises(BadReceipt, match="no receipt"):
        Receipt.parse(text)


def test_a_key_does_not_show_itself():
    assert (b"k" * 32).hex() not in repr(KEY)
    assert json.loads(json.dumps(KEY.public)) == KEY.public
    assert len(os.urandom(32)) == 32
