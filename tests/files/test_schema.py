"""Columns get their roles, or an error that says which cannot; tables become arrays."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from efface.errors import BadTable
from efface.files.readers import open_table
from efface.files.schema import Wish, assign, read

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


def rows_of(found, wish, missing="raise", skipped=int):
    (rows,) = read(found, assign(found, wish), missing, skipped)
    return rows


def test_all_roles(tmp_path):
    wish = Wish("y", ["z", "x"], time="when", id="who", group="sky")
    rows = rows_of(table(tmp_path), wish)
    np.testing.assert_array_equal(rows.X, [[10, 1], [20, 2], [30, 3], [40, 4]])
    np.testing.assert_array_equal(rows.y, [1.5, 2.5, 3.5, 4.5])
    assert rows.ids == [7, 9, 8, 3]
    assert rows.groups == ["clear", "rain", "clear", "snow"]
    assert rows.at.tolist()[0] == 1_293_840_000_000_000_000
    np.testing.assert_array_equal(rows.number, [0, 1, 2, 3])


def test_without_features_all_columns_without_a_role_are_taken(tmp_path):
    wish = Wish("y", time="when", id="who", one_hot={"sky": ()})
    assert assign(table(tmp_path), wish).names == ["sky=rain", "sky=snow", "x", "z"]


def test_texts_become_columns_one_for_each_level_after_the_first(tmp_path):
    wish = Wish("y", ["sky"], one_hot={"sky": ()})
    np.testing.assert_array_equal(
        rows_of(table(tmp_path), wish).X, [[0, 0], [1, 0], [0, 0], [0, 1]]
    )
    wish = Wish("y", ["x"], one_hot={"sky": ("rain", "snow", "clear")})  # in the order given
    np.testing.assert_array_equal(
        rows_of(table(tmp_path), wish).X, [[1, 0, 1], [2, 0, 0], [3, 0, 1], [4, 1, 0]]
    )


def test_a_level_that_was_not_named_is_refused_with_its_line(tmp_path):
    wish = Wish("y", ["x"], one_hot={"sky": ("clear", "rain")})
    with pytest.raises(BadTable, match=r"at line 5, column 'sky' is 'snow': expected one of"):
        rows_of(table(tmp_path), wish)


def test_a_pipe_has_to_name_its_levels(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    found = open_table("-")
    with pytest.raises(BadTable, match=r"--one-hot sky=first,second"):
        assign(found, Wish("y", ["x"], one_hot={"sky": ()}))
    named = Wish("y", ["x"], one_hot={"sky": ("clear", "rain", "snow")})
    assert rows_of(found, named).X.shape == (4, 3)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish("Y"), "has no column 'Y': did you mean 'y'?"),
        (Wish("y", ["q"]), "has no column 'q': check its name. Its columns are when, who"),
        (
            Wish("y", ["sky"]),
            "at line 2, column 'sky' is 'clear': expected a number; add --one-hot sky",
        ),
        (
            Wish("y", ["when"]),
            "column 'when' holds times: expected numbers; name it with --time when",
        ),
        (Wish("y", ["x", "y"]), "'y' is the --target already"),
        (Wish("y", ["x", "x"]), "'x' is named twice"),
        (Wish("y", ["x"], id="y"), "column 'y' holds numbers: expected ids"),
        (Wish("y", ["x"], time="sky"), "column 'sky' is 'clear': expected a number or a time"),
        (Wish("y", ["x"], weight="heft"), "has no column 'heft'"),
        (Wish("y", ["x", "z"], weight="z"), "'z' is the --weight already: take it from the feat"),
        (Wish("y", ["x"], weight="y"), "'y' is the --target already: name another --weight"),
        (Wish("y", ["x"], id="who", weight="who"), "'who' is the --id already: name another"),
        (
            Wish("y", ["x"], weight="sky"),
            "at line 2, column 'sky' is 'clear': expected a number; name another --weight.",
        ),
        (
            Wish("y", ["x"], weight="when"),
            "column 'when' holds times: expected weights, which are numbers; name another",
        ),
        (Wish("y", []), "has no column left to predict 'y' from"),
    ],
)
def test_roles_that_cannot_be_played(tmp_path, wish, expected):
    with pytest.raises(BadTable) as refused:
        assign(table(tmp_path), wish)
    assert expected in str(refused.value)


def test_a_column_of_weights_is_no_feature(tmp_path):
    found = table(tmp_path)
    wish = Wish("y", time="when", id="who", group="sky", weight="z")
    assert assign(found, wish).names == ["x"]
    rows = rows_of(found, wish)
    np.testing.assert_array_equal(rows.weights, [10, 20, 30, 40])
    np.testing.assert_array_equal(rows.part(1, 3).weights, [20, 30])
    assert rows_of(found, Wish("y", ["x"])).weights is None


@pytest.mark.parametrize("weight", ["-0.5", "inf", "-inf"])
@pytest.mark.parametrize("missing", ["raise", "skip"])
def test_what_is_no_weight_is_refused_with_its_place(tmp_path, weight, missing):
    found = table(tmp_path, f"x,n,y\n1,0,1\n2,{weight},2\n3,1,3\n")
    with pytest.raises(BadTable) as refused:
        rows_of(found, Wish("y", ["x"], weight="n"), missing)
    place = f"at line 3, column 'n' is {float(weight)}: expected a finite number of at least 0"
    assert place in str(refused.value)


def test_a_row_without_a_weight_has_a_gap(tmp_path):
    found = table(tmp_path, "x,n,y\n1,2,1\n2,,2\n3,0,3\n")
    wish = Wish("y", ["x"], weight="n")
    with pytest.raises(BadTable, match="at line 3, column 'n' is missing: expected a value"):
        rows_of(found, wish)
    np.testing.assert_array_equal(rows_of(found, wish, "skip").weights, [2, 0])


def test_too_many_levels_are_refused(tmp_path):
    text = "name,y\n" + "".join(f"n{k},1\n" for k in range(101))
    found = table(tmp_path, text)
    with pytest.raises(BadTable, match="more than 100 different texts"):
        assign(found, Wish("y", one_hot={"name": ()}))
    with pytest.raises(BadTable, match=r"is 'n0': expected a number; choose --features without it"):
        assign(found, Wish("y"))


GAPS = "x,w,y\n1,a,1\n,b,2\n3,c,\n4,,4\nNaN,d,5\n6,e,6\n"


@pytest.mark.parametrize(
    ("wish", "line", "column"),
    [
        (Wish("y", ["x"]), 3, "x"),
        (Wish("y", ["y2"]), 4, "y"),
        (Wish("x", ["y"]), 3, "x"),
        (Wish("x2", ["y2"], id="w"), 5, "w"),
    ],
)
def test_a_gap_is_refused_with_its_place(tmp_path, wish, line, column):
    text = GAPS.replace("x,w,y\n", "x,w,y,x2,y2\n").replace("\n", ",1,1\n")
    text = text.replace("x,w,y,x2,y2,1,1", "x,w,y,x2,y2")
    with pytest.raises(BadTable, match=rf"at line {line}, column '{column}' is missing"):
        rows_of(table(tmp_path, text), wish)


def test_rows_with_gaps_are_skipped_and_counted(tmp_path):
    counted = []
    rows = rows_of(table(tmp_path, GAPS), Wish("y", ["x"], id="w"), "skip", counted.append)
    assert rows.ids == ["a", "e"]
    np.testing.assert_array_equal(rows.number, [0, 5])
    assert counted == [4]


def test_na_may_be_a_name(tmp_path):
    found = table(tmp_path, "where,sky,x,y\nNA,NA,1,1\nDE,rain,2,2\n,rain,3,3\nDE,,4,4\n")
    wish = Wish("y", ["x"], group="where", one_hot={"sky": ()})
    assert assign(found, wish).names == ["x", "sky=rain"]
    rows = rows_of(found, wish, "skip")
    assert rows.groups == ["NA", "DE"]
    np.testing.assert_array_equal(rows.X, [[1, 0], [2, 1]])


def test_infinity_is_refused_even_where_gaps_are_skipped(tmp_path):
    found = table(tmp_path, "x,y\n1,2\ninf,3\n")
    with pytest.raises(BadTable, match=r"at line 3, column 'x' is inf: expected a finite number"):
        rows_of(found, Wish("y"), "skip")


@pytest.mark.parametrize(
    ("times", "line", "value"),
    [
        (["2011-01-02", "2011-01-01", "2011-01-03"], 3, "'2011-01-01'"),
        (["1", "3", "2.5"], 4, "2.5"),
    ],
)
def test_times_must_not_go_back(tmp_path, times, line, value):
    found = table(tmp_path, "t,x,y\n" + "".join(f"{time},1,1\n" for time in times))
    with pytest.raises(BadTable, match=rf"at line {line}, column 't' is {value}: expected no earl"):
        rows_of(found, Wish("y", ["x"], time="t"))


def test_times_must_not_go_back_from_chunk_to_chunk(tmp_path):
    lines = [f"{k},{k}.000000000000000,1\n" for k in range(300_000)]
    found = table(tmp_path, "t,x,y\n" + "".join(lines) + "5,1,1\n")
    with pytest.raises(BadTable, match=r"at line 300002, column 't' is 5.0: expected no earlier"):
        list(read(found, assign(found, Wish("y", ["x"], time="t"))))


def test_times_may_be_written_otherwise(tmp_path):
    (tmp_path / "t.csv").write_text("t,x,y\n31/01/2011 14:00,1,1\n01/02/2011 09:00,1,1\n")
    found = open_table(str(tmp_path / "t.csv"), times="%d/%m/%Y %H:%M")
    rows = rows_of(found, Wish("y", ["x"], time="t"))
    assert str(rows.at[0]).startswith("2011-01-31T14:00")
    with pytest.raises(BadTable, match="add --time-format"):
        assign(open_table(str(tmp_path / "t.csv")), Wish("y", ["x"], time="t"))
