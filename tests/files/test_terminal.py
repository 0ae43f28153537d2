"""The terminal shows a short result in 80 columns, and a bar only on a terminal."""

from __future__ import annotations

import io
import math
from pathlib import Path

from rich.console import Console

from efface.files.terminal import progress, screen


def summary(requests=0, failed=0):
    errors = {"mae": 31.5, "rmse": 47.5, "r2": 0.874, "skill": 0.366}
    entry = {"id": 1700, "owner": None, "line": 2, "asked": "2011-03-20 12:00"}
    entry |= {"status": "forgotten", "rows": 1, "seconds": 0.0123, "error": 7e-14}
    good = {**entry, "holds": True, "verdict": "holds: it does"}
    bad = {**entry, "holds": False, "verdict": "no row had this id", "error": None}
    return {
        "model": {"name": "Ridge", "standardize": False},
        "source": {"file": "bikeshare.csv", "target": "bikers", "weight": None},
        "rows": {"read": 8700, "skipped": 55, "alive": 716},
        "left": {"asked": 4, "window_full": 0, "time_up": 7925},
        "interval": {"level": 0.95, "coverage": 0.925},
        "errors": {"Ridge": errors, "the value before": {**errors, "mae": 49.7, "r2": None}},
        "requests": [good] * (requests - failed) + [bad] * failed,
        "audits": {"held": requests - failed, "failed": failed},
        "people": None,
        "forgetting": {
            "requests": 1,
            "median_seconds": 0.00112,
            "most_seconds": 2.5,
            "audit_seconds": 3.0,
        },
        "run": {"rows_per_second": 1720.4},
    }


def shown(found, width=80):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(screen(found, Path("demo/report.html")))
    return console.file.getvalue()


def test_the_screen_shows_the_result():
    text = shown(summary(requests=2, failed=1))
    assert "Ridge on bikeshare.csv, predicting bikers" in text
    assert "8,645 rows at 1,720 rows per second: 7,929 forgotten, 716 live" in text
    assert "55 rows skipped, because a value is missing" in text
    assert "95% prediction intervals covered 92.5% of the observed values" in text
    assert "31.5" in text
    assert "2 requests: 4 rows forgotten, in 1.12 ms each" in text
    assert "1 failed the audit" in " ".join(text.split())
    assert "id 1700   2011-03-20 12:00   forgotten      1   12.3 ms   ✓ 7e-14" in text
    assert "✗ no row had this id" in " ".join(text.split())
    assert "demo/report.html" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_screen_names_model_options_and_weights():
    found = summary()
    found["model"]["standardize"], found["source"]["weight"] = True, "hours"
    text = " ".join(shown(found).split())
    assert "predicting bikers, features standardised, rows weighted by hours 8,645 rows" in text
    assert "weighted" not in shown(summary())


def test_long_lists_of_requests_are_shortened():
    assert "and 12 more, in the report" in shown(summary(requests=20))
    assert "forgotten, in" not in shown(summary())


def test_people_are_counted_and_named_unless_redacted():
    found = summary(requests=2)
    found["people"] = {"seen": 2000, "forgotten": 160, "alive": 1563}
    found["requests"][0] = {**found["requests"][0], "id": None, "owner": "ann", "asked": 2015}
    found["requests"][1] = {**found["requests"][1], "id": None, "asked": None}
    text = " ".join(shown(found).split())
    assert "2 requests: 160 of 2,000 people and 4 rows forgotten, in 1.12 ms each" in text
    assert "every audit passed" in text
    assert "owner ann row 2,015 forgotten" in text
    assert "line 2 the end forgotten" in text


def test_without_a_terminal_there_is_no_progress_bar():
    console = Console(file=io.StringIO())
    with progress(console, "replay") as update:
        update(10, 0.5)
    assert console.file.getvalue() == ""


def test_on_a_terminal_the_bar_shows_rows_and_rate():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress(console, "replay") as update:
        console.print("before")
        update(0, 0.0)
        update(1234, 0.5)
        update(2345, math.nan)
        console.print("between")
    shown = console.file.getvalue()
    assert shown.index("compiling") < shown.index("replay")
    assert "2,345 rows" in shown
    assert "rows/s" in console.file.getvalue()
