"""Files of requests: ids alone, or each with a time or a row."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import BadTable
from efface.files.requests import Request, RequestQueue, Requests, read_requests
from efface.files.row_batches import RowBatch


def read(tmp_path, text, *, whole=True, calendar=None):
    path = tmp_path / "requests.csv"
    path.write_text(text, encoding="utf-8")
    return read_requests(str(path), whole=whole, calendar=calendar)


@pytest.mark.parametrize("text", ["7\n3\n", "id\n7\n\n3\n", "\ufeffid\r\n 7 \r\n3"])
def test_ids_alone_are_for_the_end_of_the_stream(tmp_path, text):
    assert read(tmp_path, text) == Requests("end", (Request(7), Request(3)))


def test_ids_may_be_text(tmp_path):
    assert read(tmp_path, "7\nann\n", whole=False).ids == {"7", "ann"}


def test_requests_are_sorted_by_row_or_time(tmp_path):
    found = read(tmp_path, "row,id\n9,1\n4,2\n9,0\n")
    assert found == Requests("row", (Request(2, 4), Request(1, 9), Request(0, 9)))
    found = read(tmp_path, "Time,ID\n2011-02-01 10:00,1\n2011-01-01,2\n", calendar=True)
    times = [np.datetime64("2011-01-01", "ns"), np.datetime64("2011-02-01T10:00", "ns")]
    assert found == Requests("time", (Request(2, times[0]), Request(1, times[1])))
    assert read(tmp_path, "time,id\n2.5,1\n", calendar=False).each == (Request(1, 2.5),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("ann\n", "at line 1, id is 'ann': expected a whole number"),
        ("row,id\n1,2\nsoon,3\n", "at line 3, row is 'soon': expected a whole number"),
        ("row,id\n1,2\n3\n", "at line 3 has 1 values: expected row,id"),
        ("time,id\n2011-01-01,3\n", "has times, but the rows have none"),
        ("1,2\n", "begins with '1,2': expected the header"),
        ("7\n1,2\n", "at line 2 has 2 values: expected id"),
    ],
)
def test_unusable_files_are_refused(tmp_path, text, expected):
    with pytest.raises(BadTable) as refused:
        read(tmp_path, text)
    assert expected in str(refused.value)


def test_unusable_times_are_refused(tmp_path):
    for text, calendar in (("time,id\nsoon,3\n", True), ("time,id\nsoon,3\n", False)):
        with pytest.raises(BadTable, match=r"at line 2, time is 'soon': expected a time"):
            read(tmp_path, text, calendar=calendar)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadTable, match="does not exist"):
        read_requests(str(tmp_path / "none"), whole=True, calendar=None)


def test_the_queue_returns_requests_at_their_row():
    rows = RowBatch(np.arange(10, 15), np.ones((5, 1)), np.ones(5), None)
    queue = RequestQueue(Requests("row", (Request(1, 3), Request(2, 12), Request(3, 99))))
    assert queue.pop_due(rows, 0) == [Request(1, 3)]
    assert queue.next_position(rows) == 2
    assert queue.pop_due(rows, 2) == [Request(2, 12)]
    assert queue.next_position(rows) == 5
    assert queue.pop_all() == [Request(3, 99)]
    assert queue.pop_all() == []


def test_the_queue_remembers_where_named_ids_arrived():
    rows = RowBatch(np.arange(3), np.ones((3, 1)), np.ones(3), None, None, ["a", "b", "a"])
    queue = RequestQueue(Requests("end", (Request("x"), Request("z"))))
    queue.note_arrivals(rows, ["x", "y", "x"])
    assert queue.arrivals == {"x": (2, "a")}
