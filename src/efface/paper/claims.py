"""The paper's findings, each a sentence, a number and a range that the number must lie in.

A finding is data: where its numbers come from, and the range. Nothing here decides by words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from efface.paper.evidence import (
    ADAPTIVE,
    SWITCHING,
    Evidence,
    Panel,
    Places,
    bound_factors,
    coverages,
    fixed_line,
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
    wrong_figures,
)
from efface.paper.experiments import Experiment, Numbers, OlsBound, RidgeBound
from efface.paper.simulate import Reading
from efface.paper.verdicts import Place, Range, Verdict, judge
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow

Either = Literal["either"]

CLOSE = 1.1  # "close to the best", "comparable": within a tenth
ABOUT_ONE = 1.05


@dataclass(frozen=True)
class Claim:
    """A finding under one reading: the number that decides it, and what it says."""

    finding: str
    sentence: str
    source: str
    target: str  # of ``efface reproduce``, whose files show it
    number: str
    wanted: Range
    reading: Reading | Either
    verdict: Verdict
    decided_by: Place
    counts: Mapping[Verdict, int]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Finding:
    """A sentence of the paper, the number that decides it, where to look and what must be seen."""

    name: str
    sentence: str
    source: str
    target: str
    number: str
    wanted: Range
    look: Callable[[Evidence], Places]

    def claim(self, reading: Reading | Either, evidence: Evidence) -> Claim:
        """The verdict under one reading."""
        places = tuple(self.look(evidence))
        verdict, place, counts = judge(places, self.wanted)
        head = (self.name, self.sentence, self.source, self.target, self.number, self.wanted)
        return Claim(*head, reading, verdict, place, counts, places)


_FIG3, _FIG4, _FIG5, _APP_G = (
    "Section 5, Fig. 3",
    "Section 5, Fig. 4",
    "Section 5, Fig. 5",
    "App. G, Fig. 6",
)
_PER_STEP = "ratio of the regret a prediction to that of the panel before"

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "linear",
        "With a constant memory the regret of every method is linear in T.",
        _FIG3,
        "fig3",
        "p of R ~ T^p over the second half",
        Range(0.95, 1.05),
        growth_exponents("fig3"),
    ),
    Finding(
        "falls-with-s",
        "The regret of the adaptive ridge falls as the memory s grows.",
        _FIG3,
        "fig3",
        _PER_STEP,
        Range(high=1.0),
        step_ratios("fig3", "s", "sigma", Panel.total, slice(0, 1)),
    ),
    Finding(
        "grows-with-sigma",
        "The regret of every method grows with the noise level sigma.",
        _FIG3,
        "fig3",
        _PER_STEP,
        Range(low=1.0),
        step_ratios("fig3", "sigma", "s", Panel.total),
    ),
    Finding(
        "best",
        "The adaptive ridge is the best of the four at sigma = 2 and 3.",
        _FIG3,
        "fig3",
        "its regret over that of the best fixed penalty",
        Range(high=1.0),
        ratios_to_the_best("fig3", Panel.total, (2.0, 3.0)),
    ),
    Finding(
        "close-to-best",
        "The adaptive ridge is the best of the four or close to it (within 10 %) in every panel.",
        _FIG3,
        "fig3",
        "its regret over that of the best fixed penalty",
        Range(high=CLOSE),
        ratios_to_the_best("fig3", Panel.total),
    ),
    Finding(
        "comparable",
        "The fixed penalty 100 sigma is comparable to the adaptive ridge (within 10 %).",
        _FIG3,
        "fig3",
        "its regret over that of the adaptive ridge",
        Range(1 / CLOSE, CLOSE),
        regret_ratios("fig3", fixed_line(100.0), lambda panel: ADAPTIVE),
    ),
    Finding(
        "robust-to-sigma",
        "Small fixed penalties (sigma, 10 sigma) suffer more from noise than the adaptive ridge.",
        _FIG3,
        "fig3",
        "growth of their regret from sigma = 1 to 3 over that of the adaptive ridge",
        Range(low=1.0),
        sensitivities("fig3", "sigma"),
    ),
    Finding(
        "l2-bounded",
        "The L2 error of the adaptive ridge is bounded by 1.",
        _APP_G,
        "fig6",
        "L2 error, averaged over time",
        Range(high=1.0),
        l2_levels,
    ),
    Finding(
        "l2-about-1",
        "The L2 error of the adaptive ridge is at most about 1 (1.05).",
        _APP_G,
        "fig6",
        "L2 error, averaged over time",
        Range(high=ABOUT_ONE),
        l2_levels,
    ),
    Finding(
        "l2-falls-with-s",
        "The L2 error of the adaptive ridge falls as the memory s grows.",
        _APP_G,
        "fig6",
        "ratio to the panel before",
        Range(high=1.0),
        step_ratios("fig3", "s", "sigma", Panel.mean_l2, slice(0, 1)),
    ),
    Finding(
        "l2-grows-with-sigma",
        "The L2 error of every method grows with the noise level sigma.",
        _APP_G,
        "fig6",
        "ratio to the panel before",
        Range(low=1.0),
        step_ratios("fig3", "sigma", "s", Panel.mean_l2),
    ),
    Finding(
        "l2-narrow",
        "The error bars of the adaptive ridge's L2 error are narrower than those of fixed ridges.",
        _APP_G,
        "fig6",
        "width over that of a fixed penalty",
        Range(high=1.0),
        l2_bars,
    ),
    Finding(
        "l2-close-to-best",
        "In L2 error the adaptive ridge is the best of the four or close to it (within 10 %).",
        _APP_G,
        "fig6",
        "its error over that of the best fixed penalty",
        Range(high=CLOSE),
        ratios_to_the_best("fig3", Panel.mean_l2),
    ),
    Finding(
        "falls-with-df",
        "With Student-t noise the regret of every method falls as df grows.",
        _FIG4,
        "fig4",
        _PER_STEP,
        Range(high=1.0),
        step_ratios("fig4", "df", "s", Panel.total),
    ),
    Finding(
        "robust-to-tails",
        "Small fixed penalties (1, 10) suffer more from heavy tails than the adaptive ridge.",
        _FIG4,
        "fig4",
        "growth of their regret from df = 15 to 5 over that of the adaptive ridge",
        Range(low=1.0),
        sensitivities("fig4", "df"),
    ),
    Finding(
        "sublinear",
        "With (+k, -1) the regret of every method is sublinear in T.",
        _FIG5,
        "fig5",
        "p of R ~ T^p over the second half",
        Range(high=1.0),
        growth_exponents("fig5"),
    ),
    Finding(
        "switching-wins",
        "Switching to OLS beats the adaptive ridge at sigma = 1.",
        _FIG5,
        "fig5",
        "its regret over that of the adaptive ridge",
        Range(high=1.0),
        regret_ratios("fig5", lambda panel: SWITCHING, lambda panel: ADAPTIVE, (1.0,)),
    ),
    Finding(
        "switching-loses",
        "Switching to OLS loses to the adaptive ridge at sigma = 2 and 3.",
        _FIG5,
        "fig5",
        "its regret over that of the adaptive ridge",
        Range(low=1.0),
        regret_ratios("fig5", lambda panel: SWITCHING, lambda panel: ADAPTIVE, (2.0, 3.0)),
    ),
    Finding(
        "switching-loses-to-fixed",
        "Switching to OLS loses to the fixed penalty sigma at sigma = 2 and 3.",
        _FIG5,
        "fig5",
        "its regret over that of the fixed penalty",
        Range(low=1.0),
        regret_ratios("fig5", lambda panel: SWITCHING, fixed_line(1.0), (2.0, 3.0)),
    ),
    Finding(
        "frt-range",
        "The forgetting regret term lies in [0, 2].",
        "Def. 2",
        "claims",
        "largest term of a run",
        Range(0.0, 2.0),
        largest_terms,
    ),
    Finding(
        "lemma-2",
        "The cumulative representation term is at most 2 eta plus the sum of FRT.",
        "Lemma 2",
        "claims",
        "what the bound leaves, over the term",
        Range(low=0.0),
        lemma_2_slack,
    ),
    Finding(
        "lemma-1",
        "The ellipsoid of Lemma 1 covers with probability 95 %.",
        "Lemma 1",
        "coverage",
        "coverage",
        Range(low=0.95),
        coverages("paper, Lemma 1"),
    ),
    Finding(
        "lemma-1-ball",
        "The radius of Lemma 1, as the Euclidean ball that its proof is about, covers with 95 %.",
        "Lemma 1, proof",
        "coverage",
        "coverage",
        Range(low=0.95),
        coverages("Euclidean ball, OLS"),
    ),
    Finding(
        "lemma-4",
        "The ellipsoid of Lemma 4 covers with probability 95 %.",
        "Lemma 4",
        "coverage",
        "coverage",
        Range(low=0.95),
        coverages("paper, Lemma 4"),
    ),
    Finding(
        "theorem-1",
        "The bound of Theorem 1 is above the regret.",
        "Theorem 1",
        "claims",
        "log10 of the bound over the measured absolute regret",
        Range(low=0.0),
        bound_factors(OlsBound, "bound"),
    ),
    Finding(
        "theorem-2",
        "The bound of Theorem 2, as printed, is above the regret.",
        "Theorem 2",
        "claims",
        "log10 of the bound over the measured absolute regret",
        Range(low=0.0),
        bound_factors(RidgeBound, "bound"),
    ),
    Finding(
        "theorem-2-exact",
        "The bound of Theorem 2, with the exact ratio of determinants for C2, is above the regret.",
        "Theorem 2",
        "claims",
        "log10 of the bound over the measured absolute regret",
        Range(low=0.0),
        bound_factors(RidgeBound, "exact_c2_bound"),
    ),
)

#: Findings that do not depend on how contexts are normalised.
EITHER: tuple[Finding, ...] = (
    Finding(
        "rank-swings",
        "Deletion lowers the rank of the window again and again (contexts on e_1 .. e_100).",
        "Def. 1, Fig. 2",
        "fig2",
        "share of slides that lower the rank",
        Range(low=0.001),
        rank_falls,
    ),
    *(
        Finding(
            f"example-{name}",
            f"The figures that the paper gives for its example window {name} are right.",
            "App. D",
            "examples",
            "figures that are wrong",
            Range(high=0.0),
            wrong_figures(name),
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
    """Every finding under every reading; those that no reading touches come last."""
    evidence = {reading: Evidence(reading, found, coverage, examples) for reading in readings}
    judged = [finding.claim(each, evidence[each]) for finding in FINDINGS for each in readings]
    return (*judged, *(finding.claim("either", evidence[readings[0]]) for finding in EITHER))
