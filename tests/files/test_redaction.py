"""With --redact no output speaks of a forgotten row: every file is read to the last array."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib

import numpy as np
import pyarrow.parquet
import pytest

from efface.files.job import Job, run
from efface.files.redaction import Redaction, redacted
from efface.files.requests import Request, Requests
from efface.files.row_batches import RowBatch
from efface.files.run_log import RequestOutcome
from efface.files.schema import RequestedColumns

N, PEOPLE = 600, 60
RNG = np.random.default_rng(11)
OWNERS = [f"owner-{k:02d}-{zlib.crc32(bytes([k])):08x}" for k in range(PEOPLE)]
OWNER = RNG.integers(0, PEOPLE, N)
OWNER[[0, 1]] = 7, 7  # the first rows are forgotten ones: the next predictions depend on them alone
IDS = [f"row-{k:03d}-{zlib.crc32(bytes([k % 256, k // 256, 9])):08x}" for k in range(N)]
X = RNG.normal(size=(N, 2)).round(9)
Y = (X @ [2.0, -1.0] + 5.0 + 0.3 * RNG.normal(size=N)).round(9)
TIMES = np.datetime64("2024-01-01T00:00:00") + np.cumsum(RNG.integers(60, 9_000, N))
CITY = np.where(OWNER == 7, "Zembla", np.where(RNG.random(N) < 0.5, "Bath", "Cork"))
NAMED = (OWNER == 7) | (OWNER == 19) | np.isin(np.arange(N), [333, 471])


def write_files(place):
    columns = TIMES, IDS, [OWNERS[k] for k in OWNER], CITY, X[:, 0], X[:, 1], Y
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    (place / "rows.csv").write_text("at,id,who,city,a,b,y\n" + "\n".join(lines) + "\n")
    asked = ["row,id,owner", f"300,,{OWNERS[7]}", f"450,{IDS[333]},", f"600,{IDS[471]},"]
    asked += [f"500,,{OWNERS[19]}", "500,,nobody-5f3a"]
    (place / "requests.csv").write_text("\n".join(asked) + "\n")


@pytest.fixture(scope="module", params=["parquet", "csv"])
def results(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("redacted")
    write_files(place)
    roles = RequestedColumns("y", ["a", "b"], "at", "id", one_hot={"city": ()}, owner="who")
    job = Job(str(place / "rows.csv"), roles, model="ols", window=300, compare=True)
    job = Job(**{**vars(job), "forget": str(place / "requests.csv"), "coefficients": True})
    run(job, place / "open", form=request.param)
    run(Job(**{**vars(job), "redact": True}), place / "out", form=request.param)
    return place


def texts(folder):
    """Every file as text; Parquet column by column, so that no encoding hides a value."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            found[path.name] = json.dumps(table.to_pydict(), default=str)
            found[f"{path.name}, raw"] = path.read_bytes().decode("latin-1")
        else:
            found[path.name] = path.read_text("utf-8")
    return found


def numbers(text):
    """All numbers of a text, and those of a page's arrays, which Bokeh compresses."""
    found = [np.array([float(each) for each in re.findall(r"-?\d+\.\d+", text)])]
    pattern = r'"data":"([A-Za-z0-9+/=]+)"\},"shape":\[\d+\],"dtype":"(float32|float64)"'
    for content, dtype in re.findall(pattern, text):
        found.append(np.frombuffer(gzip.decompress(base64.b64decode(content)), dtype))
    return found


def held(folder, values):
    """Which of these values some file contains, at double or at single precision."""
    arrays = [each for text in texts(folder).values() for each in numbers(text)]
    known = {float(each) for array in arrays for each in array.astype(np.float32)}
    return [value for value in values if float(np.float32(value)) in known]


