"""A finding is judged by its numbers and its range; every part of the paper has one."""

from __future__ import annotations

import re

import pytest

from efface.paper.figure_findings import FIGURE_FINDINGS, FIGURES_1_AND_2
from efface.paper.findings import Finding
from efface.paper.reproduction import TARGETS
from efface.paper.statement_findings import IDENTITIES, STATEMENT_FINDINGS
from efface.paper.verdicts import Place, Range


def test_a_claim_has_the_verdict_of_its_places():
    places = [Place("a", 0.9, 0.01), Place("b", 1.2, 0.01)]
    row = ("name", "Sentence.", "ratio", Range(high=1.0), lambda evidence: iter(places))
    finding = Finding(*row, source="Lemma 9")
    claim = finding.claim("standardized", None)
    assert (finding.source, finding.target) == ("Lemma 9", "claims")
    assert (claim.verdict, claim.decided_by) == ("fails", places[1])
    assert claim.counts == {"holds": 1, "fails": 1, "open": 0}
    assert claim.places == tuple(places)


def test_a_finding_is_shown_by_the_figure_that_it_is_about():
    for finding in (*FIGURE_FINDINGS, *FIGURES_1_AND_2):
        number = re.search(r"Fig\. (\d)", finding.source)[1]
        assert finding.target == f"fig{number}"


def test_every_figure_of_the_paper_has_a_finding():
    targets = {finding.target for finding in (*FIGURE_FINDINGS, *FIGURES_1_AND_2)}
    assert targets == {f"fig{number}" for number in range(1, 8)}


@pytest.mark.parametrize(
    "source",
    [
        *(f"Lemma {number}" for number in range(1, 5)),
        *("Theorem 1", "Theorem 2", "Def. 2", "Assumption 1", "Alg. 1", "Alg. 2"),
        *("App. A", "App. C", "App. D", "App. F"),
    ],
)
def test_a_numbered_statement_has_a_finding(source):
    assert any(source in finding.source for finding in (*STATEMENT_FINDINGS, *IDENTITIES))


def test_commands_exist():
    assert {finding.target for finding in (*STATEMENT_FINDINGS, *IDENTITIES)} <= set(TARGETS)
