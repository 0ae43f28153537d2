"""Holds, fails or open: what a number and its standard error say of a finding.

A finding is checked in many places. At each, a number must lie in a range; where it is inside by
three standard errors the finding holds, where it is outside by three it fails, and between it is
open. A finding holds where it holds in every place, fails where it fails in one, else it is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Verdict = Literal["holds", "fails", "open"]

ERRORS = 3.0  # standard errors that decide: few of some hundred checks go wrong by chance


@dataclass(frozen=True)
class Range:
    """Where a number must lie.

    >>> Range(high=1.05).verdict(1.02, 0.005), Range(high=1.05).verdict(1.04, 0.005)
    ('holds', 'open')
    >>> str(Range(high=1.05)), str(Range(0.95, 1.05))
    ('at most 1.05', 'from 0.95 to 1.05')
    """

    low: float = -math.inf
    high: float = math.inf

    def room(self, value: float) -> float:
        """The distance to the nearest end, negative outside; without end for NaN."""
        return -math.inf if math.isnan(value) else min(value - self.low, self.high - value)

    def verdict(self, value: float, error: float) -> Verdict:
        """What a number with this standard error says."""
        room, margin = self.room(value), ERRORS * error
        if room < -margin or room == -math.inf:
            return "fails"
        return "holds" if room > margin or room >= margin == 0 else "open"

    def __str__(self) -> str:
        low, high = f"{self.low:.3g}", f"{self.high:.3g}"
        if math.isinf(self.low):
            return f"at most {high}"
        return f"at least {low}" if math.isinf(self.high) else f"from {low} to {high}"


@dataclass(frozen=True)
class Place:
    """A number with its standard error, and where it was found."""

    panel: str
    value: float
    error: float
    detail: str = ""


def jackknife(statistic: Callable[..., float], *samples: Array) -> tuple[float, float]:
    """A statistic of runs and its standard error, from leaving out one run after the other.

    The runs lie along the first axis of each sample, the same run in the same place: differences
    between samples of the same runs are paired. The error of a single run is infinite.

    >>> value, error = jackknife(np.mean, np.array([1.0, 2.0, 3.0]))
    >>> value, round(error, 4)  # 1 / sqrt(3)
    (2.0, 0.5774)
    """
    value, n = float(statistic(*samples)), len(samples[0])
    if n == 1:
        return value, math.inf
    keep = ~np.eye(n, dtype=bool)
    without = np.array([statistic(*(sample[mask] for sample in samples)) for mask in keep])
    return value, float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


def judge(places: Sequence[Place], wanted: Range) -> tuple[Verdict, Place, dict[Verdict, int]]:
    """The verdict over all places, the place that decides it, and how many say what.

    The deciding place is, among those with the verdict, the one furthest out, or else nearest to
    the end of the range.

    >>> places = [Place("a", 0.9, 0.01), Place("b", 1.2, 0.01), Place("c", 1.1, 0.01)]
    >>> judge(places, Range(high=1.0))[:2]
    ('fails', Place(panel='b', value=1.2, error=0.01, detail=''))
    """
    said = [wanted.verdict(place.value, place.error) for place in places]
    counts: dict[Verdict, int] = {each: said.count(each) for each in ("holds", "fails", "open")}
    verdict: Verdict = "fails" if counts["fails"] else "open" if counts["open"] else "holds"
    candidates = [place for place, each in zip(places, said, strict=True) if each == verdict]
    return verdict, min(candidates, key=lambda place: wanted.room(place.value)), counts