def test_no_file_holds_an_id_or_an_owner_of_a_forgotten_row(results):
    secrets = [OWNERS[7], OWNERS[19], "nobody-5f3a", "Zembla"]
    secrets += [IDS[k] for k in np.flatnonzero(NAMED)]
    secrets += [str(TIMES[k])[11:] for k in np.flatnonzero(NAMED)[:3]]
    for name, text in texts(results / "out").items():
        assert [secret for secret in secrets if secret in text] == [], name
    together = "".join(texts(results / "open").values())
    assert [secret for secret in secrets if secret not in together] == []  # the check can fail


def test_no_file_holds_a_value_of_a_forgotten_row(results):
    milliseconds = TIMES.astype("datetime64[ms]").astype(np.int64)
    for values in (Y[NAMED], X[NAMED, 0], X[NAMED, 1]):
        assert held(results / "out", values) == []
    arrays = [each for text in texts(results / "out").values() for each in numbers(text)]
    places = {float(each) for array in arrays if array.dtype == np.float64 for each in array}
    assert places.isdisjoint(milliseconds[NAMED].tolist())
    assert len(held(results / "open", Y[NAMED])) == NAMED.sum()  # the check can fail
    assert len(held(results / "out", Y[~NAMED])) > 500


def test_the_other_rows_are_predicted_as_before(results):
    read = pyarrow.csv.read_csv if (results / "out/predictions.csv").exists() else None
    read, form = (read, "csv") if read else (pyarrow.parquet.read_table, "parquet")
    plain, hidden = (read(results / name / f"predictions.{form}") for name in ("open", "out"))
    rows = dict(zip(plain["id"].to_pylist(), plain.to_pylist(), strict=True))
    assert 500 < len(hidden) < N - NAMED.sum()
    assert [rows[each["id"]] for each in hidden.to_pylist()] == hidden.to_pylist()
    assert min(hidden["n_rows"].to_pylist()) > 5


def test_the_summary_counts_what_it_hides(results):
    summary = json.loads((results / "out/summary.json").read_text())
    assert summary["redacted"]
    assert (summary["people"]["seen"], summary["people"]["forgotten"]) == (PEOPLE, 2)
    assert summary["rows"]["hidden"] >= NAMED.sum()
    assert {each["id"] for each in summary["requests"]} == {None}
    assert [each["line"] for each in summary["requests"]] == [2, 3, 5, 6, 4]
    assert summary["source"]["features"] == ["a", "b", "city, level 2", "city, level 3"]
    assert summary["audits"] == {"held": 4, "failed": 1}  # one owner is unknown
    plain = json.loads((results / "open/summary.json").read_text())
    assert {each["owner"] for each in plain["requests"]} > {OWNERS[7]}
    assert "rows are hidden" in (results / "out/report.html").read_text("utf-8")


def test_rows_that_a_request_names_are_hidden_by_id_and_by_owner():
    found = Redaction(Requests("end", (Request("b"), Request(owner="ann"))), least=3)
    rows = RowBatch(np.arange(3), np.ones((3, 1)), np.ones(3), owners=[None, None, "ann"])
    assert found.unnamed(rows, ["a", "b", "c"]).tolist() == [True, False, False]
    assert found.safe(np.array([2, 3, 4])).tolist() == [False, False, True]


def outcome(**changes):
    known = {"line": 4, "id": "b", "owner": None, "asked": 3, "row": 3, "arrived": 1, "rows": 0}
    known |= {"status": "forgotten", "verdict": "fails: 1 of the 1 forgotten id is alive: b"}
    known |= {"error": 0.0, "holds": False, "by_owner": False, "seconds": 0.1, "audit_seconds": 1.0}
    return RequestOutcome(**known | changes)


def test_an_outcome_without_names_keeps_its_line():
    found = redacted(outcome())
    assert (found.line, found.id, found.owner, found.arrived) == (4, None, None, None)
    assert found.verdict == "fails: run again without --redact to see the reason"
    assert redacted(outcome(holds=True, verdict="holds")).verdict == "holds"
