"""A finding: a sentence, the number that decides it, and the range that the number must lie in.

Findings are data: the function that computes the numbers, and the range. The verdict follows from
both by ``efface.paper.verdicts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from efface.paper.evidence import Evidence, Measure
from efface.paper.methods import Method
from efface.paper.simulate import Reading
from efface.paper.verdicts import Place, Range, Verdict, judge

Either = Literal["either"]


@dataclass(frozen=True)
class Finding:
    """A sentence, the number that decides it, and the range for the number."""

    name: str
    sentence: str
    number: str
    wanted: Range
    measure: Measure
    source: str  # where in the paper
    target: str = "claims"  # of ``efface reproduce``: the files that show it
    ours: bool = False  # not the paper's
    needs: Method | None = None  # a method without which it is not judged

    def claim(self, reading: Reading | Either, evidence: Evidence) -> Claim:
        """The verdict under one reading."""
        places = tuple(self.measure(evidence))
        return Claim(self, reading, *judge(places, self.wanted), places)


@dataclass(frozen=True)
class Claim:
    """The verdict on a finding under one reading, and the place that decides it."""

    finding: Finding
    reading: Reading | Either
    verdict: Verdict
    decided_by: Place
    counts: Mapping[Verdict, int]
    places: tuple[Place, ...]
