"""Made-up results of the experiments with which every finding about results holds."""

from __future__ import annotations

import numpy as np

from efface.paper.comparisons import LimitedSubplot, Subplot
from efface.paper.correction_experiments import (
    AnyPenalty,
    DeletedRows,
    MemorySize,
    SwingingRanks,
)
from efface.paper.experiments import ForgettingTerms, OlsBound, Ranks
from efface.paper.methods import METHODS as LINES
from efface.paper.settings import experiments_for
from efface.theory.coverage import METHODS, SETTINGS, CoverageRow
from efface.theory.floor import oracle_penalty, regret_floor

RUNS = 8
FIGURES = ("fig2", "fig3", "fig4", "fig5", "memory", "theory")


def found(reading="standardized", horizon=600, methods=LINES):
    settings = (experiments_for(figure, horizon, (reading,), methods) for figure in FIGURES)
    return {each: numbers(each) for part in settings for each in part}


def numbers(setting):
    if isinstance(setting, Ranks):
        return {"rank": np.tile([3.0, 2.0], (RUNS, 20))}
    if isinstance(setting, LimitedSubplot):
        return limits(setting)
    if isinstance(setting, Subplot):
        return subplot(setting)
    if isinstance(setting, AnyPenalty):
        return {name: np.full((RUNS, 3), 0.99) for name in ("ball", "ellipsoid", "limit")}
    noisy = 1 + 0.01 * noise(setting)
    return {name: value * noisy for name, value in constants(setting).items()}


def constants(setting):
    if isinstance(setting, DeletedRows):
        return dict.fromkeys(("frt", "cost", "frt_once", "cost_once"), 0.95)
    if isinstance(setting, SwingingRanks):
        return {"adaptive": 5.0, "ols": 10.0}
    if isinstance(setting, MemorySize):
        floor = float(regret_floor(setting.n, setting.d, sigma=setting.sigma))
        return {name: 1.0 * floor for name in ("ols", "adaptive", "oracle", "auto")}
    if isinstance(setting, ForgettingTerms):
        terms = {"frt_largest": 1.5, "frt_smallest": 0.2, "frt_above_2": 0.0}
        return {**terms, "representation": 100.0, "lemma_2": 150.0, "lemma_2_trace": 160.0}
    bounds = {"abs_regret": 10.0, "bound": 1e3, "valid_bound": 1e5}
    if isinstance(setting, OlsBound):
        steps = setting.horizon - setting.s
        half = 10.0 * (steps // 2) / steps
        return {**bounds, "half": half, "regret": 10.0, "adaptive_regret": 5.0}
    drift = {f"{name}_{what}": value for name in ("derived", "printed")
             for what, value in (("sign", 1.0), ("log_c2", 0.01))}  # fmt: skip
    lemma = {"representation": 100.0, "frt": 100.0, "log_det": 30.0, "smallest_penalty": 1.0}
    return {**bounds, **drift, **lemma, "printed_bound": 1e3, "exact_c2_bound": 1e4}


def limits(setting):
    """Losses of 1 in noise, and limits of 10 times as much."""
    shape = RUNS, len(setting.lines), len(setting.times)
    loss = 1 + 0.01 * np.random.default_rng(1).random(shape)
    return {"loss": loss, "limit": 10 * loss}


def noise(setting, number=0):
    seed = sum(map(ord, setting.id)) + number
    return np.random.default_rng(seed).normal(size=RUNS)


def subplot(setting):
    """Each line is a multiple of the floor."""
    factors = [factor(setting, line) for line in setting.lines]
    noises = [1e-4 * noise(setting, m)[:, np.newaxis] for m in range(len(factors))]
    widths = [1.0 if line.method == "adaptive" else 20.0 for line in setting.lines]
    heavier = 1 + 1 / setting.df if setting.equal_variance else 1.0
    regret = [heavier * f * setting.floor * (1 + e) for f, e in zip(factors, noises, strict=True)]
    rate = setting.floor[-1] / (setting.horizon - setting.rows_needed)
    errors = [
        np.full(len(setting.times), 0.75 * f * rate) * (1 + w * e)
        for f, e, w in zip(factors, noises, widths, strict=True)
    ]
    return {
        "regret": np.stack(regret, axis=1),
        "abs_regret": np.stack(regret, axis=1),
        "l2": np.stack(errors, axis=1),
        "lambda": np.tile([penalty(setting, line) for line in setting.lines], (RUNS, 1, 1)),
    }


def penalty(setting, line):
    steps = np.arange(len(setting.times))
    if line.penalty is not None:
        return np.full(len(steps), line.penalty)
    if line.method == "zero":
        return np.full(len(steps), np.nan)
    return oracle_penalty(setting.d, sigma=setting.noise_sd) * (1 + 0.2 * np.sin(steps))


def factor(setting, line):
    """The regret of a line over the floor."""
    if line.method in ("oracle", "auto", "zero"):
        return {"oracle": 1.0, "auto": 1.004, "zero": 1.3}[line.method]
    if line.method == "adaptive":
        return 1.05 if setting.k else 1.02
    if line.method == "switching":
        return 1.03 if setting.sigma == 1 else 1.2
    size = line.penalty / setting.sigma
    if setting.k:
        return {1.0: 1.08, 10.0: 1.12, 100.0: 1.1}[size]
    if size == 100:
        return 1.06
    small = 1.11 - 0.0005 * setting.s
    return small * (1 + 2 / setting.df if setting.df else 1 + 0.5 * (setting.sigma - 1))


def coverage(reading="standardized"):
    return [
        CoverageRow(m.radius, m.norm, reading, d, s, 0.95, 0.99, 2000, m.valid, m.exact)
        for d, s in SETTINGS
        for m in METHODS
    ]
