"""Which settings each figure and table needs."""

from __future__ import annotations

from functools import partial

from efface.paper.comparisons import AutoComparison, Comparison
from efface.paper.experiments import (
    DIMENSION,
    Experiment,
    ForgettingTerms,
    OlsBound,
    Ranks,
    RidgeBound,
)
from efface.paper.simulate import Reading

WINDOWS = (20, 40, 60, 80)
SIGMAS = (1.0, 2.0, 3.0)
DEGREES_OF_FREEDOM = (5, 10, 15)
ARRIVALS = (2, 3, 4)
RANK_WINDOWS = (20, 60, 100, 150, 500)
FORGETTING_TERMS = ((10, 12), (10, 20), (10, 50), (100, 150), (100, 500))
OLS_BOUNDS = ((10, 50), (100, 150), (100, 500))
RESCALED = (100.0, 1000.0)  # factors of the contexts in other units


def experiments_for(
    figure: str, horizon: int, readings: tuple[Reading, ...]
) -> tuple[Experiment, ...]:
    """The settings of a figure, in the order of its panels, or of ``theory`` (for the claims).

    >>> [each.id for each in experiments_for("fig5", 3000, ("standardized",))[:3]]
    ['fig5/k=2,sigma=1', 'fig5/k=3,sigma=1', 'fig5/k=4,sigma=1']
    """
    if figure == "fig2":  # unit vectors are the same under both readings
        return tuple(Ranks("unit-norm", horizon, s) for s in RANK_WINDOWS)
    return tuple(each for reading in readings for each in _settings(figure, reading, horizon))


def _settings(figure: str, reading: Reading, horizon: int) -> list[Experiment]:
    if figure == "theory":
        return [
            *(ForgettingTerms(reading, horizon, d, s) for d, s in FORGETTING_TERMS),
            *(OlsBound(reading, horizon, d, s) for d, s in OLS_BOUNDS),
            *(OlsBound(reading, horizon, *OLS_BOUNDS[0], scale=scale) for scale in RESCALED),
            *(RidgeBound(reading, horizon, DIMENSION, s) for s in WINDOWS),
        ]
    # Figs. 6 and 7 show other quantities of the runs of Fig. 3.
    kinds = (Comparison,) if figure in ("fig6", "fig7") else (Comparison, AutoComparison)
    return [each for kind in kinds for each in _subplots(kind, figure, reading, horizon)]


def _subplots(
    kind: type[Comparison] | type[AutoComparison], figure: str, reading: Reading, horizon: int
) -> list[Experiment]:
    setting = partial(kind, reading, horizon)
    if figure == "fig4":
        return [setting("fig4", s=s, df=df) for df in DEGREES_OF_FREEDOM for s in WINDOWS]
    if figure == "fig5":
        return [setting("fig5", k=k, sigma=sigma) for sigma in SIGMAS for k in ARRIVALS]
    return [setting("fig3", s=s, sigma=sigma) for sigma in SIGMAS for s in WINDOWS]
