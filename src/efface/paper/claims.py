"""The paper's findings: for each, a sentence, a number and the range that the number must lie in.

Findings are data: the function that computes the numbers, and the range. The verdict follows from
both by ``efface.paper.verdicts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from efface.paper.evidence import (
    ADAPTIVE,
    SWITCHING,
    Evidence,
    Measure,
    MeasuredComparison,
    bound_factors,
    coverages,
    growth_exponents,
    l2_bars,
    l2_levels,
    largest_terms,
    lemma_2_slack,
    rank_falls,
    ratios_to_the_best,
    regret_ratios,
    sensitivities,
    step_ratios,
    wrong_values,
)
from efface.paper.experiments import Experiment, Numbers, OlsBound, RidgeBound
from efface.paper.simulate import Reading
from efface.paper.verdicts import Place, Range, Verdict, judge
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow

Either = Literal["either"]

CLOSE = 1.1  # "close to the best", "comparable": within 10 %
ABOUT_ONE = 1.05


@dataclass(frozen=True)
class Finding:
    """A sentence of the paper, the number that decides it, and the range for the number."""

    name: str
    sentence: str
    source: str  # where in the paper
    target: str  # of ``efface reproduce``: the files that show it
    number: str
    wanted: Range
    measure: Measure

    def claim(self, reading: Reading | Either, evidence: Evidence) -> Claim:
        """The verdict under one reading."""
        places = tuple(self.measure(evidence))
        return Claim(self, reading, *judge(places, self.wanted), places)


@dataclass(frozen=True)
class Claim:
    """The verdict on a finding under one reading, and the place that decides it."""

    finding: Finding
    reading: Reading | Either
    verdict: Verdict
    decided_by: Place
    counts: Mapping[Verdict, int]
    places: tuple[Place, ...]


def _findings(
    source: str, target: str, *rows: tuple[str, str, str, Range, Measure]
) -> tuple[Finding, ...]:
    """Findings of one source: name, sentence, number, range, measure."""
    return tuple(
        Finding(name, sentence, source, target, number, wanted, measure)
        for name, sentence, number, wanted, measure in rows
    )


_total, _mean_l2 = MeasuredComparison.total, MeasuredComparison.mean_l2
_FACTOR = "log10 of the bound over the measured absolute regret"
_EXPONENT = "p of R ~ T^p over the second half"
_PER_STEP = "ratio of the regret per prediction to that of the previous panel"
_PREVIOUS = "ratio to the previous panel"

FINDINGS: tuple[Finding, ...] = (
    *_findings(
        "Section 5, Fig. 3",
        "fig3",
        (
            "linear",
            "With a constant memory the regret of every method is linear in T.",
            _EXPONENT,
            Range(0.95, 1.05),
            partial(growth_exponents, "fig3"),
        ),
        (
            "falls-with-s",
            "The regret of the adaptive ridge falls as the memory s grows.",
            _PER_STEP,
            Range(high=1.0),
            partial(step_ratios, "fig3", "s", "sigma", _total, lines=slice(0, 1)),
        ),
        (
            "grows-with-sigma",
            "The regret of every method grows with the noise level sigma.",
            _PER_STEP,
            Range(low=1.0),
            partial(step_ratios, "fig3", "sigma", "s", _total),
        ),
        (
            "best",
            "The adaptive ridge is the best of the four at sigma = 2 and 3.",
            "its regret over that of the best fixed penalty",
            Range(high=1.0),
            partial(ratios_to_the_best, "fig3", _total, sigmas=(2.0, 3.0)),
        ),
        (
            "close-to-best",
            "In every panel the adaptive ridge is the best of the four or within 10 % of the best.",
            "its regret over that of the best fixed penalty",
            Range(high=CLOSE),
            partial(ratios_to_the_best, "fig3", _total),
        ),
        (
            "comparable",
            "The fixed penalty 100 sigma is comparable to the adaptive ridge (within 10 %).",
            "its regret over that of the adaptive ridge",
            Range(1 / CLOSE, CLOSE),
            partial(regret_ratios, "fig3", 100.0, ADAPTIVE),
        ),
        (
            "robust-to-sigma",
            "Noise hurts small fixed penalties (sigma, 10 sigma) more than the adaptive ridge.",
            "growth of their regret from sigma = 1 to 3 over that of the adaptive ridge",
            Range(low=1.0),
            partial(sensitivities, "fig3", "sigma"),
        ),
    ),
    *_findings(
        "App. G, Fig. 6",
        "fig6",
        (
            "l2-bounded",
            "The L2 error of the adaptive ridge is bounded by 1.",
            "L2 error, averaged over time",
            Range(high=1.0),
            l2_levels,
        ),
        (
            "l2-about-1",
            "The L2 error of the adaptive ridge is at most about 1 (1.05).",
            "L2 error, averaged over time",
            Range(high=ABOUT_ONE),
            l2_levels,
        ),
        (
            "l2-falls-with-s",
            "The L2 error of the adaptive ridge falls as the memory s grows.",
            _PREVIOUS,
            Range(high=1.0),
            partial(step_ratios, "fig3", "s", "sigma", _mean_l2, lines=slice(0, 1)),
        ),
        (
            "l2-grows-with-sigma",
            "The L2 error of every method grows with the noise level sigma.",
            _PREVIOUS,
            Range(low=1.0),
            partial(step_ratios, "fig3", "sigma", "s", _mean_l2),
        ),
        (
            "l2-narrow",
            "The L2 error of the adaptive ridge has narrower error bars than that of fixed ridges.",
            "width over that of a fixed penalty",
            Range(high=1.0),
            l2_bars,
        ),
        (
            "l2-close-to-best",
            "In L2 error the adaptive ridge is the best of the four or within 10 % of the best.",
            "its error over that of the best fixed penalty",
            Range(high=CLOSE),
            partial(ratios_to_the_best, "fig3", _mean_l2),
        ),
    ),
    *_findings(
        "Section 5, Fig. 4",
        "fig4",
        (
            "falls-with-df",
            "With Student-t noise the regret of every method falls as df grows.",
            _PER_STEP,
            Range(high=1.0),
            partial(step_ratios, "fig4", "df", "s", _total),
        ),
        (
            "robust-to-tails",
            "Heavy tails hurt small fixed penalties (1, 10) more than the adaptive ridge.",
            "growth of their regret from df = 15 to 5 over that of the adaptive ridge",
            Range(low=1.0),
            partial(sensitivities, "fig4", "df"),
        ),
    ),
    *_findings(
        "Section 5, Fig. 5",
        "fig5",
        (
            "sublinear",
            "With (+k, -1) the regret of every method is sublinear in T.",
            _EXPONENT,
            Range(high=1.0),
            partial(growth_exponents, "fig5"),
        ),
        (
            "switching-wins",
            "Switching to OLS beats the adaptive ridge at sigma = 1.",
            "its regret over that of the adaptive ridge",
            Range(high=1.0),
            partial(regret_ratios, "fig5", SWITCHING, ADAPTIVE, sigmas=(1.0,)),
        ),
        (
            "switching-loses",
            "Switching to OLS loses to the adaptive ridge at sigma = 2 and 3.",
            "its regret over that of the adaptive ridge",
            Range(low=1.0),
            partial(regret_ratios, "fig5", SWITCHING, ADAPTIVE, sigmas=(2.0, 3.0)),
        ),
        (
            "switching-loses-to-fixed",
            "Switching to OLS loses to the fixed penalty sigma at sigma = 2 and 3.",
            "its regret over that of the fixed penalty",
            Range(low=1.0),
            partial(regret_ratios, "fig5", SWITCHING, 1.0, sigmas=(2.0, 3.0)),
        ),
    ),
    *_findings(
        "Def. 2",
        "claims",
        (
            "frt-range",
            "The forgetting regret term lies in [0, 2].",
            "largest term of a run",
            Range(0.0, 2.0),
            largest_terms,
        ),
    ),
    *_findings(
        "Lemma 2",
        "claims",
        (
            "lemma-2",
            "The cumulative representation term is at most 2 eta plus the sum of FRT.",
            "(bound - term) / term",
            Range(low=0.0),
            lemma_2_slack,
        ),
    ),
    *_findings(
        "Lemma 1",
        "coverage",
        (
            "lemma-1",
            "The ellipsoid of Lemma 1 covers with probability 95 %.",
            "coverage",
            Range(low=0.95),
            partial(coverages, "paper, Lemma 1"),
        ),
    ),
    *_findings(
        "Lemma 1, proof",
        "coverage",
        (
            "lemma-1-ball",
            "As a Euclidean ball, as in its proof, Lemma 1 covers with probability 95 %.",
            "coverage",
            Range(low=0.95),
            partial(coverages, "Euclidean ball, OLS"),
        ),
    ),
    *_findings(
        "Lemma 4",
        "coverage",
        (
            "lemma-4",
            "The ellipsoid of Lemma 4 covers with probability 95 %.",
            "coverage",
            Range(low=0.95),
            partial(coverages, "paper, Lemma 4"),
        ),
    ),
    *_findings(
        "Theorem 1",
        "claims",
        (
            "theorem-1",
            "The bound of Theorem 1 is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(bound_factors, OlsBound, "bound"),
        ),
    ),
    *_findings(
        "Theorem 2",
        "claims",
        (
            "theorem-2",
            "The bound of Theorem 2, as printed, is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(bound_factors, RidgeBound, "bound"),
        ),
        (
            "theorem-2-exact",
            "With the exact determinant ratio for C2, the bound of Theorem 2 is above the regret.",
            _FACTOR,
            Range(low=0.0),
            partial(bound_factors, RidgeBound, "exact_c2_bound"),
        ),
    ),
)

#: Findings that are the same under both readings.
EITHER: tuple[Finding, ...] = (
    Finding(
        "rank-swings",
        "Deletions lower the rank of the window repeatedly (contexts drawn from e_1 .. e_100).",
        "Def. 1, Fig. 2",
        "fig2",
        "share of steps that lower the rank",
        Range(low=0.001),
        rank_falls,
    ),
    *(
        Finding(
            f"example-{name}",
            f"The values that the paper states for its example window {name} are right.",
            "App. D",
            "examples",
            "number of wrong values",
            Range(high=0.0),
            partial(wrong_values, name),
        )
        for name in ("M1", "M2", "M3", "M4")
    ),
)


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
