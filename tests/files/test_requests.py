"""Files of requests: ids alone, or with the time or row at which they are to be answered."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import BadTable
from efface.files.requests import Request, Requests, read_requests


def read(tmp_path, text, *, whole=True, calendar=None):
    path = tmp_path / "requests.csv"
    path.write_text(text, encoding="utf-8")
    return read_requests(str(path), whole=whole, calendar=calendar)


@pytest.mark.parametrize("text", ["7\n3\n", "id\n7\n\n3\n", "\ufeffid\r\n 7 \r\n3"])
def test_ids_alone_wait_for_the_end(tmp_path, text):
    assert read(tmp_path, text) == Requests("end", (Request(7), Request(3)))


def test_ids_may_be_texts(tmp_path):
    assert read(tmp_path, "7\nann\n", whole=False).ids == {"7", "ann"}


def test_rows_and_times_are_put_in_order(tmp_path):
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
        ("time,id\n2011-01-01,3\n", "asks by time, but rows have none"),
        ("1,2\n", "begins with '1,2': expected the header"),
        ("7\n1,2\n", "at line 2 has 2 values: expected id"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, text, expected):
    with pytest.raises(BadTable) as refused:
        read(tmp_path, text)
    assert expected in str(refused.value)


def test_times_must_be_times(tmp_path):
    for text, calendar in (("time,id\nsoon,3\n", True), ("time,id\nsoon,3\n", False)):
        with pytest.raises(BadTable, match=r"at line 2, time is 'soon': expected a time"):
            read(tmp_path, text, calendar=calendar)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadTable, match="is not there"):
        read_requests(str(tmp_path / "none"), whole=True, calendar=None)
