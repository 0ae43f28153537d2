"""Findings that are not the paper's: the best penalty, the estimate 0, AutoRidge and the floor."""

from __future__ import annotations

from functools import partial

from efface.paper import figure_measures as measures
from efface.paper.figure_findings import CLOSE
from efface.paper.findings import Finding
from efface.paper.verdicts import Range

NOT_THE_PAPERS = "not the paper's"
ROUNDING = 0.01  # of the floor's limit formula, and of 100 runs

_OVER = "its regret over that of the {}"


def _about_lines(figure: str) -> tuple[Finding, ...]:
    """The findings on the lines that are not the paper's, for one figure."""
    number = f"Fig. {figure[-1]}"
    finding = partial(Finding, source=f"{number}, {NOT_THE_PAPERS}", target=figure)
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
        ),
        finding(
            f"auto-near-oracle-{figure}",
            f"In {number} AutoRidge is within 10 % of the penalty d sigma^2.",
            _OVER.format("penalty d sigma^2"),
            Range(high=CLOSE),
            partial(measures.auto_ratios, figure, "oracle"),
        ),
        finding(
            f"auto-beats-adaptive-{figure}",
            f"In {number} AutoRidge is better than the adaptive ridge.",
            _OVER.format("adaptive ridge"),
            Range(high=1.0),
            partial(measures.auto_ratios, figure, "adaptive"),
        ),
    )


def _about_the_floor(figure: str) -> tuple[Finding, ...]:
    number = f"Fig. {figure[-1]}"
    finding = partial(Finding, source=f"{number}, {NOT_THE_PAPERS}", target=figure)
    return (
        finding(
            f"floor-{figure}",
            f"In {number} no line is below the floor of every method that sees the same rows.",
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
        source=f"Fig. 7, {NOT_THE_PAPERS}",
        target="fig7",
    ),
)
