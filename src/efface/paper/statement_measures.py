"""The numbers that decide the lemmas, theorems and definitions, from runs and from coverage.

A measure yields one number with its standard error for each setting. Its last positional argument
is the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Literal

import numpy as np

from efface.paper.evidence import Evidence, Places
from efface.paper.experiments import ForgettingTerms, Numbers, OlsBound, RidgeBound
from efface.paper.verdicts import Place, growth_exponent, jackknife
from efface.theory.geometry import Array

Version = Literal["printed", "derived"]


def largest_terms(evidence: Evidence) -> Places:
    """The largest forgetting regret term of a run."""
    for setting, numbers in evidence.of(ForgettingTerms):
        share = 100 * numbers["frt_above_2"].mean()
        largest = jackknife(np.mean, numbers["frt_largest"])
        yield Place(setting.id, *largest, f"above 2 at {share:.3g} % of the steps")


def lemma_2_slack(which: str, evidence: Evidence) -> Places:
    """(bound - term) / term, for the representation term and a bound of Lemma 2."""
    for setting, numbers in evidence.of(ForgettingTerms):
        yield _slack(setting.id, numbers[which], numbers["representation"])


def ridge_lemma_slack(evidence: Evidence) -> Places:
    """(bound - term) / term for the lemma of App. E, with C2 as derived."""
    for setting, numbers in _ridge_bounds(evidence):
        eta = numbers["log_det"] - _log_c2("derived", numbers)
        bound, term = 2 * eta + numbers["frt"], numbers["representation"]
        if np.isnan(bound).any():
            share = 100 * np.isnan(bound).mean()
            yield Place(setting.id, math.nan, math.nan, f"C2 < 0 in {share:.3g} % of the runs")
        else:
            yield _slack(setting.id, bound, term)


def _slack(name: str, bound: Array, term: Array) -> Place:
    share = 100 * (term <= bound).mean()
    found = jackknife(lambda b, t: float((b - t).mean() / t.mean()), bound, term)
    return Place(name, *found, f"true in {share:.3g} % of the runs")


def _log_c2(version: Version, numbers: Numbers) -> Array:
    """log C2 of each run, nan where C2 is not positive."""
    return np.where(numbers[f"{version}_sign"] > 0, numbers[f"{version}_log_c2"], np.nan)


def coverages(radius: str, evidence: Evidence) -> Places:
    """The measured coverage of a radius."""
    for row in evidence.coverage:
        if row.radius == radius:
            error = math.sqrt(row.nominal * (1 - row.nominal) / row.replicates)
            yield Place(f"coverage/d={row.d},s={row.s}", row.coverage, error, radius)


def ols_bound_factors(evidence: Evidence, *, rescaled: bool = False) -> Places:
    """log10 of the bound of Theorem 1 over the regret, in the figures' units or in others."""
    for setting, numbers in evidence.of(OlsBound):
        if (setting.scale != 1) == rescaled:
            yield _factor(setting.id, numbers, "bound")


def ridge_bound_factors(which: str, evidence: Evidence, *, rescaled: bool = False) -> Places:
    """log10 of a version of the bound of Theorem 2 over the regret, and why it is undefined."""
    for setting, numbers in _ridge_bounds(evidence, rescaled):
        place = _factor(setting.id, numbers, which)
        if math.isnan(place.value):
            version: Version = "printed" if which == "printed_bound" else "derived"
            place = Place(place.setting, math.nan, math.nan, _reasons(version, numbers, which))
        yield place


def _ridge_bounds(
    evidence: Evidence, rescaled: bool = False
) -> Iterator[tuple[RidgeBound, Numbers]]:
    """The settings of Theorem 2 in the units of the figures, or in others."""
    return ((each, n) for each, n in evidence.of(RidgeBound) if (each.scale != 1) == rescaled)


def _factor(name: str, numbers: Numbers, which: str) -> Place:
    factors = numbers[which] / numbers["abs_regret"]
    found = jackknife(np.mean, np.log10(factors))
    return Place(name, *found, f"at least {factors.min():.3g} times the regret")


def _reasons(version: Version, numbers: Numbers, which: str) -> str:
    """In how many runs C2 is negative, and in how many the root is that of a negative number."""
    negative = numbers[f"{version}_sign"] <= 0
    root = np.isnan(numbers[which]) & ~negative
    logs = numbers[f"{version}_log_c2"]
    return (
        f"C2 < 0 in {100 * negative.mean():.3g} % of the runs, root of a negative number in "
        f"{100 * root.mean():.3g} %; log|C2| from {logs.min():,.0f} to {logs.max():,.0f}"
    )


def drift_sizes(version: Version, evidence: Evidence) -> Places:
    """log10 of |C2|, which is 0 for a constant close to 1."""
    for setting, numbers in _ridge_bounds(evidence):
        share = 100 * (numbers[f"{version}_sign"] <= 0).mean()
        found = jackknife(np.mean, numbers[f"{version}_log_c2"] / math.log(10))
        yield Place(setting.id, *found, f"C2 < 0 in {share:.3g} % of the runs")


def ols_growth(evidence: Evidence) -> Places:
    """p of R ~ (number of predictions)^p of FIFD-OLS over the second half of the horizon."""
    for setting, numbers in evidence.of(OlsBound):
        steps = setting.horizon - setting.s
        growth = math.log(steps / (steps // 2))
        samples = numbers["abs_regret"], numbers["half"]
        found = jackknife(partial(growth_exponent, growth), *samples)
        yield Place(setting.id, *found, "least squares")


def smallest_penalties(evidence: Evidence) -> Places:
    """The smallest adaptive penalty of all runs: Phi_lam has full rank while it is positive."""
    for setting, numbers in _ridge_bounds(evidence):
        smallest = float(numbers["smallest_penalty"].min())
        yield Place(setting.id, smallest, 0.0, f"{len(numbers['smallest_penalty'])} runs")


def wrong_values(name: str, evidence: Evidence) -> Places:
    """The number of wrong values that the paper states for one of its example windows."""
    for example in evidence.examples:
        if example.name.startswith(name):
            wrong = [value for value in example.stated if not value.holds]
            detail = ", ".join(f"{value.quantity} ({value.source})" for value in wrong)
            yield Place(f"examples/{example.name}", float(len(wrong)), 0.0, detail)
