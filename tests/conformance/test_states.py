"""Every state of every path, on every design, against the right answer (R1, R2, R4, R5)."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.designs import DESIGNS
from conformance.faults import OLDEST, UNFUSED, Fault, judge, known, seeds
from conformance.histories import check_history
from conformance.subjects import SUBJECTS
from conformance.sweeps import SWEEPS, check_sweep

PINNED = {"events": 12, "fit": 40, "replay": 10, "rolling": 12, "fleet": 3, "river": 8, "store": 2}
MORE = {"giant rows": 4, "giant rows, uneven weights": 4}  # times as many seeds: few are hard
LONG = 10  # times as many seeds in the long run: a million states


def fault_of(design: str) -> Fault | None:
    return UNFUSED if OLDEST and design == "giant rows, uneven weights" else None


CELLS = [
    pytest.param(path, design, id=f"{path}-{design}", marks=known(fault_of(design), shown=None))
    for path in (*SUBJECTS, *SWEEPS)
    for design in DESIGNS
]


def check(path: str, design: str, chosen: range, record_property: Any) -> None:
    check_seeds = check_sweep if path in SWEEPS else check_history
    tally = check_seeds(path, design, chosen)
    record_property("conformance", (design, path, tally.plain()))
    judge(tally, fault_of(design))


@pytest.mark.parametrize(("path", "design"), CELLS)
def test_every_state_is_the_right_one(path, design, record_property):
    count = PINNED[path] * MORE.get(design, 1)
    check(path, design, seeds(count), record_property)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("path", "design"), CELLS)
def test_a_million_states_are_the_right_ones(path, design, record_property):
    count = PINNED[path] * MORE.get(design, 1)
    check(path, design, range(count, (1 + LONG) * count), record_property)
