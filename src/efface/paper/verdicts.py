"""Holds, fails or open: the verdict on a finding from numbers and their standard errors.

A finding is checked in many places (settings and methods). In each place a number must lie in a
range. The finding holds there if the number is at least three standard errors inside the range,
fails if it is at least three outside, and is open otherwise. It holds overall if it holds in every
place, fails if it fails in at least one, and is open otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from efface.theory.geometry import Array

Verdict = Literal["holds", "fails", "open"]

ERRORS = 3.0  # standard errors: of some hundred checks, few are wrong by chance


def with_error(value: float, error: float) -> str | None:
    """A number and its standard error to two digits of the error; None if there is no error.

    >>> with_error(1.0437, 0.00213), with_error(9008.4, 110.2), with_error(1.0, 1e-16)
    ('1.0437 ± 0.0021', '9,008 ± 110', None)
    """
    if not (math.isfinite(error) and error > 1e-9 * abs(value)):
        return None
    digits = min(9, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


@dataclass(frozen=True)
class Range:
    """The range that a number must lie in.

    >>> Range(high=1.05).verdict(1.02, 0.005), Range(high=1.05).verdict(1.04, 0.005)
    ('holds', 'open')
    >>> str(Range(high=1.05)), str(Range(0.95, 1.05))
    ('at most 1.05', 'from 0.95 to 1.05')
    """

    low: float = -math.inf
    high: float = math.inf

    def slack(self, value: float) -> float:
        """The distance to the nearest end, negative outside the range; -inf for NaN."""
        return -math.inf if math.isnan(value) else min(value - self.low, self.high - value)

    def verdict(self, value: float, error: float) -> Verdict:
        """The verdict of a number with this standard error."""
        slack, margin = self.slack(value), ERRORS * error
        if slack < -margin or slack == -math.inf:
            return "fails"
        return "holds" if slack > margin or slack >= margin == 0 else "open"

    def __str__(self) -> str:
        low, high = f"{self.low:.3g}", f"{self.high:.3g}"
        if math.isinf(self.low):
            return f"at most {high}"
        return f"at least {low}" if math.isinf(self.high) else f"from {low} to {high}"


@dataclass(frozen=True)
class Place:
    """A number with its standard error, and the id of its setting."""

    setting: str
    value: float
    error: float
    detail: str = ""


def jackknife(statistic: Callable[..., float], *samples: Array) -> tuple[float, float]:
    """A statistic of runs and its standard error, by leaving out one run at a time.

    The first axis of each sample runs over the runs, in the same order, so that differences between
    samples are paired. The error of a single run is infinite.

    >>> value, error = jackknife(np.mean, np.array([1.0, 2.0, 3.0]))
    >>> value, round(error / (np.std([1, 2, 3], ddof=1) / np.sqrt(3)).item(), 12)
    (2.0, 1.0)
    """
    value, n = float(statistic(*samples)), len(samples[0])
    if n == 1:
        return value, math.inf
    keep = ~np.eye(n, dtype=bool)
    without = np.array([statistic(*(sample[mask] for sample in samples)) for mask in keep])
    return value, float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


def ratio_of_means(above: Array, below: Array) -> float:
    """The mean of a sample over that of another."""
    return float(above.mean() / below.mean())


def growth_exponent(growth: float, late: Array, early: Array) -> float:
    """p of R ~ t^p, from R at two times; ``growth`` is the logarithm of the ratio of the times."""
    return math.log(ratio_of_means(late, early)) / growth


def judge(places: Sequence[Place], wanted: Range) -> tuple[Verdict, Place, dict[Verdict, int]]:
    """The verdict over all places, the place that decides it, and the count of each verdict.

    The deciding place has the overall verdict, and among those the smallest slack.

    >>> places = [Place("a", 0.9, 0.01), Place("b", 1.2, 0.01), Place("c", 1.1, 0.01)]
    >>> judge(places, Range(high=1.0))[:2]
    ('fails', Place(setting='b', value=1.2, error=0.01, detail=''))
    """
    verdicts = [wanted.verdict(place.value, place.error) for place in places]
    counts: dict[Verdict, int] = {each: verdicts.count(each) for each in ("holds", "fails", "open")}
    verdict: Verdict = "fails" if counts["fails"] else "open" if counts["open"] else "holds"
    candidates = [place for place, each in zip(places, verdicts, strict=True) if each == verdict]
    return verdict, min(candidates, key=lambda place: wanted.slack(place.value)), counts
