"""Text as it occurs in practice: blank lines, quotes, byte order marks, missing fields."""

from __future__ import annotations

import io

import pytest

from efface.errors import BadTable
from efface.files.number_text import NumberFormat
from efface.files.sources import Pipe, Text, open_source
from efface.files.tables import NUMBERS, TEXTS
from efface.files.text_readers import CsvTable, JsonTable, TextFormat


def csv(tmp_path, text, delimiter=",", numbers=None):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    form = TextFormat(delimiter, numbers=numbers or NumberFormat())
    return CsvTable(Text(open_source(str(path))), form)


def numbers(table, column):
    chunks = table.chunks({column: NUMBERS})
    return [v for chunk in chunks for v in chunk.column(column).to_pylist()]


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
    pipe = Pipe("standard input", io.BytesIO(b"a,b\n1,2\n3,x\n"))
    table = CsvTable(Text(pipe))
    with pytest.raises(BadTable, match=r"'standard input' at line 3, column 'b' is 'x'"):
        list(table.chunks({"b": NUMBERS}))


def test_json_objects_may_lack_a_field(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": 2}\n{"b": 3}\n')
    (chunk,) = JsonTable(Text(open_source(str(path)))).chunks({"a": NUMBERS, "b": NUMBERS})
    assert chunk.column("a").to_pylist() == [1.0, None]


@pytest.mark.parametrize("form", ["true", "True", "TRUE"])
def test_truth_values_are_numbers(tmp_path, form):
    other = {"true": "false", "True": "False", "TRUE": "FALSE"}[form]
    table = csv(tmp_path, f"a,b\n{form},1\n{other},2\n,3\n1,4\n")
    assert numbers(table, "a") == [1.0, 0.0, None, 1.0]
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": true}\n{"a": false}\n')
    assert numbers(JsonTable(Text(open_source(str(path)))), "a") == [1.0, 0.0]


def test_a_later_value_that_is_no_truth_value_is_refused(tmp_path):
    text = "a,b\n" + "True,1\n" * 200_000 + "0.5,1\n"
    with pytest.raises(BadTable, match=r"at line 200002, column 'a' is '0.5': expected true or f"):
        numbers(csv(tmp_path, text), "a")


def test_a_decimal_comma_is_an_option(tmp_path):
    text = "a;b\n1,5;-2,25e3\n;3\n"
    table = csv(tmp_path, text, ";", NumberFormat(","))
    assert numbers(table, "a") == [1.5, None]
    assert numbers(table, "b") == [-2250.0, 3.0]
    with pytest.raises(
        BadTable, match=r"column 'a' is '1,5': expected a number; add --decimal ','"
    ):
        numbers(csv(tmp_path, text, ";"), "a")


GROUPED = [
    ("a;b\n1.234.567,5;NA\n-12;1.000\n,5;7\n", NumberFormat(",", "."), [1234567.5, -12.0, 0.5]),
    ("a;b\n1,234,567.5;NA\n-12;1,000\n.5;7\n", NumberFormat(".", ","), [1234567.5, -12.0, 0.5]),
    ("a;b\n1\u202f234\u00a0567,5;NA\n-12;1 000\n,5;7\n", NumberFormat(",", " "), None),
    ("a;b\n1'234'567.5;NA\n-12;1'000\n.5;7\n", NumberFormat(".", "'"), None),
]


@pytest.mark.parametrize(("text", "form", "expected"), GROUPED)
def test_separators_of_thousands_are_an_option(tmp_path, text, form, expected):
    table = csv(tmp_path, text, ";", form)
    assert table.kind("a").value == table.kind("b").value == "numbers"
    assert numbers(table, "a") == (expected or [1234567.5, -12.0, 0.5])
    assert numbers(table, "b") == [None, 1000.0, 7.0]
    with pytest.raises(BadTable, match=r"expected a number; add --(decimal|thousands)"):
        numbers(csv(tmp_path, text, ";"), "a")


@pytest.mark.parametrize("value", ["1.23", "12.34.567", "1.2345", "1,5,5", "x"])
def test_numbers_with_misplaced_separators_are_refused(tmp_path, value):
    text = "a;b\n" + "1.234,5;1\n" * 100_000 + f"{value};1\n"
    table = csv(tmp_path, text, ";", NumberFormat(",", "."))
    with pytest.raises(BadTable, match=rf"at line 100002, column 'a' is '{value}': expected a num"):
        numbers(table, "a")


def test_quoted_numbers_may_contain_the_delimiter(tmp_path):
    table = csv(tmp_path, 'a,b\n"1,234",2\n"5",3\n', ",", NumberFormat(".", ","))
    assert numbers(table, "a") == [1234.0, 5.0]
