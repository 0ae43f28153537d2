"""Tombstones hold for rows up to their time, and contain no name."""

from __future__ import annotations

from efface.spark.tombstones import Tombstones


def test_ids_and_owners_are_told_apart():
    found = Tombstones()
    found.add("id", "ann", 5)
    assert found.cover("id", "ann", 5)
    assert not found.cover("owner", "ann", 5)
    assert not found.cover("id", None, 5)


def test_numbers_and_texts_are_told_apart():
    found = Tombstones()
    found.add("id", 7, 5)
    assert found.cover("id", 7, 5)
    assert not found.cover("id", "7", 5)


def test_the_latest_request_counts():
    found = Tombstones()
    for time in (5, 9, 7):
        found.add("id", "a", time)
    assert len(found) == 1
    assert found.cover("id", "a", 9)
    assert not found.cover("id", "a", 10)


def test_bytes_do_not_depend_on_the_order_and_hold_no_name():
    one, other = Tombstones(), Tombstones()
    for name in ("ann", "bob"):
        one.add("owner", name, 3)
    for name in ("bob", "ann"):
        other.add("owner", name, 3)
    assert one.encode() == other.encode()
    assert b"ann" not in one.encode()
    assert Tombstones.decode(one.encode()).earliest == 3


def test_dropping():
    found = Tombstones()
    found.add("id", "a", 3)
    found.add("id", "b", 4)
    found.drop(3)
    assert (len(found), found.earliest) == (1, 4)
    found.drop(4)
    assert (found.encode(), found.earliest) == (b"", None)
