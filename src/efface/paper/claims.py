"""Every finding, judged under every reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from efface.paper.additional_findings import ADDITIONAL_FINDINGS
from efface.paper.evidence import Evidence
from efface.paper.experiments import Experiment, Numbers
from efface.paper.figure_findings import FIGURE_FINDINGS, FIGURES_1_AND_2
from efface.paper.findings import Claim, Finding
from efface.paper.simulate import Reading
from efface.paper.statement_findings import IDENTITIES, STATEMENT_FINDINGS
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow

FINDINGS: tuple[Finding, ...] = (*FIGURE_FINDINGS, *STATEMENT_FINDINGS, *ADDITIONAL_FINDINGS)

#: Findings that are the same under both readings.
EITHER: tuple[Finding, ...] = (*FIGURES_1_AND_2, *IDENTITIES)


def claims(
    found: Mapping[Experiment, Numbers],
    coverage: Sequence[CoverageRow],
    examples: Sequence[Example],
    readings: Sequence[Reading],
) -> tuple[Claim, ...]:
    """Every finding under every reading; the findings of ``EITHER`` come last, once each."""
    evidence = {reading: Evidence(reading, found, coverage, examples) for reading in readings}
    judged = [finding.claim(each, evidence[each]) for finding in FINDINGS for each in readings]
    return (*judged, *(finding.claim("either", evidence[readings[0]]) for finding in EITHER))
