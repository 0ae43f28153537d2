"""Every file format gives the same rows, in chunks; errors name the line or row."""

from __future__ import annotations

import gzip
import io
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from efface.errors import BadTable
from efface.files.readers import open_table
from efface.files.tables import NUMBERS, TEXTS, TIMES, WHOLE, Kind

TEXT = "when,who,x,y\n2011-01-01 05:00,ann,1.5,2\n2011-01-02 06:30,bob,-2,3e2\n"
WANTED = {"when": TIMES, "who": TEXTS, "x": NUMBERS, "y": NUMBERS}
ROWS = {
    "when": [np.datetime64("2011-01-01T05:00", "ns"), np.datetime64("2011-01-02T06:30", "ns")],
    "who": ["ann", "bob"],
    "x": [1.5, -2.0],
    "y": [2.0, 300.0],
}


def table():
    columns = {
        "when": pa.array(np.array(ROWS["when"])).cast(pa.timestamp("ms")),
        "who": ROWS["who"],
    }
    return pa.table({**columns, "x": ROWS["x"], "y": pa.array([2, 300], pa.int16())})


def write(path, form):
    """Write the table in this format."""
    lines = [
        json.dumps({"when": when, "who": who, "x": x, "y": y})
        for when, who, x, y in zip(
            ["2011-01-01 05:00", "2011-01-02 06:30"], ROWS["who"], ROWS["x"], ROWS["y"], strict=True
        )
    ]
    if form == "csv":
        path.write_text(TEXT)
    elif form == "tsv":
        path.write_text(TEXT.replace(",", "\t"))
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(TEXT.encode()))
    elif form == "jsonl":
        path.write_text("\n".join(lines) + "\n")
    elif form == "parquet":
        pyarrow.parquet.write_table(table(), path)
    elif form == "feather":
        pyarrow.feather.write_feather(table(), path)
    else:
        with pa.ipc.new_stream(path, table().schema) as stream:
            stream.write_table(table())


def content(found, wanted):
    chunks = list(found.chunks(wanted))
    return {
        name: [v for c in chunks for v in c.column(name).to_numpy(zero_copy_only=False)]
        for name in wanted
    }


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "jsonl", "parquet", "feather", "arrows"])
def test_every_format_gives_the_same_rows(tmp_path, form):
    path = tmp_path / f"table.{form}"
    write(path, form)
    found = open_table(str(path))
    kinds = [found.kind(name) for name in ("when", "who", "x", "y")]
    assert kinds == [Kind.TIME, Kind.TEXT, Kind.NUMBER, Kind.NUMBER]
    assert content(found, WANTED) == ROWS
    assert content(found, {"y": NUMBERS}) == {"y": ROWS["y"]}  # a second time, and only one column


def test_binary_formats_are_recognised_by_content(tmp_path):
    path = tmp_path / "rides.dat"
    write(path, "parquet")
    assert content(open_table(str(path)), WANTED) == ROWS


def piped(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return open_table("-")


def test_standard_input_gives_the_same_rows(monkeypatch):
    found = piped(monkeypatch, TEXT)
    assert not found.rereadable
    assert content(found, WANTED) == ROWS


def long_text(rows):
    rng = np.random.default_rng(5)
    return "a,b\n" + "".join(f"{x:.15f},{k}\n" for k, x in enumerate(rng.normal(size=rows)))


def test_long_tables_are_read_in_chunks_and_completely(tmp_path, monkeypatch):
    text, rows = long_text(300_000), 300_000
    path = tmp_path / "long.csv"
    path.write_text(text)
    wanted = {"b": WHOLE}
    found = open_table(str(path))
    shares, numbers = [], []
    for chunk in found.chunks(wanted):
        numbers += chunk.column("b").to_pylist()
        shares.append(found.progress())
    assert numbers == list(range(rows))
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert content(piped(monkeypatch, text), wanted)["b"] == numbers


def test_empty_and_boolean_columns_are_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n,true\n,false\n")
    found = open_table(str(path))
    assert found.kind("a") is found.kind("b") is Kind.NUMBER
    pyarrow.parquet.write_table(pa.table({"b": [True, False]}), tmp_path / "t.parquet")
    binary = open_table(str(tmp_path / "t.parquet"))
    assert content(binary, {"b": NUMBERS}) == {"b": [1.0, 0.0]}


def test_times_with_a_time_zone_become_utc(tmp_path):
    path = tmp_path / "t.parquet"
    when = pa.array(ROWS["when"][:1]).cast(pa.timestamp("us", "Europe/Berlin"))
    pyarrow.parquet.write_table(pa.table({"when": when}), path)
    zoned = content(open_table(str(path)), {"when": pa.timestamp("ns", "UTC")})
    assert zoned == {"when": [np.datetime64("2011-01-01T05:00", "ns")]}


BROKEN = {
    "empty.csv": ("", "'{}' is empty: expected a header and rows"),
    "blank.csv": ("\n\n", "'{}' is empty: expected a header and rows"),
    "header.csv": ("a,b\n", "'{}' has a header but no rows"),
    "ragged.csv": ("a,b\n1,2\n\n3\n", "'{}' at line 4 has 1 values: expected 2, as in the header"),
    "long.csv": ("a,b\n1,2,3\n", "'{}' at line 2 has 3 values: expected 2"),
    "marks.csv": (
        "a;b\n1;2\n",
        "'{}' at line 1 has no ',' in its header 'a;b': values seem to be sep",
    ),
    "text.csv": ("a,b\n1,2\n3,x\n", "'{}' at line 3, column 'b' is 'x': expected a number"),
    "junk.csv": (bytes(range(256)) * 20, "'{}' is not text, it contains zero bytes"),
    "twice.csv": ("a,a\n1,2\n", "'{}' has two columns 'a': rename one"),
    "cut.jsonl": ('{"a":1,"b":2}\n{"a":1\n', "'{}' at line 2 is not a JSON object"),
    "kind.jsonl": ('{"a":1,"b":2}\n\n{"a":1,"b":"x"}\n', "'{}' at line 3, column 'b' is a string"),
    "junk.parquet": (b"PAR1" + bytes(40), "'{}' cannot be read: expected a complete Parquet file"),
    "junk.feather": (b"ARROW1" + bytes(40), "'{}' cannot be read: expected a complete Arrow file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_errors_name_the_file_and_the_line(tmp_path, name):
    text, expected = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadTable) as refused:
        list(open_table(str(path)).chunks({"a": NUMBERS, "b": NUMBERS}))
    assert expected.format(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_value_far_down_has_its_line_number(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(long_text(300_000) + "\noops,1\n")
    with pytest.raises(BadTable, match=r"at line 300003, column 'a' is 'oops'"):
        list(open_table(str(path)).chunks({"a": NUMBERS}))


def test_a_wrong_json_value_far_down_has_its_line_number(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text("".join(f'{{"a": {k}.0}}\n' for k in range(400_000)) + '{"a": "oops"}\n')
    with pytest.raises(BadTable, match=r"at line 400001, column 'a' is a string"):
        list(open_table(str(path)).chunks({"a": NUMBERS}))


def test_missing_files_and_columns_are_refused(tmp_path):
    with pytest.raises(BadTable, match=r"none.csv' does not exist"):
        open_table(str(tmp_path / "none.csv"))
    write(tmp_path / "t.csv", "csv")
    with pytest.raises(BadTable, match=r"has no column 'whn': did you mean 'when'\?"):
        open_table(str(tmp_path / "t.csv")).require("whn")
