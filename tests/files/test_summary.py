"""The summary is plain JSON with a documented layout."""

from __future__ import annotations

import json

import efface.files.summary
from efface.files.formatting import requests_text
from efface.files.job import Job, run
from efface.files.schema import RequestedColumns


def test_every_key_is_documented_and_present(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(60)))
    (tmp_path / "ids").write_text("59\n")
    job = Job(
        str(path), RequestedColumns("y"), model="ols", window=20, forget=str(tmp_path / "ids")
    )
    found = run(job, tmp_path / "out")
    documented = [
        line.split()[0]
        for line in efface.files.summary.__doc__.splitlines()
        if line[:1].islower() and "  " in line
    ]
    assert list(found) == documented
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["format"] == 1
    assert found["source"]["columns"] == found["source"]["features"] == ["x"]
    assert found["left"] == {"asked": 1, "window_full": 40, "time_up": 0}
    assert found["audits"] == {"held": 1, "failed": 0}


def test_requests_that_remove_nothing_have_no_time_to_forget(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(60)))
    (tmp_path / "ids").write_text("3\n999\n")
    job = Job(str(path), RequestedColumns("y"), window=20, forget=str(tmp_path / "ids"))
    found = run(job, tmp_path / "out")
    assert [each["status"] for each in found["requests"]] == ["already gone", "unknown"]
    took = found["forgetting"]
    assert (took["requests"], took["median_seconds"], took["most_seconds"]) == (0, None, None)
    assert "Time to forget" not in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert requests_text(found) == "2 requests: 0 rows forgotten; 1 failed the audit"


def test_figures_that_do_not_exist_are_null(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n")
    found = run(Job(str(path), RequestedColumns("y")), tmp_path / "out")
    assert found["errors"]["AutoRidge"]["mae"] is None
    assert found["interval"]["coverage"] is None
    assert found["span"] is None
    assert (tmp_path / "out" / "report.html").exists()
