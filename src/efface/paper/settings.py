"""Which settings each figure and table needs."""

from __future__ import annotations

from functools import partial

from efface.paper.comparisons import AutoComparison, Comparison, LimitedSubplot, Subplot
from efface.paper.correction_experiments import (
    AnyPenalty,
    DeletedRows,
    MemorySize,
    SwingingRanks,
)
from efface.paper.experiments import (
    DIMENSION,
    Experiment,
    ForgettingTerms,
    OlsBound,
    Ranks,
    RidgeBound,
)
from efface.paper.methods import PAPER_LINES, Method
from efface.paper.simulate import Reading

WINDOWS = (20, 40, 60, 80)
SIGMAS = (1.0, 2.0, 3.0)
DEGREES_OF_FREEDOM = (5, 10, 15)
ARRIVALS = (2, 3, 4)
RANK_WINDOWS = (20, 60, 100, 150, 500)
FORGETTING_TERMS = ((10, 12), (10, 20), (10, 50), (100, 150), (100, 500))
OLS_BOUNDS = ((10, 50), (100, 150), (100, 500))
RESCALED = (100.0, 1000.0)  # factors of the contexts in other units
RESCALED_RIDGE = ((DIMENSION, 40, 100.0), (10, 50, 1000.0))
ANY_PENALTY = ((2, 50), (10, 12), (10, 50), (10, 100), *((DIMENSION, s) for s in WINDOWS))
DELETIONS = ((10, 12), (10, 50))
UNIT_DELETIONS = ((DIMENSION, 60), (DIMENSION, 150))
MEMORIES = (5, 10, 20, 40, 60, 80, 90, 102, 110, 120, 150, 200, 300, 500, 1000, 2000)

#: Fig. 4 with Student-t noise of the variance of Gaussian noise.
EQUAL_VARIANCE = "fig4-variance"


def experiments_for(
    figure: str,
    horizon: int,
    readings: tuple[Reading, ...],
    methods: tuple[Method, ...] = PAPER_LINES,
) -> tuple[Experiment, ...]:
    """The settings of a figure, in the order of its panels, or of ``theory`` (for the claims).

    AutoRidge is run if ``methods`` has it.

    >>> [each.id for each in experiments_for("fig5", 3000, ("standardized",))[:3]]
    ['fig5/k=2,sigma=1', 'fig5/k=3,sigma=1', 'fig5/k=4,sigma=1']
    """
    if figure == "fig2":  # unit vectors are the same under both readings
        return tuple(Ranks("unit-norm", horizon, s) for s in RANK_WINDOWS)
    if figure == "memory":  # rows_needed is for standardized contexts
        return tuple(
            MemorySize("standardized", horizon, n, sigma) for sigma in SIGMAS for n in MEMORIES
        )
    return tuple(
        each for reading in readings for each in _settings(figure, reading, horizon, methods)
    )


def _settings(
    figure: str, reading: Reading, horizon: int, methods: tuple[Method, ...]
) -> list[Experiment]:
    if figure == "theory":
        return [*_statements(reading, horizon), *_corrections(reading, horizon)]
    # Figs. 6 and 7 show other quantities of the runs of Fig. 3.
    with_auto = "auto" in methods and figure not in ("fig6", "fig7")
    kinds: list[type[Subplot]] = [Comparison, *([AutoComparison] if with_auto else [])]
    return [each for kind in kinds for each in _subplots(kind, figure, reading, horizon)]


def _statements(reading: Reading, horizon: int) -> list[Experiment]:
    """The settings of the paper's lemmas and theorems."""
    return [
        *(ForgettingTerms(reading, horizon, d, s) for d, s in FORGETTING_TERMS),
        *(OlsBound(reading, horizon, d, s) for d, s in OLS_BOUNDS),
        *(OlsBound(reading, horizon, *OLS_BOUNDS[0], scale=scale) for scale in RESCALED),
        *(RidgeBound(reading, horizon, DIMENSION, s) for s in WINDOWS),
        *(RidgeBound(reading, horizon, d, s, scale=scale) for d, s, scale in RESCALED_RIDGE),
    ]


def _corrections(reading: Reading, horizon: int) -> list[Experiment]:
    """The settings of what holds instead."""
    return [
        *(AnyPenalty(reading, horizon, d, s) for d, s in ANY_PENALTY),
        *(DeletedRows(reading, horizon, d, s) for d, s in DELETIONS),
        *(DeletedRows("unit-norm", horizon, d, s, units=True) for d, s in UNIT_DELETIONS),
        *(SwingingRanks("unit-norm", horizon, s) for s in RANK_WINDOWS),
        *_subplots(LimitedSubplot, "fig3", reading, horizon),
        *_subplots(LimitedSubplot, "fig5", reading, horizon),
    ]


def _subplots(kind: type[Subplot], figure: str, reading: Reading, horizon: int) -> list[Experiment]:
    setting = partial(kind, reading, horizon)
    if figure == "fig4":
        return [
            setting(name, s=s, df=df, equal_variance=name == EQUAL_VARIANCE)
            for name in ("fig4", EQUAL_VARIANCE)
            for df in DEGREES_OF_FREEDOM
            for s in WINDOWS
        ]
    if figure == "fig5":
        return [setting("fig5", k=k, sigma=sigma) for sigma in SIGMAS for k in ARRIVALS]
    return [setting("fig3", s=s, sigma=sigma) for sigma in SIGMAS for s in WINDOWS]
