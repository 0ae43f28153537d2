"""The committed results under paper/ are complete, and the README agrees with them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from efface.paper.claims import EITHER, FINDINGS
from efface.paper.methods import PAPER_LINES
from efface.paper.reproduction import TARGETS
from efface.paper.scorecard import RULE

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "paper"
FIGURES = ("fig1", "fig2", "fig3", "fig4", "fig4-variance", "fig5", "fig6", "fig7", "memory")
ONCE = ("fig1", "fig2", "memory")  # the same under both readings
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
        names = [figure] if figure in ONCE else [figure, f"{figure}-unit-norm"]
        if figure[:4] in ("fig3", "fig4", "fig5"):
            names += [f"{figure}-relative", f"{figure}-relative-unit-norm"]
        assert all(
            (PAPER / f"{name}.{kind}").stat().st_size for name in names for kind in ("png", "svg")
        )
        page = PAPER / f"{figure}.md"
        assert figure == "fig1" or all(f"({name}.png)" in page.read_text("utf-8") for name in names)


@pytest.mark.parametrize("figure", [name for name in FIGURES if name not in ONCE])
def test_all_lines_are_means_of_the_stated_runs_up_to_3000(figure, document):
    with (PAPER / f"{figure}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {int(row["runs"]) for row in rows} == {document["setting"]["runs"]}
    assert {row["method"] for row in rows} <= set(PAPER_LINES)
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


def counts(document, reading, ours=False):
    mine = [
        claim["verdict"]
        for claim in document["claims"]
        if claim["ours"] is ours and claim["reading"] in (reading, "either")
    ]
    return [len(mine), *(mine.count(verdict) for verdict in ("holds", "fails", "open"))]


def test_the_readme_begins_with_ten_lines_that_agree_with_claims_json(document):
    readme = (PAPER / "README.md").read_text("utf-8")
    lines = re.findall(r"^(\d+)\. ", readme.split("## Run it")[0], re.MULTILINE)
    assert lines == [str(number) for number in range(1, 11)]
    total, holds, fails, undecided = counts(document, "standardized")
    text = " ".join(readme.split())
    assert (
        f"Of {total} findings of the paper {holds} hold, {fails} fail and {undecided} are" in text
    )
    _, holds, fails, undecided = counts(document, "unit-norm")
    assert f"{holds}, {fails} and {undecided} with unit-length ones" in text


def test_numbers_of_the_summary_are_those_of_the_claims(document):
    text = (PAPER / "README.md").read_text("utf-8")
    every = {(claim["finding"], claim["reading"]): claim for claim in document["claims"]}
    tight = [
        place["value"]
        for reading in ("standardized", "unit-norm")
        for place in every["corrected-tight", reading]["places"]
    ]
    assert f"at most {max(tight):.1f} times the regret" in text
    frt = every["frt-measures-regret", "standardized"]["decided_by"]["value"]
    assert f"(correlation {frt:.2f})" in text
    swings = max(place["value"] for place in every["ridge-remedy", "either"]["places"])
    assert f"at most {100 * swings:.0f} % of its regret" in text


def test_the_long_table_is_in_claims_md_alone(document):
    readme, report = ((PAPER / name).read_text("utf-8") for name in ("README.md", "claims.md"))
    papers, ours = report.split("## Not the paper's")
    for claim in document["claims"]:
        assert f"| {claim['sentence']} |" not in readme
        table = ours if claim["ours"] else papers
        (line,) = [x for x in table.splitlines() if x.startswith(f"| {claim['sentence']} |")]
        assert f"**{claim['verdict']}**" in line


def test_verdicts_follow_from_the_numbers(document):
    for claim in document["claims"]:
        counts = claim["counts"]
        expected = "fails" if counts["fails"] else "open" if counts["open"] else "holds"
        assert claim["verdict"] == expected
        assert sum(counts.values()) == len(claim["places"])


def test_texts_of_the_claims_equal_those_of_the_findings(document):
    fields = ("name", "sentence", "source", "target", "number")
    judged = [each for each in (*FINDINGS, *EITHER) if each.needs in (None, *PAPER_LINES)]
    expected = [tuple(getattr(each, field) for field in fields) for each in judged]
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
    asked_for = {finding.name for finding in FINDINGS if finding.needs is not None}
    for _, names in statements():
        for name in {*names} - asked_for:
            assert claimed[name]["verdict"] in ("holds", "fails", "open")
            assert claimed[name]["target"] in TARGETS
