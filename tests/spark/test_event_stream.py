"""Streams: every event answered, nothing lost by kill -9, nothing readable after a forget."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import spark_stream as streams

from efface import KeepFor, Ridge
from efface.errors import BadTime, InvalidValue
from efface.spark import readable_remains, to_keys
from efface.spark.key_processor import STATE
from efface.spark.key_state import KeySettings, KeyState

HERE = Path(__file__).parent


def event(shop, name, minute, **more):
    at = f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"
    values = {"x": minute % 7 - 3.0, "z": minute % 5 / 2, "y": minute % 11 - 4.0}
    return {"shop": shop, "id": name, "at": at, **values, **more}


def request(shop, minute, **more):
    return event(shop, None, minute, kind="forget", **more)


def history(count):
    """Batches of events of five shops: rows, predictions, requests, a late and a repeated row."""
    for number in range(count):
        minutes = range(number * 12, number * 12 + 12)
        events = [event(f"s{m % 5}", f"r{m}", m, person=f"p{m % 3}") for m in minutes]
        events.append(event("s1", "asked", minutes[-1], y=None))
        if number:
            events.append(request(f"s{number % 5}", minutes[-1], person=f"p{number % 3}"))
            events.append(event("s2", f"late{number}", minutes[0] - 5))
            events.append(event("s3", f"r{minutes[0] - 2}", minutes[1]))
        yield events


def wait_for(condition, seconds=240):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.05)


def test_a_stream_that_is_killed_goes_on_as_if_it_had_not_been(spark, tmp_path):
    count = 6
    for number, events in enumerate(history(count)):
        for place in ("whole", "killed"):
            streams.write_batch(tmp_path / place, number, events)
    script = [sys.executable, str(HERE.parent / "spark_stream.py"), str(tmp_path / "killed")]
    paths = os.pathsep.join([str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    child = subprocess.Popen(
        script,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        place = tmp_path / "killed"
        wait_for(lambda: 3 in streams.batches(place, "offsets") or child.poll() is not None)
        assert child.poll() is None
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert 3 not in streams.batches(place), "batch 3 was begun, and not committed"
    for place in ("killed", "whole"):
        found = streams.results(
            spark, tmp_path / place, Ridge(window=5), timers=False, interval=0.9
        )
        query = streams.start(found, tmp_path / place, availableNow=True)
        query.awaitTermination()
    one, other = (streams.read(spark, tmp_path / place) for place in ("killed", "whole"))
    assert one == other
    assert len(one) == sum(map(len, history(count)))
    statuses = {row[4] for row in one}
    assert statuses >= {"learned", "late", "predicted", "repeated", "forgotten"}


def files_with(place, *needles):
    """The files of a checkpoint that contain one of some bytes; archives are unpacked."""
    found = []
    for path in (path for path in place.rglob("*") if path.is_file()):
        try:
            content = path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    content += b"".join(map(archive.read, archive.namelist()))
        except FileNotFoundError:  # deleted by the maintenance in this moment
            continue
        if any(needle in content for needle in needles):
            found.append(path.name)
    return found


SECRET, NAME = 1234.56789, "row-of-ann-7351"
NEEDLES = struct.pack("<d", SECRET), NAME.encode()


def held_ids(spark, place, model):
    """The ids of the rows that Spark's reader of states finds."""
    state = spark.read.format("statestore").option("stateVarName", STATE)
    rows = state.load(str(place / "checkpoint")).select("value.*").collect()
    settings = KeySettings(model, width=2)
    models = [KeyState(settings, bytes(row.rows), None).model for row in rows if row.rows]
    return {name for model in models for name in model.ids_}


@pytest.mark.parametrize("clean", [True, False], ids=["our settings", "Spark's settings"])
def test_a_forgotten_row_is_in_no_file_of_the_checkpoint(spark, tmp_path, clean):
    model = Ridge(window=50)
    found = streams.results(spark, tmp_path, model, timers=False)
    assert readable_remains(spark) == []
    if not clean:
        for name in ("rocksdb.compactOnCommit", "rocksdb.changelogCheckpointing.enabled"):
            spark.conf.unset(f"spark.sql.streaming.stateStore.{name}")
        for name in ("minBatchesToRetain", "ratioExtraSpaceAllowedInCheckpoint"):
            spark.conf.unset(f"spark.sql.streaming.{name}")
        assert len(readable_remains(spark)) >= 2
    rows = [event(f"s{m % 5}", f"r{m}", m) for m in range(20)]
    steps = [
        [*rows, event("s1", NAME, 20, x=SECRET)],
        [request("s1", 21) | {"id": NAME}],
        [event("s2", "r22", 22)],
        [event("s3", "r23", 23)],
        [event("s4", "r24", 24)],
    ]
    streams.write_batch(tmp_path, 0, steps[0])
    query = streams.start(found, tmp_path, processingTime="100 milliseconds")
    place, there = tmp_path / "checkpoint", []
    try:
        for number, events in enumerate(steps):
            if number:
                streams.write_batch(tmp_path, number, events)
            wait_for(lambda number=number: number in streams.batches(tmp_path))
            if number == 0:
                there = files_with(place, *NEEDLES)
        if clean:
            wait_for(lambda: not files_with(place, *NEEDLES), seconds=60)
        else:
            time.sleep(2.0)  # ten rounds of maintenance
        remains = files_with(place, *NEEDLES)
    finally:
        query.stop()
    assert there, "the scan finds a row that is not forgotten"
    assert (remains == []) is clean
    ids = held_ids(spark, tmp_path, model)
    assert NAME not in ids
    assert {"r19", "r22", "r24"} <= ids


