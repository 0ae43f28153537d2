"""What is committed under paper/: complete, and told in the README as it was found."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

PAPER = Path(__file__).parent.parent / "paper"
FIGURES = ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7")


@pytest.fixture(scope="module")
def document():
    return json.loads((PAPER / "claims.json").read_text("utf-8"))


def test_every_figure_is_there_for_both_readings():
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


def test_claims_are_those_of_100_runs(document):
    assert document["setting"] == {"runs": 100, "horizon": 3000, "seed": 0}
    assert {claim["reading"] for claim in document["claims"]} == {
        "standardized",
        "unit-norm",
        "either",
    }


def test_the_readme_tells_the_verdicts_as_they_were_found(document):
    readme, told = ((PAPER / name).read_text("utf-8") for name in ("README.md", "claims.md"))
    table = [line for line in readme.splitlines() if line.startswith("|")]
    assert "\n".join(table) in told
    for claim in document["claims"]:
        (line,) = [line for line in table if line.startswith(f"| {claim['sentence']} |")]
        assert f"**{claim['verdict']}**" in line


def test_verdicts_follow_from_the_numbers(document):
    for claim in document["claims"]:
        counts = claim["counts"]
        expected = "fails" if counts["fails"] else "open" if counts["open"] else "holds"
        assert claim["verdict"] == expected
        assert sum(counts.values()) == len(claim["places"])
