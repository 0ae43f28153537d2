"""Several files are one stream of rows; errors name the file that is at fault."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet
import pytest

from efface.errors import BadTable
from efface.files.joined_tables import expand, open_tables
from efface.files.row_batches import read_rows
from efface.files.schema import RequestedColumns, resolve_schema
from efface.files.tables import NUMBERS, TEXTS, Kind
from efface.files.text_readers import PLAIN


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def joined(place, **texts):
    """The table in files of these names, in CSV."""
    for name, text in texts.items():
        (place / f"{name}.csv").write_text(text)
    return open_tables([f"{name}.csv" for name in texts], PLAIN)


def values(table, column, type=NUMBERS):
    return [v for chunk in table.chunks({column: type}) for v in chunk.column(column).to_pylist()]


def test_files_of_different_formats_are_one_table(place):
    (place / "a.csv").write_text("x,y,who\n1,2,ann\n3,4,bob\n")
    (place / "b.csv").write_bytes(gzip.compress(b"y,x,who\n6,5.5,\n"))
    pyarrow.parquet.write_table(pa.table({"who": ["cy"], "x": [True], "y": [8]}), "c.parquet")
    table = open_tables(["a.csv", "b.csv", "c.parquet"], PLAIN)
    assert table.name == "a.csv and 2 more files"
    assert values(table, "x") == [1.0, 3.0, 5.5, 1.0]
    assert values(table, "y") == [2.0, 4.0, 6.0, 8.0]
    assert values(table, "who", TEXTS) == ["ann", "bob", "", "cy"]
    assert table.kind("x") is Kind.NUMBER
    assert table.rereadable
    assert table.columns["y"] == pa.int64()


def test_patterns_name_files_in_alphabetical_order(place):
    for month in ("03", "01", "02"):
        (place / f"rides-{month}.csv").write_text("x\n1\n")
    assert expand(["rides-*.csv", "-"]) == [f"rides-0{k}.csv" for k in (1, 2, 3)] + ["-"]
    (place / "odd[1].csv").write_text("x\n1\n")
    assert expand(["odd[1].csv"]) == ["odd[1].csv"]
    with pytest.raises(BadTable, match=r"'none-\*.csv' matches no file"):
        expand(["none-*.csv"])
    with pytest.raises(BadTable, match="'-' is named twice"):
        expand(["-", "-"])


def test_progress_goes_on_over_files(place):
    table = joined(place, a="x\n1\n", b="x\n2\n")
    shares = [table.progress() for _ in table.chunks({"x": NUMBERS})]
    assert shares == [0.5, 1.0]


def test_a_column_of_different_kinds_is_refused_when_it_is_used(place):
    table = joined(place, a="x,y,z\n1,2,3\n", b="x,y\n5,rain\n", c="x,y,z\n1,2,3\n")
    with pytest.raises(BadTable, match=r"'b.csv', column 'y' holds text: expected numbers, as"):
        resolve_schema(table, RequestedColumns("x", ["y"]))
    with pytest.raises(BadTable, match=r"'b.csv' has no column 'z'"):
        resolve_schema(table, RequestedColumns("x", ["z"]))
    with pytest.raises(BadTable, match=r"'b.csv'"):
        resolve_schema(table, RequestedColumns("x"))
    assert values(table, "x") == [1.0, 5.0, 1.0]


def test_times_with_and_without_a_time_zone_do_not_mix(place):
    table = joined(place, a="t,y\n2011-01-01 00:00,1\n", b="t,y\n2011-01-01T00:00Z,2\n")
    with pytest.raises(BadTable, match=r"column 't' holds times with a time zone: expected times,"):
        table.kind("t")


def rows_of(table, **roles):
    return list(read_rows(table, resolve_schema(table, RequestedColumns("y", ["x"], **roles))))


def test_errors_name_the_file_and_the_line(place):
    with pytest.raises(BadTable, match=r"'b.csv' at line 3, column 'x' is missing"):
        rows_of(joined(place, a="x,y\n1,2\n3,4\n", b="x,y\n1,2\n,4\n"))
    table = joined(place, a="t,x,y\n5,1,2\n", b="t,x,y\n4,1,2\n")
    with pytest.raises(BadTable, match=r"'b.csv' at line 2, column 't' is 4.0: expected no earlie"):
        rows_of(table, time="t")
    long = "x,y\n" + "1,2\n" * 400_000
    with pytest.raises(BadTable, match=r"'b.csv' at line 400002, column 'y' is 'x': .*another --t"):
        rows_of(joined(place, a="x,y\n1,2\n", b=long + "1,x\n"))
