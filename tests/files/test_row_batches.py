"""The rows of a table become arrays; gaps, infinities and unordered times are refused."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest

from efface.errors import BadTable
from efface.files.readers import open_table
from efface.files.row_batches import read_rows
from efface.files.schema import RequestedColumns, resolve_schema
from efface.files.text_readers import TextFormat

TEXT = """when,who,sky,x,z,y
2011-01-01,7,clear,1,10,1.5
2011-01-02,9,rain,2,20,2.5
2011-01-02,8,clear,3,30,3.5
2011-01-04,3,snow,4,40,4.5
"""


def table(tmp_path, text=TEXT, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return open_table(str(path))


def rows_of(found, roles, missing="raise", skipped=int):
    (rows,) = read_rows(found, resolve_schema(found, roles), missing, skipped)
    return rows


def test_all_roles(tmp_path):
    roles = RequestedColumns("y", ["z", "x"], time="when", id="who", group="sky")
    rows = rows_of(table(tmp_path), roles)
    np.testing.assert_array_equal(rows.X, [[10, 1], [20, 2], [30, 3], [40, 4]])
    np.testing.assert_array_equal(rows.y, [1.5, 2.5, 3.5, 4.5])
    assert rows.ids == [7, 9, 8, 3]
    assert rows.groups == ["clear", "rain", "clear", "snow"]
    assert rows.at.tolist()[0] == 1_293_840_000_000_000_000
    np.testing.assert_array_equal(rows.number, [0, 1, 2, 3])


@pytest.mark.parametrize("missing", ["raise", "skip"])
def test_a_row_may_have_no_owner_and_no_end(tmp_path, missing):
    text = "at,who,end,x,y\n1,ann,9.5,1,2\n2,,,3,4\n3,bob,,5,6\n"
    roles = RequestedColumns("y", ["x"], time="at", owner="who", until="end")
    rows = rows_of(table(tmp_path, text), roles, missing)
    assert rows.owners == ["ann", None, "bob"]
    np.testing.assert_array_equal(rows.until, [9.5, np.nan, np.nan])
    text = "at,who,end,x,y\n2011-01-01,0,,1,2\n2011-01-01,,2011-02-01,3,4\n"
    rows = rows_of(table(tmp_path, text), roles, missing).take(np.array([1, 0]))
    assert rows.owners == [None, 0]
    expected = np.array(["2011-02-01", "NaT"], dtype="datetime64[ns]")
    np.testing.assert_array_equal(rows.until, expected)


def test_text_becomes_one_column_per_level_after_the_first(tmp_path):
    roles = RequestedColumns("y", ["sky"], one_hot={"sky": ()})
    np.testing.assert_array_equal(
        rows_of(table(tmp_path), roles).X, [[0, 0], [1, 0], [0, 0], [0, 1]]
    )
    roles = RequestedColumns(
        "y", ["x"], one_hot={"sky": ("rain", "snow", "clear")}
    )  # in the order given
    np.testing.assert_array_equal(
        rows_of(table(tmp_path), roles).X, [[1, 0, 1], [2, 0, 0], [3, 0, 1], [4, 1, 0]]
    )


def test_an_unknown_level_is_refused_with_its_line(tmp_path):
    roles = RequestedColumns("y", ["x"], one_hot={"sky": ("clear", "rain")})
    with pytest.raises(BadTable, match=r"at line 5, column 'sky' is 'snow': expected one of"):
        rows_of(table(tmp_path), roles)


def test_the_levels_of_a_pipe_must_be_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    found = open_table("-")
    with pytest.raises(BadTable, match=r"--one-hot sky=first,second"):
        resolve_schema(found, RequestedColumns("y", ["x"], one_hot={"sky": ()}))
    named = RequestedColumns("y", ["x"], one_hot={"sky": ("clear", "rain", "snow")})
    assert rows_of(found, named).X.shape == (4, 3)


def test_a_weight_column_is_not_a_feature(tmp_path):
    found = table(tmp_path)
    roles = RequestedColumns("y", time="when", id="who", group="sky", weight="z")
    assert resolve_schema(found, roles).names == ["x"]
    rows = rows_of(found, roles)
    np.testing.assert_array_equal(rows.weights, [10, 20, 30, 40])
    np.testing.assert_array_equal(rows.part(1, 3).weights, [20, 30])
    assert rows_of(found, RequestedColumns("y", ["x"])).weights is None


@pytest.mark.parametrize("weight", ["-0.5", "inf", "-inf", "2e300"])
@pytest.mark.parametrize("missing", ["raise", "skip"])
def test_unusable_weights_are_refused_with_their_line(tmp_path, weight, missing):
    found = table(tmp_path, f"x,n,y\n1,0,1\n2,{weight},2\n3,1,3\n")
    with pytest.raises(BadTable) as refused:
        rows_of(found, RequestedColumns("y", ["x"], weight="n"), missing)
    place = f"at line 3, column 'n' is {float(weight)}: expected a number from 0 to 1e+300"
    assert place in str(refused.value)


@pytest.mark.parametrize(("column", "value"), [("x", "1e151"), ("y", "-2e150")])
def test_values_that_are_too_large_are_refused_with_their_line(tmp_path, column, value):
    row = {"x": "2", "y": "2"} | {column: value}
    found = table(tmp_path, f"x,y,id\n1,1,a\n{row['x']},{row['y']},b\n")
    expected = f"at line 3, column '{column}' is {float(value)}: expected at most 1e+150 in absol"
    with pytest.raises(BadTable, match=re.escape(expected)):
        rows_of(found, RequestedColumns("y", ["x"], id="id"))


def test_a_weight_that_is_too_large_for_its_row_is_refused_with_its_line(tmp_path):
    found = table(tmp_path, "x,n,y\n1,1e100,1\n1e120,1e100,2\n")
    expected = r"at line 3, column 'n' is 1e\+100: expected a smaller weight, since the row has a l"
    with pytest.raises(BadTable, match=expected):
        rows_of(found, RequestedColumns("y", ["x"], weight="n"))


def test_a_missing_weight_is_a_gap(tmp_path):
    found = table(tmp_path, "x,n,y\n1,2,1\n2,,2\n3,0,3\n")
    roles = RequestedColumns("y", ["x"], weight="n")
    with pytest.raises(BadTable, match="at line 3, column 'n' is missing: expected a value"):
        rows_of(found, roles)
    np.testing.assert_array_equal(rows_of(found, roles, "skip").weights, [2, 0])


GAPS = "x,w,y\n1,a,1\n,b,2\n3,c,\n4,,4\nNaN,d,5\n6,e,6\n"


@pytest.mark.parametrize(
    ("roles", "line", "column"),
    [
        (RequestedColumns("y", ["x"]), 3, "x"),
        (RequestedColumns("y", ["y2"]), 4, "y"),
        (RequestedColumns("x", ["y"]), 3, "x"),
        (RequestedColumns("x2", ["y2"], id="w"), 5, "w"),
    ],
)
def test_a_gap_is_refused_with_its_line_and_column(tmp_path, roles, line, column):
    text = GAPS.replace("x,w,y\n", "x,w,y,x2,y2\n").replace("\n", ",1,1\n")
    text = text.replace("x,w,y,x2,y2,1,1", "x,w,y,x2,y2")
    with pytest.raises(BadTable, match=rf"at line {line}, column '{column}' is missing"):
        rows_of(table(tmp_path, text), roles)


def test_rows_with_gaps_are_skipped_and_counted(tmp_path):
    counted = []
    rows = rows_of(
        table(tmp_path, GAPS), RequestedColumns("y", ["x"], id="w"), "skip", counted.append
    )
    assert rows.ids == ["a", "e"]
    np.testing.assert_array_equal(rows.number, [0, 5])
    assert counted == [4]


def test_the_text_na_is_not_a_gap(tmp_path):
    found = table(tmp_path, "where,sky,x,y\nNA,NA,1,1\nDE,rain,2,2\n,rain,3,3\nDE,,4,4\n")
    roles = RequestedColumns("y", ["x"], group="where", one_hot={"sky": ()})
    assert resolve_schema(found, roles).names == ["x", "sky=rain"]
    rows = rows_of(found, roles, "skip")
    assert rows.groups == ["NA", "DE"]
    np.testing.assert_array_equal(rows.X, [[1, 0], [2, 1]])


def test_infinity_is_refused_even_if_gaps_are_skipped(tmp_path):
    found = table(tmp_path, "x,y\n1,2\ninf,3\n")
    with pytest.raises(BadTable, match=r"at line 3, column 'x' is inf: expected a finite number"):
        rows_of(found, RequestedColumns("y"), "skip")


@pytest.mark.parametrize(
    ("times", "line", "value"),
    [
        (["2011-01-02", "2011-01-01", "2011-01-03"], 3, "'2011-01-01'"),
        (["1", "3", "2.5"], 4, "2.5"),
    ],
)
def test_decreasing_times_are_refused(tmp_path, times, line, value):
    found = table(tmp_path, "t,x,y\n" + "".join(f"{time},1,1\n" for time in times))
    with pytest.raises(BadTable, match=rf"at line {line}, column 't' is {value}: expected no earl"):
        rows_of(found, RequestedColumns("y", ["x"], time="t"))


def test_decreasing_times_are_refused_across_chunks(tmp_path):
    lines = [f"{k},{k}.000000000000000,1\n" for k in range(300_000)]
    found = table(tmp_path, "t,x,y\n" + "".join(lines) + "5,1,1\n")
    with pytest.raises(BadTable, match=r"at line 300002, column 't' is 5.0: expected no earlier"):
        list(read_rows(found, resolve_schema(found, RequestedColumns("y", ["x"], time="t"))))


def test_times_may_have_another_format(tmp_path):
    (tmp_path / "t.csv").write_text("t,x,y\n31/01/2011 14:00,1,1\n01/02/2011 09:00,1,1\n")
    found = open_table(str(tmp_path / "t.csv"), TextFormat(times="%d/%m/%Y %H:%M"))
    rows = rows_of(found, RequestedColumns("y", ["x"], time="t"))
    assert str(rows.at[0]).startswith("2011-01-31T14:00")
    with pytest.raises(BadTable, match="add --time-format"):
        resolve_schema(open_table(str(tmp_path / "t.csv")), RequestedColumns("y", ["x"], time="t"))
