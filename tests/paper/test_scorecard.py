"""Verdicts as text: complete, rounded and reproducible."""

from __future__ import annotations

import json
import math

import pytest
import synthetic_results

from efface.paper.claims import claims
from efface.paper.experiments import RidgeBound
from efface.paper.methods import METHODS
from efface.paper.scorecard import number, to_counts, to_json, to_markdown, to_verdicts
from efface.paper.verdicts import Place
from efface.theory.appendix_d import examples

READINGS = ("standardized", "unit-norm")


@pytest.fixture(scope="module")
def judged():
    found = {**synthetic_results.found("standardized"), **synthetic_results.found("unit-norm")}
    for setting, numbers in found.items():
        if isinstance(setting, RidgeBound):
            numbers["bound"][:] = math.nan
    rows = [*synthetic_results.coverage("standardized"), *synthetic_results.coverage("unit-norm")]
    return claims(found, rows, examples(), READINGS, methods=METHODS)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.000312, 4.6e-6, "1.0003120 ± 0.0000046"),
        (1153.4, 93.2, "1,153 ± 93"),
        (0.9736, 0.0014, "0.9736 ± 0.0014"),
        (3.0, 0.0, "3"),
        (1.0, 1e-16, "1"),
        (2.5, math.inf, "2.5"),
        (math.nan, math.nan, "undefined"),
    ],
)
def test_a_number_has_the_digits_of_its_standard_error(value, error, text):
    assert number(Place("p", value, error)) == text


def test_the_table_has_one_line_per_finding_and_one_cell_per_reading(judged):
    text = to_markdown(judged, "8 runs")
    for finding in {claim.finding.sentence for claim in judged}:
        lines = [line for line in text.splitlines() if line.startswith(f"| {finding} |")]
        assert len(lines) == 1
        assert all(line.count("**") == 2 * len(READINGS) for line in lines)
    assert to_counts(judged) in text
    assert "undefined" in text
    assert "`fig3/s=80,sigma=3`" in text


def test_json_is_strict_and_has_every_place_of_every_claim(judged):
    document = json.loads(to_json(judged, {"runs": 8}), parse_constant=pytest.fail)
    assert document["setting"] == {"runs": 8}
    assert [c["verdict"] for c in document["claims"]] == [claim.verdict for claim in judged]
    assert all(len(c["places"]) == sum(c["counts"].values()) for c in document["claims"])
    (none,) = {
        c["decided_by"]["value"] for c in document["claims"] if c["finding"] == "theorem-2-derived"
    }
    assert none is None


def test_the_same_claims_give_the_same_text(judged):
    assert to_markdown(judged, "x") == to_markdown(judged, "x")
    assert to_json(judged, {}) == to_json(judged, {})


def test_findings_that_are_not_the_papers_have_a_table_of_their_own(judged):
    text = to_markdown(judged, "8 runs")
    papers, ours = text.split("## Not the paper's")
    assert "`close-to-best`" in papers
    assert "`close-to-best`" not in ours.split("\n## ")[0]
    for name in ("oracle-fig3", "auto-best-fig3", "floor-fig3", "corrected-tight"):
        assert f"`{name}`" in ours
        assert f"`{name}`" not in papers


def test_counts_are_those_of_the_verdicts(judged):
    for ours, name in ((False, "the paper's"), (True, "not the paper's")):
        (line,) = [x for x in to_counts(judged).splitlines() if x.startswith(f"| {name} |")]
        for column, reading in enumerate(READINGS, 3):
            mine = [
                c.verdict
                for c in judged
                if c.finding.ours is ours and c.reading in (reading, "either")
            ]
            counts = ", ".join(str(mine.count(v)) for v in ("holds", "fails", "open"))
            assert line.split("|")[column].strip() == counts


def test_verdicts_in_a_pipe_are_one_line_each(judged):
    lines = to_verdicts(judged).splitlines()
    assert len(lines) == len(judged)
    assert lines[0].startswith(judged[0].verdict)
    assert judged[0].finding.sentence in lines[0]
