"""Synthetic results of the paper's experiments, for which every finding holds."""

from __future__ import annotations

import numpy as np

from efface.paper.experiments import Comparison, Ranks, Slides, panels
from efface.theory.coverage import METHODS, SETTINGS, CoverageRow

RUNS = 8
FIGURES = ("fig2", "fig3", "fig4", "fig5", "theory")


def found(reading="standardized", horizon=600):
    settings = [each for figure in FIGURES for each in panels(figure, horizon, (reading,))]
    return {each: numbers(each) for each in settings}


def numbers(setting):
    if isinstance(setting, Ranks):
        return {"rank": np.tile([3.0, 2.0], (RUNS, 20))}
    if isinstance(setting, Comparison):
        return comparison(setting)
    shake = 1 + 0.01 * wobble(setting)
    if isinstance(setting, Slides):
        terms = {"frt_largest": 1.5, "frt_smallest": 0.1, "frt_above_2": 0.0}
        return {name: value * shake for name, value in terms.items()} | {
            "representation": 100 * shake,
            "lemma_2": 150 * shake,
        }
    bounds = {"abs_regret": 10.0, "bound": 1e3, "exact_c2_bound": 1e4, "valid_bound": 1e5}
    return {name: value * shake for name, value in bounds.items()}


def wobble(setting, salt=0):
    seed = sum(map(ord, setting.id)) + salt
    return np.random.default_rng(seed).normal(size=RUNS)


def comparison(setting):
    made = setting.times - setting.rows_needed
    curve = made**0.5 if setting.k else made
    lines = [(rate(setting, line), level(setting, line)) for line in setting.lines]
    shakes = [1e-4 * wobble(setting, m)[:, np.newaxis] for m in range(len(lines))]
    wide = [1.0 if line.method == "adaptive" else 20.0 for line in setting.lines]
    regret = [r * curve * (1 + e) for (r, _), e in zip(lines, shakes, strict=True)]
    errors = [
        np.full(made.shape, h) * (1 + w * e)
        for (_, h), e, w in zip(lines, shakes, wide, strict=True)
    ]
    return {
        "regret": np.stack(regret, axis=1),
        "abs_regret": np.stack(regret, axis=1),
        "l2": np.stack(errors, axis=1),
        "lambda": np.stack(errors, axis=1),
    }


def rate(setting, line):
    """Regret per step."""
    factor = None if line.penalty is None else line.penalty / setting.sigma
    if setting.k:
        switching = 0.5 if setting.sigma == 1 else 2.0
        return {None: 1.0, 1.0: 1.5}.get(factor, 1.2) if line.method != "switching" else switching
    base = (1 - 0.002 * setting.s) * (1 + 0.1 * setting.sigma)
    if setting.df:
        return base * (1 + {None: 1.0, 1.0: 5.0, 10.0: 3.0, 100.0: 2.0}[factor] / setting.df)
    return (
        base * {None: 1.0, 1.0: 1 + 2 * setting.sigma, 10.0: 1 + setting.sigma, 100.0: 1.05}[factor]
    )


def level(setting, line):
    """The L2 error."""
    return rate(setting, line) * 0.75


def coverage(reading="standardized"):
    return [
        CoverageRow(m.radius, m.norm, reading, d, s, 0.95, 0.99, 2000, m.valid, m.exact)
        for d, s in SETTINGS
        for m in METHODS
    ]