def test_no_event_stops_a_stream_and_every_one_is_answered(spark, tmp_path):
    steps = [
        [event("s1", f"r{m}", m) for m in (10, 20, 30, 40, 50)],
        [
            event("s1", "late", 45),
            event("s1", "old", 1),
            event("s1", "r50", 51),
            event("s1", "bad", 52, x=None),
            event("s1", "odd", 53, kind="erase"),
            event("s1", "asked", 54, y=None),
            request("s1", 55) | {"id": "nobody"},
            event(None, "keyless", 56),
            request(None, 57, person="ann"),
            event("once", "single", 58),
        ],
        [event("s1", "nobody", 55), event("s1", "next", 60)],
    ]
    for number, events in enumerate(steps):
        streams.write_batch(tmp_path, number, events)
    found = streams.results(spark, tmp_path, Ridge(window=5), timers=False)
    query = streams.start(found, tmp_path, availableNow=True)
    query.awaitTermination()
    assert query.exception() is None
    told = {row[1]: row[4] for row in streams.read(spark, tmp_path)}
    assert told | {"None": ""} == {
        **{f"r{m}": "learned" for m in (10, 20, 30, 40)},
        "r50": told["r50"],
        "late": "late",
        "old": "outdated",
        "bad": "malformed",
        "odd": "malformed",
        "asked": "predicted",
        "nobody": told["nobody"],
        "keyless": "malformed",
        "None": "",
        "single": "learned",
        "next": "learned",
    }
    rows = streams.read(spark, tmp_path)
    assert sorted(row[4] for row in rows if row[1] == "r50") == ["learned", "repeated"]
    assert sorted(row[4] for row in rows if row[1] == "nobody") == ["refused", "unknown"]
    assert [row[4] for row in rows if row[1] == "None"] == ["unknown"]
    assert len(rows) == sum(map(len, steps))


def test_rows_of_a_key_that_never_comes_back_leave_by_the_clock(spark, tmp_path):
    model = Ridge(window=KeepFor("4s"))
    now = datetime.now(UTC)
    rows = [
        event("gone", f"r{n}", 0) | {"at": (now - timedelta(seconds=n)).isoformat()}
        for n in range(2)
    ]
    streams.write_batch(tmp_path, 0, rows)
    query = streams.start(
        streams.results(spark, tmp_path, model), tmp_path, processingTime="500 milliseconds"
    )
    try:

        def expired():
            done = streams.batches(tmp_path)
            return done and sum(int(r[-1]) for r in streams.read(spark, tmp_path)) == 2

        wait_for(expired)
    finally:
        query.stop()
    assert held_ids(spark, tmp_path, model) == set()
    assert {row[4] for row in streams.read(spark, tmp_path)} == {"learned", "expired"}


def test_a_request_without_a_key_reaches_all_keys(spark):
    columns = "shop string, kind string, person string"
    events = spark.createDataFrame(
        [("a", None, "ann"), (None, "forget", "ann"), (None, "forget", "zoe"), (None, None, "ann")],
        columns,
    )
    roles = {"key": "shop", "kind": "kind", "owner": "person"}
    keys = spark.createDataFrame([("a",), ("b",)], "shop string")
    found = to_keys(events, keys, **roles).collect()
    sent = sorted((row.person, row.shop) for row in found if row.kind == "forget")
    assert sent == [("ann", "a"), ("ann", "b"), ("zoe", "a"), ("zoe", "b")]
    assert len(found) == 6
    owned = spark.createDataFrame([("ann", "b")], "person string, shop string")
    found = to_keys(events, owned, **roles).collect()
    assert {(row.person, row.shop) for row in found if row.kind == "forget"} == {
        ("ann", "b"),
        ("zoe", None),
    }


def test_what_cannot_be_used_is_refused_before_a_stream_starts(spark, tmp_path):
    (tmp_path / "in").mkdir()
    events = spark.readStream.schema(streams.SCHEMA).json(str(tmp_path / "in"))
    import efface.spark

    good = {**streams.COLUMNS, "model": Ridge(), "kind": "kind"}
    for change, error, text in (
        ({"at": "x"}, BadTime, "expected timestamp"),
        ({"key": "at"}, InvalidValue, "cast it to a string"),
        ({"x": ["shop"]}, InvalidValue, "a column of numbers"),
        ({"model": Ridge(window=KeepFor(3.0))}, InvalidValue, "times are timestamps"),
        ({"interval": 3.0}, InvalidValue, "interval"),
        ({"remember": "3mo"}, InvalidValue, "remember"),
    ):
        with pytest.raises(error, match=text):
            efface.spark.stream(events, **{**good, **change})
    with pytest.raises(InvalidValue, match="'kind' is 'sort'"):
        to_keys(events, events, key="shop", kind="sort", owner="person")
