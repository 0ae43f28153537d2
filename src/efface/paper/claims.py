"""Every finding, judged under every reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from efface.paper.additional_findings import ADDITIONAL_FINDINGS, ADDITIONAL_IDENTITIES
from efface.paper.evidence import Evidence
from efface.paper.experiments import Experiment, Numbers
from efface.paper.figure_findings import FIGURE_FINDINGS, FIGURES_1_AND_2
from efface.paper.findings import Claim, Finding
from efface.paper.methods import PAPER_LINES, Method
from efface.paper.simulate import Reading
from efface.paper.statement_findings import IDENTITIES, STATEMENT_FINDINGS
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow

FINDINGS: tuple[Finding, ...] = (*FIGURE_FINDINGS, *STATEMENT_FINDINGS, *ADDITIONAL_FINDINGS)

#: Findings that are the same under both readings.
EITHER: tuple[Finding, ...] = (*FIGURES_1_AND_2, *IDENTITIES, *ADDITIONAL_IDENTITIES)


def claims(
    found: Mapping[Experiment, Numbers],
    coverage: Sequence[CoverageRow],
    examples: Sequence[Example],
    readings: Sequence[Reading],
    *,
    methods: Sequence[Method] = PAPER_LINES,
    target: str | None = None,
) -> tuple[Claim, ...]:
    """Every finding under every reading; the findings of ``EITHER`` come last, once each.

    Findings on a method that was not run are left out, with ``target`` all but its own.
    """

    def wanted(findings: Sequence[Finding]) -> list[Finding]:
        run = (each for each in findings if each.needs is None or each.needs in methods)
        return [each for each in run if target in (None, each.target)]

    evidence = {reading: Evidence(reading, found, coverage, examples) for reading in readings}
    judged = [
        finding.claim(each, evidence[each]) for finding in wanted(FINDINGS) for each in readings
    ]
    first = evidence[readings[0]]
    return (*judged, *(finding.claim("either", first) for finding in wanted(EITHER)))
