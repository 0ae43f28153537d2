"""The numbers that decide what holds instead, and conclusions of the paper that need other runs.

A measure yields one number with its standard error for each setting. Its last positional argument
is the evidence. Those that need no runs draw small seeded windows.
"""

from __future__ import annotations

import math

import numpy as np

from efface.paper.comparisons import LimitedSubplot
from efface.paper.correction_experiments import (
    UNITS,
    AnyPenalty,
    DeletedRows,
    MemorySize,
    SwingingRanks,
)
from efface.paper.evidence import Evidence, Places
from efface.paper.experiments import RidgeBound
from efface.paper.figure_measures import name_of
from efface.paper.simulate import linear_stream
from efface.paper.verdicts import Place, jackknife, ratio_of_means
from efface.theory.bounds import ols_regret_bound
from efface.theory.floor import regret_floor, sphere_regret_floor, window_regret_floor
from efface.theory.quantities import (
    adaptive_penalty,
    corrected_wpssr_limit,
    positive_signals,
    tail_parts,
)
from efface.theory.radii import paper_ols_radius, paper_ridge_radius, signal_constants
from efface.theory.updates import slide_inverse

SEED = 0
NOMINAL = 0.95


def coverage_at_any_penalty(statement: str, evidence: Evidence) -> Places:
    """The coverage at the worst of 61 penalties minus the nominal one, in standard errors."""
    for setting, numbers in evidence.of(AnyPenalty):
        count = setting.windows * len(numbers[statement])
        error = math.sqrt(NOMINAL * (1 - NOMINAL) / count)
        for unit, shares in zip(UNITS, numbers[statement].T, strict=True):
            share = float(shares.mean())
            detail = f"contexts times {unit:g}, {100 * share:.4g} % of {count:,} windows"
            yield Place(setting.id, (share - NOMINAL) / error, 0.0, detail)


def tightness(evidence: Evidence) -> Places:
    """The corrected bound over the absolute regret, for each line of Figs. 3 and 5."""
    for setting, numbers in evidence.of(LimitedSubplot):
        for m, line in enumerate(setting.lines):
            sums = (numbers[name][:, m].sum(axis=1) for name in ("limit", "loss"))
            yield Place(setting.id, *jackknife(ratio_of_means, *sums), name_of(line))


def steps_beyond_the_limit(evidence: Evidence) -> Places:
    """The share of runs of a line in which a loss of Figs. 3 and 5 exceeds its limit."""
    for setting, numbers in evidence.of(LimitedSubplot):
        beyond = (numbers["loss"] > numbers["limit"]).any(axis=2)
        yield Place(setting.id, float(beyond.mean()), 0.0, f"{beyond.size} runs of lines")


def deletion_correlations(which: str, evidence: Evidence) -> Places:
    """Rank correlations with the extra L2 error that deleting the oldest row causes."""
    found = list(evidence.of(DeletedRows))
    for setting, numbers in sorted(found, key=lambda each: (each[0].units, each[0].s)):
        once = float(numbers[f"{which}_once"].mean())
        detail = f"mean of {setting.draws:,} refits; with a single refit {once:.2f}"
        yield Place(setting.id, *jackknife(np.mean, numbers[which]), detail)


def ridge_where_ranks_swing(evidence: Evidence) -> Places:
    """The regret of the adaptive ridge over that of FIFD-OLS, on the streams of Fig. 2."""
    for setting, numbers in evidence.of(SwingingRanks):
        found = jackknife(ratio_of_means, numbers["adaptive"], numbers["ols"])
        yield Place(setting.id, *found, "adaptive / least squares")


def derived_bound_exists(evidence: Evidence) -> Places:
    """The share of runs in which the bound of Theorem 2, as derived, is a number."""
    for setting, numbers in evidence.of(RidgeBound):
        if setting.scale == 1:
            share = float(np.isfinite(numbers["bound"]).mean())
            yield Place(setting.id, share, 0.0, f"{len(numbers['bound'])} runs")


def best_ridge_over_the_floor(evidence: Evidence) -> Places:
    """The error of the penalty d sigma^2 after n rows, over the floor (``regret_floor``)."""
    for setting, numbers in evidence.of(MemorySize):
        floor = float(regret_floor(setting.n, setting.d, sigma=setting.sigma))
        found = jackknife(lambda error, f=floor: float(error.mean() / f), numbers["oracle"])
        yield Place(setting.id, *found, "best ridge / floor")


def sphere_over_gaussian_floor(evidence: Evidence) -> Places:
    """The floor for coefficients of exactly length 1 over that of the Gaussian prior."""
    for d, n in ((2, 50), (20, 40)):
        X = linear_stream(SEED, 0, n, d).X
        found, floor = sphere_regret_floor(X, sigma=1.0), window_regret_floor(X, sigma=1.0)
        yield Place(f"d={d},n={n}", found.value / floor, found.error / floor, "one window")


def share_of_narrow_ellipsoids(evidence: Evidence) -> Places:
    """The share of windows in which the radius of Lemma 4 is below that of Lemma 1."""
    for d, s in ((10, 50), (100, 150), (100, 500)):
        narrow = [_narrower(evidence, run, d, s) for run in range(40)]
        yield Place(f"d={d},s={s}", *jackknife(np.mean, np.array(narrow, float)), "40 windows")


