"""Text as it occurs in practice: blank lines, quotes, byte order marks, missing fields."""

from __future__ import annotations

import io

import pytest

from efface.errors import BadTable
from efface.files.tables import NUMBERS, TEXTS
from efface.files.text_readers import CsvTable, JsonTable, TextFile, TextPipe


def csv(tmp_path, text, delimiter=","):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return CsvTable(str(path), TextFile(path), delimiter, None)


def texts(table, column):
    return [v for chunk in table.chunks({column: TEXTS}) for v in chunk.column(column).to_pylist()]


def test_quoted_values_may_contain_delimiters_and_line_breaks(tmp_path):
    table = csv(tmp_path, 'a,"b,c"\n1,"x,\ny"\n2,z\n')
    assert list(table.columns) == ["a", "b,c"]
    assert texts(table, "b,c") == ["x,\ny", "z"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_marks_and_line_endings_do_not_matter(tmp_path, end):
    table = csv(tmp_path, "\ufeffa,b" + end + "1,2" + end)
    assert list(table.columns) == ["a", "b"]
    assert texts(table, "a") == ["1"]


def test_blank_lines_are_not_rows_but_count_as_lines(tmp_path):
    table = csv(tmp_path, "a,b\n\n1,2\n\n\n3,4\n")
    assert texts(table, "a") == ["1", "3"]
    assert [table.place(row) for row in (0, 1)] == ["line 3", "line 6"]


def test_one_column_needs_no_delimiter(tmp_path):
    assert texts(csv(tmp_path, "a\n1\n2\n"), "a") == ["1", "2"]


def test_the_delimiter_can_be_given(tmp_path):
    assert texts(csv(tmp_path, "a;b\n1;2,5\n", ";"), "b") == ["2,5"]


def test_errors_in_a_pipe_have_line_numbers():
    pipe = TextPipe(io.BytesIO(b"a,b\n1,2\n3,x\n"))
    table = CsvTable("standard input", pipe, ",", None)
    with pytest.raises(BadTable, match=r"'standard input' at line 3, column 'b' is 'x'"):
        list(table.chunks({"b": NUMBERS}))


def test_json_objects_may_lack_a_field(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": 2}\n{"b": 3}\n')
    (chunk,) = JsonTable(str(path), path).chunks({"a": NUMBERS, "b": NUMBERS})
    assert chunk.column("a").to_pylist() == [1.0, None]
