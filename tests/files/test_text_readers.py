"""Text with all that occurs in the wild: blank lines, quotes, marks of order, many columns."""

from __future__ import annotations

import io

import pytest

from efface.errors import BadTable
from efface.files.tables import NUMBERS, TEXTS
from efface.files.text_readers import Csv, Json, Pipe, Reopened


def csv(tmp_path, text, delimiter=","):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Csv(str(path), Reopened(path), delimiter, None)


def texts(table, column):
    return [v for chunk in table.chunks({column: TEXTS}) for v in chunk.column(column).to_pylist()]


def test_quotes_may_hold_delimiters_and_lines(tmp_path):
    table = csv(tmp_path, 'a,"b,c"\n1,"x,\ny"\n2,z\n')
    assert list(table.columns) == ["a", "b,c"]
    assert texts(table, "b,c") == ["x,\ny", "z"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marks_and_ends_of_lines_do_not_matter(tmp_path, end):
    table = csv(tmp_path, "\ufeffa,b" + end + "1,2" + end)
    assert list(table.columns) == ["a", "b"]
    assert texts(table, "a") == ["1"]


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path):
    table = csv(tmp_path, "a,b\n\n1,2\n\n\n3,4\n")
    assert texts(table, "a") == ["1", "3"]
    assert [table.place(row) for row in (0, 1)] == ["line 3", "line 6"]


def test_one_column_needs_no_delimiter(tmp_path):
    assert texts(csv(tmp_path, "a\n1\n2\n"), "a") == ["1", "2"]


def test_other_delimiters_can_be_named(tmp_path):
    assert texts(csv(tmp_path, "a;b\n1;2,5\n", ";"), "b") == ["2,5"]


def test_a_pipe_tells_lines_as_well():
    pipe = Pipe(io.BytesIO(b"a,b\n1,2\n3,x\n"))
    table = Csv("standard input", pipe, ",", None)
    with pytest.raises(BadTable, match=r"'standard input' at line 3, column 'b' is 'x'"):
        list(table.chunks({"b": NUMBERS}))


def test_objects_may_lack_a_field(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": 2}\n{"b": 3}\n')
    (chunk,) = Json(str(path), path).chunks({"a": NUMBERS, "b": NUMBERS})
    assert chunk.column("a").to_pylist() == [1.0, None]
