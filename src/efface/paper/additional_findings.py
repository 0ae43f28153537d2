"""Findings that are not the paper's: the best penalty, the estimate 0, AutoRidge and the floor."""

from __future__ import annotations

from functools import partial

from efface.paper.figure_measures import (
    ADAPTIVE,
    auto_over_best,
    auto_ratios,
    floor_ratios,
    oracle_over_best,
    penalty_over_oracle,
    regret_ratios,
)
from efface.paper.findings import Finding, findings_of
from efface.paper.verdicts import Range

NOT_THE_PAPERS = "not the paper's"
CLOSE = 1.1
ROUNDING = 0.01  # of the floor's limit formula, and of 100 runs

_OVER = "its regret over that of the {}"


def _about_lines(figure: str) -> tuple[Finding, ...]:
    """The findings on the lines that are not the paper's, for one figure."""
    number = f"Fig. {figure[-1]}"
    return findings_of(
        f"{number}, {NOT_THE_PAPERS}",
        figure,
        (
            f"oracle-{figure}",
            f"In {number} no method of the paper is better than the penalty d sigma^2.",
            _OVER.format("best method of the paper"),
            Range(high=1 + ROUNDING),
            partial(oracle_over_best, figure),
        ),
        (
            f"adaptive-near-oracle-{figure}",
            f"In {number} the adaptive ridge is within 10 % of the penalty d sigma^2.",
            _OVER.format("penalty d sigma^2"),
            Range(high=CLOSE),
            partial(regret_ratios, figure, ADAPTIVE, "oracle"),
        ),
        (
            f"adaptive-beats-zero-{figure}",
            f"In {number} the adaptive ridge is better than the estimate 0.",
            _OVER.format("estimate 0"),
            Range(high=1.0),
            partial(regret_ratios, figure, ADAPTIVE, "zero"),
        ),
        (
            f"auto-best-{figure}",
            f"In {number} AutoRidge is at or below the best of the paper's fixed penalties.",
            _OVER.format("best fixed penalty"),
            Range(high=1.0),
            partial(auto_over_best, figure),
        ),
        (
            f"auto-near-oracle-{figure}",
            f"In {number} AutoRidge is within 10 % of the penalty d sigma^2.",
            _OVER.format("penalty d sigma^2"),
            Range(high=CLOSE),
            partial(auto_ratios, figure, "oracle"),
        ),
        (
            f"auto-beats-adaptive-{figure}",
            f"In {number} AutoRidge is better than the adaptive ridge.",
            _OVER.format("adaptive ridge"),
            Range(high=1.0),
            partial(auto_ratios, figure, "adaptive"),
        ),
    )


def _about_the_floor(figure: str) -> tuple[Finding, ...]:
    number = f"Fig. {figure[-1]}"
    return findings_of(
        f"{number}, {NOT_THE_PAPERS}",
        figure,
        (
            f"floor-{figure}",
            f"In {number} no line is below the floor of every method that sees the same rows.",
            "its regret over the floor",
            Range(low=1 - ROUNDING),
            partial(floor_ratios, figure),
        ),
        (
            f"floor-attained-{figure}",
            f"In {number} the penalty d sigma^2 attains the floor (within 2 %).",
            "its regret over the floor",
            Range(0.98, 1.02),
            partial(floor_ratios, figure, methods=("oracle",)),
        ),
    )


ADDITIONAL_FINDINGS: tuple[Finding, ...] = (
    *(finding for figure in ("fig3", "fig4", "fig5") for finding in _about_lines(figure)),
    *(finding for figure in ("fig3", "fig5") for finding in _about_the_floor(figure)),
    *findings_of(
        f"Fig. 7, {NOT_THE_PAPERS}",
        "fig7",
        (
            "penalty-near-oracle",
            "The adaptive penalty is within a factor of 2 of the best one, d sigma^2.",
            "mean adaptive penalty over d sigma^2",
            Range(0.5, 2.0),
            penalty_over_oracle,
        ),
    ),
)
