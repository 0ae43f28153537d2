"""Files of requests: ids alone, or each with a time or a row."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import BadTable
from efface.files.requests import Request, RequestQueue, Requests, read_requests
from efface.files.row_batches import RowBatch


def read(tmp_path, text, *, whole=True, calendar=None, whole_owners=None):
    path = tmp_path / "requests.csv"
    path.write_text(text, encoding="utf-8")
    return read_requests(str(path), whole=whole, calendar=calendar, whole_owners=whole_owners)


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
        ("1,2\n", "begins with '1,2': expected a header"),
        ("7\n1,2\n", "at line 2 has 2 values: expected id"),
        ("owner\nann\n", "has owners, but the rows have none: name their --owner column"),
        ("time,row,id\n1,2,3\n", "begins with 'time,row,id': expected a header such as"),
        ("id,id\n1,2\n", "begins with 'id,id': expected a header such as"),
    ],
)
def test_unusable_files_are_refused(tmp_path, text, expected):
    with pytest.raises(BadTable) as refused:
        read(tmp_path, text)
    assert expected in str(refused.value)


OWNED = [
    (
        "row,id,owner\n1,2,\n3,,\n",
        "at line 3 has no id and no owner: expected one of them per line",
    ),
    ("id,owner\n1,7\n", "at line 2 has both an id and an owner: expected one of them per line"),
    ("row,owner\n1,ann\n", "at line 2, owner is 'ann': expected a whole number, as the owners"),
    ("row,owner\n1, \n", "at line 2 has no owner: expected one"),
]


@pytest.mark.parametrize(("text", "expected"), OWNED)
def test_a_line_names_an_id_or_an_owner(tmp_path, text, expected):
    with pytest.raises(BadTable) as refused:
        read(tmp_path, text, whole_owners=True)
    assert expected in str(refused.value)


def test_owners_stand_beside_ids_or_instead_of_them(tmp_path):
    found = read(tmp_path, "owner\nann\n", whole_owners=False)
    assert found == Requests("end", (Request(owner="ann"),))
    found = read(tmp_path, "id,Owner,row\n,ann,9\n4,,2\n", whole_owners=False)
    assert found == Requests("row", (Request(4, 2), Request(None, 9, "ann")))
    assert (found.ids, found.owners) == ({4}, {"ann"})
    assert [each.line for each in found.each] == [3, 2]
    assert read(tmp_path, "owner\n7\n", whole_owners=True).owners == {7}


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


def test_the_queue_remembers_where_named_rows_arrived():
    owners = ["ann", None, "ann"]
    rows = RowBatch(
        np.arange(3), np.ones((3, 1)), np.ones(3), None, None, list("aba"), owners=owners
    )
    asked = Request("x"), Request("z"), Request(owner="ann"), Request(owner="bob")
    queue = RequestQueue(Requests("end", asked))
    queue.note_arrivals(rows, ["x", "y", "x"])
    queue.note_arrivals(rows.take(np.array([1])), ["x"])
    found = [(list(queue.arrivals(each).groups), queue.arrivals(each).newest) for each in asked]
    assert found == [(["b"], 1), ([], None), (["a"], 2), ([], None)]
