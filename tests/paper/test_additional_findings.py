"""Findings that are not the paper's say so; test_claims.py shows that all can fail."""

from __future__ import annotations

from efface.paper.additional_findings import ADDITIONAL_FINDINGS, ADDITIONAL_IDENTITIES
from efface.paper.figure_findings import FIGURE_FINDINGS
from efface.paper.statement_findings import IDENTITIES, STATEMENT_FINDINGS


def test_they_are_marked():
    assert all(finding.ours for finding in (*ADDITIONAL_FINDINGS, *ADDITIONAL_IDENTITIES))
    assert not any(finding.ours for finding in (*FIGURE_FINDINGS, *STATEMENT_FINDINGS, *IDENTITIES))


def test_figs_3_to_5_have_findings_on_each_additional_line():
    names = {finding.name for finding in ADDITIONAL_FINDINGS}
    for figure in ("fig3", "fig4", "fig5"):
        assert {f"oracle-{figure}", f"adaptive-beats-zero-{figure}", f"auto-best-{figure}"} <= names
