"""Findings that are not the paper's: other lines, the floor, and what holds instead."""

from __future__ import annotations

from functools import partial

from efface.paper import correction_measures as corrections
from efface.paper import figure_measures as measures
from efface.paper.figure_findings import CLOSE
from efface.paper.findings import Finding
from efface.paper.verdicts import Range

MOST = 25.0  # times the regret: the corrected bound
ROUNDING = 0.01  # of the floor's limit formula, and of 100 runs

_OVER = "its regret over that of the {}"


def _about_lines(figure: str) -> tuple[Finding, ...]:
    """The findings on the lines that are not the paper's, for one figure."""
    number = f"Fig. {figure[-1]}"
    finding = partial(Finding, source=number, target=figure, ours=True)
    return (
        finding(
            f"oracle-{figure}",
            f"In {number} no method of the paper is better than the penalty d sigma^2.",
            _OVER.format("best method of the paper"),
            Range(high=1 + ROUNDING),
            partial(measures.oracle_over_best, figure),
        ),
        finding(
            f"adaptive-near-oracle-{figure}",
            f"In {number} the adaptive ridge is within 10 % of the penalty d sigma^2.",
            _OVER.format("penalty d sigma^2"),
            Range(high=CLOSE),
            partial(measures.regret_ratios, figure, "adaptive", "oracle"),
        ),
        finding(
            f"adaptive-beats-zero-{figure}",
            f"In {number} the adaptive ridge is better than the estimate 0.",
            _OVER.format("estimate 0"),
            Range(high=1.0),
            partial(measures.regret_ratios, figure, "adaptive", "zero"),
        ),
        finding(
            f"auto-best-{figure}",
            f"In {number} AutoRidge is at or below the best of the paper's fixed penalties.",
            _OVER.format("best fixed penalty"),
            Range(high=1.0),
            partial(measures.auto_over_best, figure),
            needs="auto",
        ),
        finding(
            f"auto-near-oracle-{figure}",
            f"In {number} AutoRidge is within 10 % of the penalty d sigma^2.",
            _OVER.format("penalty d sigma^2"),
            Range(high=CLOSE),
            partial(measures.auto_ratios, figure, "oracle"),
            needs="auto",
        ),
        finding(
            f"auto-beats-adaptive-{figure}",
            f"In {number} AutoRidge is better than the adaptive ridge.",
            _OVER.format("adaptive ridge"),
            Range(high=1.0),
            partial(measures.auto_ratios, figure, "adaptive"),
            needs="auto",
        ),
    )


def _about_the_floor(figure: str) -> tuple[Finding, ...]:
    number = f"Fig. {figure[-1]}"
    finding = partial(Finding, source=number, target=figure, ours=True)
    return (
        finding(
            f"floor-{figure}",
            f"In {number} no line is below the floor of the Gaussian prior by more than 1 %.",
            "its regret over the floor",
            Range(low=1 - ROUNDING),
            partial(measures.floor_ratios, figure),
        ),
        finding(
            f"floor-attained-{figure}",
            f"In {number} the penalty d sigma^2 attains the floor (within 2 %).",
            "its regret over the floor",
            Range(0.98, 1.02),
            partial(measures.floor_ratios, figure, methods=("oracle",)),
        ),
    )


ADDITIONAL_FINDINGS: tuple[Finding, ...] = (
    *(finding for figure in ("fig3", "fig4", "fig5") for finding in _about_lines(figure)),
    *(finding for figure in ("fig3", "fig5") for finding in _about_the_floor(figure)),
    Finding(
        "penalty-near-oracle",
        "The adaptive penalty is within a factor of 2 of the best one, d sigma^2.",
        "mean adaptive penalty over d sigma^2",
        Range(0.5, 2.0),
        measures.penalty_over_oracle,
        source="Fig. 7",
        target="fig7",
        ours=True,
    ),
    *(
        Finding(
            f"any-penalty-{name}",
            f"With any penalty, however chosen, the {text} 95 %.",
            "coverage at the worst of 61 penalties minus 95 %, in standard errors",
            Range(low=-3.0),
            partial(corrections.coverage_at_any_penalty, name),
            source=source,
            ours=True,
        )
        for name, text, source in (
            ("ball", "Euclidean ball with an allowance for bias covers in", "Lemma 3"),
            ("ellipsoid", "chi-square ellipsoid with an allowance for bias covers in", "Lemma 4"),
            ("limit", "limit of the corrected theorem holds in", "Theorem 2"),
        )
    ),
    Finding(
        "corrected-holds",
        "In Figs. 3 and 5 no loss is above the limit of the corrected theorem in 95 % of the runs.",
        "share of runs with a loss above its limit",
        Range(high=0.05),
        corrections.steps_beyond_the_limit,
        source="Theorem 2",
        ours=True,
    ),
    Finding(
        "corrected-tight",
        f"In Figs. 3 and 5 the corrected bound is at most {MOST:g} times the regret.",
        "bound over absolute regret",
        Range(1.0, MOST),
        corrections.tightness,
        source="Theorem 2",
        ours=True,
    ),
    Finding(
        "deletion-cost",
        "The exact cost of a deletion follows the extra L2 error that it causes.",
        "rank correlation",
        Range(low=0.8),
        partial(corrections.deletion_correlations, "cost"),
        source="Def. 2",
        ours=True,
    ),
)

#: Findings that are the same under both readings.
ADDITIONAL_IDENTITIES: tuple[Finding, ...] = (
    Finding(
        "floor-memory",
        "With n rows the penalty d sigma^2 attains the floor (within 3 %).",
        "its error over the floor",
        Range(0.97, 1.03),
        corrections.best_ridge_over_the_floor,
        source="Discussion",
        target="memory",
        ours=True,
    ),
    Finding(
        "floor-sphere",
        "For coefficients of exactly length 1 no method is below the floor of the Gaussian prior.",
        "floor of the sphere over that of the prior",
        Range(low=1.0),
        corrections.sphere_over_gaussian_floor,
        source="Discussion",
        ours=True,
    ),
)
