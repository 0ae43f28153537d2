"""Made-up results of the experiments with which every finding holds."""

from __future__ import annotations

import numpy as np

from efface.paper.experiments import Comparison, ForgettingTerms, Ranks, experiments_for
from efface.theory.coverage import METHODS, SETTINGS, CoverageRow

RUNS = 8
FIGURES = ("fig2", "fig3", "fig4", "fig5", "theory")


def found(reading="standardized", horizon=600):
    settings = (experiments_for(figure, horizon, (reading,)) for figure in FIGURES)
    return {each: numbers(each) for part in settings for each in part}


def numbers(setting):
    if isinstance(setting, Ranks):
        return {"rank": np.tile([3.0, 2.0], (RUNS, 20))}
    if isinstance(setting, Comparison):
        return comparison(setting)
    noisy = 1 + 0.01 * noise(setting)
    if isinstance(setting, ForgettingTerms):
        terms = {"frt_largest": 1.5, "frt_smallest": 0.1, "frt_above_2": 0.0}
        return {name: value * noisy for name, value in terms.items()} | {
            "representation": 100 * noisy,
            "lemma_2": 150 * noisy,
        }
    bounds = {"abs_regret": 10.0, "bound": 1e3, "exact_c2_bound": 1e4, "valid_bound": 1e5}
    return {name: value * noisy for name, value in bounds.items()}


def noise(setting, number=0):
    seed = sum(map(ord, setting.id)) + number
    return np.random.default_rng(seed).normal(size=RUNS)


def comparison(setting):
    predictions = setting.times - setting.rows_needed
    curve = predictions**0.5 if setting.k else predictions
    lines = [(rate(setting, line), level(setting, line)) for line in setting.lines]
    noises = [1e-4 * noise(setting, m)[:, np.newaxis] for m in range(len(lines))]
    widths = [1.0 if line.method == "adaptive" else 20.0 for line in setting.lines]
    regret = [r * curve * (1 + e) for (r, _), e in zip(lines, noises, strict=True)]
    errors = [
        np.full(curve.shape, h) * (1 + w * e)
        for (_, h), e, w in zip(lines, noises, widths, strict=True)
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
    """L2 error."""
    return rate(setting, line) * 0.75


def coverage(reading="standardized"):
    return [
        CoverageRow(m.radius, m.norm, reading, d, s, 0.95, 0.99, 2000, m.valid, m.exact)
        for d, s in SETTINGS
        for m in METHODS
    ]
