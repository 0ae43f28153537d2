"""The committed results under paper/ are complete, and the README agrees with them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from efface.paper.claims import EITHER, FINDINGS
from efface.paper.comparisons import AutoComparison
from efface.paper.reproduction import TARGETS
from efface.paper.scorecard import RULE

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "paper"
FIGURES = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7")
NUMBERED = {
    *(f"Eq. {number}" for number in (1, 2, 3)),
    *(f"Lemma {number}" for number in (1, 2, 3, 4)),
    *(f"Fig. {number}" for number in range(1, 8)),
    *(f"Case {number}" for number in (1, 2, 3, 4)),
    *(f"App. {letter}" for letter in "ABCDEFG"),
    *("Theorem 1", "Theorem 2", "Def. 1", "Def. 2", "Alg. 1", "Alg. 2", "Assumption 1"),
}


@pytest.fixture(scope="module")
def document():
    return json.loads((PAPER / "claims.json").read_text("utf-8"))


def test_every_figure_exists_for_both_readings():
    for figure in FIGURES:
        names = [figure] if figure in ("fig1", "fig2") else [figure, f"{figure}-unit-norm"]
        if figure in ("fig3", "fig4", "fig5"):
            names += [f"{figure}-relative", f"{figure}-relative-unit-norm"]
        assert all(
            (PAPER / f"{name}.{kind}").stat().st_size for name in names for kind in ("png", "svg")
        )


@pytest.mark.parametrize("figure", FIGURES[2:])
def test_rows_are_means_of_the_stated_runs_up_to_3000(figure, document):
    with (PAPER / f"{figure}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    runs = {(row["method"] == "auto", int(row["runs"])) for row in rows}
    stated = {(False, document["setting"]["runs"])}
    assert runs == stated | (
        {(True, AutoComparison.max_runs)} if figure in ("fig3", "fig4", "fig5") else set()
    )
    assert {row["reading"] for row in rows} == {"standardized", "unit-norm"}
    assert max(int(row["t"]) for row in rows) == 3000


def test_claims_come_from_many_runs_under_both_readings(document):
    assert document["setting"].items() >= {"horizon": 3000, "seed": 0}.items()
    assert document["setting"]["runs"] >= 10
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


def statements():
    """The rows of the list in docs/theory.md: the part of the paper, and the names of findings."""
    page = (ROOT / "docs" / "theory.md").read_text("utf-8")
    lines = page[page.index("## Every statement, and its findings") :].splitlines()
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| ")][1:]
    return [(cells[0].strip(), re.findall(r"`([\w-]+)`", cells[-1])) for cells in rows]


def test_the_list_of_statements_has_every_finding_once():
    named = [name for _, names in statements() for name in names]
    assert sorted(named) == sorted(finding.name for finding in (*FINDINGS, *EITHER))
    assert all(names for _, names in statements())


def test_every_numbered_statement_and_figure_of_the_paper_is_in_the_list():
    parts = {part for cell, _ in statements() for part in cell.split(", ")}
    assert parts >= NUMBERED


def test_every_statement_has_a_verdict_and_a_command(document):
    claimed = {claim["finding"]: claim for claim in document["claims"]}
    for _, names in statements():
        for name in names:
            assert claimed[name]["verdict"] in ("holds", "fails", "open")
            assert claimed[name]["target"] in TARGETS
