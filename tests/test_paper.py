"""The committed results under paper/ are complete, and the README agrees with them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from efface.paper.claims import EITHER, FINDINGS
from efface.paper.scorecard import RULE

PAPER = Path(__file__).parent.parent / "paper"
FIGURES = ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7")


@pytest.fixture(scope="module")
def document():
    return json.loads((PAPER / "claims.json").read_text("utf-8"))


def test_every_figure_exists_for_both_readings():
    for figure in FIGURES:
        names = [figure] if figure == "fig2" else [figure, f"{figure}-unit-norm"]
        assert all(
            (PAPER / f"{name}.{kind}").stat().st_size for name in names for kind in ("png", "svg")
        )


@pytest.mark.parametrize("figure", FIGURES[1:])
def test_rows_are_means_of_100_runs_up_to_3000(figure):
    with (PAPER / f"{figure}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["runs"] for row in rows} == {"100"}
    assert {row["reading"] for row in rows} == {"standardized", "unit-norm"}
    assert max(int(row["t"]) for row in rows) == 3000


def test_claims_come_from_100_runs_under_both_readings(document):
    assert document["setting"] == {"runs": 100, "horizon": 3000, "seed": 0}
    assert {claim["reading"] for claim in document["claims"]} == {
        "standardized",
        "unit-norm",
        "either",
    }


def test_the_readme_has_the_verdicts_of_claims_json(document):
    readme, report = ((PAPER / name).read_text("utf-8") for name in ("README.md", "claims.md"))
    table = [line for line in readme.splitlines() if line.startswith("|")]
    assert "\n".join(table) in report
    for claim in document["claims"]:
        (line,) = [line for line in table if line.startswith(f"| {claim['sentence']} |")]
        assert f"**{claim['verdict']}**" in line


def test_verdicts_follow_from_the_numbers(document):
    for claim in document["claims"]:
        counts = claim["counts"]
        expected = "fails" if counts["fails"] else "open" if counts["open"] else "holds"
        assert claim["verdict"] == expected
        assert sum(counts.values()) == len(claim["places"])


def test_texts_of_the_claims_equal_those_of_the_findings(document):
    fields = ("name", "sentence", "source", "target", "number")
    expected = [tuple(getattr(each, field) for field in fields) for each in (*FINDINGS, *EITHER)]
    fields = ("finding", *fields[1:])
    committed = [tuple(claim[field] for field in fields) for claim in document["claims"]]
    assert list(dict.fromkeys(committed)) == expected
    assert document["rule"] == RULE
    assert RULE in (PAPER / "claims.md").read_text("utf-8")