def _narrower(evidence: Evidence, run: int, d: int, s: int) -> bool:
    data = linear_stream(SEED, run, s, d, reading=evidence.reading)
    x_max = float(np.abs(data.X).max())
    lam = adaptive_penalty(s, d, float(data.y.std(ddof=1)), x_max)
    ridge = paper_ridge_radius(data.X, penalty=lam, sigma=1.0, theta=data.theta)
    return ridge < paper_ols_radius(data.X, sigma=1.0)


def order_of_theorem_1(evidence: Evidence) -> Places:
    """The bound of Theorem 1 over its stated order, at T = 8000 over that at T = 2000."""
    d, s, delta = 5, 50, 0.05
    X = linear_stream(SEED, 0, 8000, d, reading=evidence.reading).X
    factors = []
    for horizon in (2000, 8000):
        found = ols_regret_bound(X[:horizon], s, sigma=1.0, delta=delta)
        order = found.zeta * math.sqrt(d / s * math.log(2 * d / delta)) * horizon
        factors.append(found.bound / order)
    yield Place(f"d={d},s={s}", factors[1] / factors[0], 0.0, "T from 2000 to 8000")


def largest_coefficients(evidence: Evidence) -> Places:
    """max|theta_j| of coefficients of length 1."""
    for d in (2, 10, 100):
        sizes = [np.abs(linear_stream(SEED, run, 1, d).theta).max() for run in range(400)]
        yield Place(f"d={d}", *jackknife(np.mean, np.array(sizes)), "400 draws")


def largest_lengths(evidence: Evidence) -> Places:
    """The largest Euclidean length L of the contexts of a run."""
    X = linear_stream(SEED, 0, 3000, 100, reading=evidence.reading).X
    yield Place("d=100", float(np.linalg.norm(X, axis=1).max()), 0.0, "3,000 rows")


def update_at_a_loss_of_rank(evidence: Evidence) -> Places:
    """The error of the corrected f-step in the window M2, where e1 leaves and e2 comes."""
    e = np.eye(4)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = slide_inverse(np.eye(4), e[0], e[1])
    rest = e[[1, 2, 3, 1]]
    error = float(np.abs(found - np.linalg.pinv(rest.T @ rest)).max())
    value = error if math.isfinite(error) else math.nan
    yield Place("M2", value, 0.0, "the divisor x' Gamma x - 1 is 0")


def tail_indices(evidence: Evidence) -> Places:
    """The tail index of tr Phi^-1, whose mean is finite only above 1 (Hill's estimate)."""
    d, count, top = 3, 40_000, 400
    for n in (d, d + 1, d + 2):
        rng = np.random.default_rng([SEED, n])
        X = rng.standard_normal((count, n, d))
        traces = np.sort(np.linalg.inv(X.swapaxes(1, 2) @ X).trace(axis1=1, axis2=2))[::-1]
        index = 1 / np.log(traces[:top] / traces[top]).mean()
        yield Place(f"d={d},n={n}", float(index), float(index / math.sqrt(top)), "Hill, top 1 %")


def allowed_ratios(evidence: Evidence) -> Places:
    """The largest ratio of signals for which the condition behind Assumption 1 is true."""
    limit = corrected_wpssr_limit(110, 30, 0.05)
    yield Place("d=110,|P|=30", limit, 0.0, "every s")


def tail_parts_over_their_limit(evidence: Evidence) -> Places:
    """The sum of Parts I to III of App. B over delta / 2, where all signals are equal."""
    for rest, name in ((0.0, "others 0"), (-1.0, "others negative"), (-0.001, "others near 0")):
        parts = tail_parts([1.0] * 30 + [rest] * 80)
        total = parts.first + parts.second + parts.third
        yield Place("d=110,|P|=30", total / parts.limit, 0.0, f"ratio 1, {name}")


def tail_exponent_steps(evidence: Evidence) -> Places:
    """The relative change of the exponent of Part II as s grows from 100 to 400, by its terms."""
    exponents = [_tail_exponent(s) for s in (100, 400)]
    yield Place("d=110,|P|=30", abs(exponents[1] / exponents[0] - 1), 0.0, "s from 100 to 400")


def _tail_exponent(s: int) -> float:
    """(lam P_min + C1)^2 / (2 s x_max^2 sigma^2) at the radius chi of Lemma 4."""
    theta, sigma, x_max, phi2 = np.append(np.full(30, 0.15), np.full(80, -0.05)), 1.3, 2.7, 0.4
    d, delta = theta.size, 0.05
    kappa, nu = signal_constants(theta, delta=delta)
    lam = adaptive_penalty(s, d, sigma, x_max, delta=delta, theta_max=0.15)
    radius = sigma * kappa * nu * x_max / phi2 * math.sqrt(d / (2 * s))
    c1 = s * radius * phi2 / math.sqrt(d)
    smallest = float(positive_signals(theta).min())
    return (lam * smallest + c1) ** 2 / (2 * s * x_max**2 * sigma**2)
