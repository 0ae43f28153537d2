"""Ids of rows that left are known for seven days, to the hour, and without their texts."""

from __future__ import annotations

from efface.store.left_ids import KEPT, LeftIds, record_name

SECRET = bytes(range(32))
HOUR = 3_600


def filled():
    left = LeftIds(SECRET)
    first = left.record([(1, ["a", 7]), (2, ["b"])], now=1_000)
    left.enter(record_name(1), first)
    left.enter(record_name(2), left.record([(1, ["c", "a"])], now=HOUR + 1))
    return left


def test_ids_that_left_are_found_by_model_and_kind():
    left = filled()
    assert left.among(1, ["x", "a", 7, "7", "b"]) == [1, 2]
    assert left.among(2, ["b", "a"]) == [0]
    assert LeftIds(SECRET).among(1, ["a"]) == []


def test_records_are_over_after_seven_days_to_the_hour():
    left = filled()
    assert left.outdated(1_000 + KEPT) == []
    assert left.outdated(HOUR + KEPT) == [record_name(1)]
    assert left.among(1, ["a", 7, "c"]) == [0, 2]  # "a" left again later
    assert left.outdated(2 * HOUR + KEPT) == [record_name(2)]
    assert len(left) == 0


def test_a_record_holds_eight_bytes_per_id_that_depend_on_the_secret():
    contents = [LeftIds(secret).record([(1, ["ann"])], 0) for secret in (SECRET, bytes(32))]
    assert [len(content["digests"]) for content in contents] == [16, 16]
    assert contents[0] != contents[1]
