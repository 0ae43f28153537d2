"""Rows decrypt under their own key, in their own place, and nowhere else."""

from __future__ import annotations

import os

import pytest

from efface.store.row_cipher import NONCE, RowCipher

KEYS, NONCES = os.urandom(64), os.urandom(2 * NONCE)
CIPHER = RowCipher(b"s" * 16)


def rows():
    return list(CIPHER.encrypt(3, 40, KEYS, NONCES, [b"first", b"second"]).each())


def test_rows_have_consecutive_numbers_and_decrypt():
    assert [(seq, model) for seq, model, _ in rows()] == [(40, 3), (41, 3)]
    padded = bytes(32 * 40) + KEYS
    assert CIPHER.decrypt_all(rows(), padded, 0) == [b"first", b"second"]


@pytest.mark.parametrize(
    ("cipher", "seq", "model", "key"),
    [
        (RowCipher(b"t" * 16), 40, 3, KEYS[:32]),
        (CIPHER, 41, 3, KEYS[:32]),
        (CIPHER, 40, 4, KEYS[:32]),
        (CIPHER, 40, 3, KEYS[32:]),
        (CIPHER, 40, 3, bytes(32)),
        (CIPHER, 40, 3, b""),
    ],
    ids=["store", "number", "model", "key", "destroyed key", "no key"],
)
def test_another_store_number_model_or_key_reads_nothing(cipher, seq, model, key):
    assert cipher.decrypt(seq, model, key, rows()[0][2]) is None


def test_altered_and_cut_bodies_read_nothing():
    body = rows()[0][2]
    for at in range(len(body)):
        altered = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        assert CIPHER.decrypt(40, 3, KEYS[:32], altered) is None
        assert CIPHER.decrypt(40, 3, KEYS[:32], body[:at]) is None


def test_values_of_another_type_read_nothing():
    """A damaged page of a database can hold anything."""
    assert CIPHER.decrypt(40, None, KEYS[:32], rows()[0][2]) is None
    assert CIPHER.decrypt(40, 3, KEYS[:32], "text" * 20) is None
