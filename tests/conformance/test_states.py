"""Every state of every path, on every design, against the right answer (R1, R2, R4, R5)."""

from __future__ import annotations

from typing import Any

import pytest
from conformance.designs import DESIGNS
from conformance.faults import (
    BITS,
    EXTREMES,
    FAR,
    NEARLY,
    RANK,
    UNEVEN,
    Fault,
    judge,
    known,
    seeds,
)
from conformance.histories import check_history
from conformance.subjects import SUBJECTS
from conformance.sweeps import SWEEPS, check_sweep

PINNED = {"events": 12, "fit": 40, "replay": 10, "rolling": 12, "fleet": 3, "river": 8, "store": 2}
MORE = {"giant rows": 4, "giant rows, uneven weights": 4}  # times as many: few show fault 2
FAULTS: dict[str, Fault] = {
    **dict.fromkeys(("huge", "tiny", "subnormal"), EXTREMES),
    **dict.fromkeys(("giant rows", "weights 1e-8..1e8", "giant rows, uneven weights"), UNEVEN),
    **dict.fromkeys(("rotated unit vectors", "repeated rows", "small components"), RANK),
    **dict.fromkeys(("integer relations", "one-hot, weights 1e-3..1e3"), RANK),
    "means 1e6": FAR,
    "near copies": NEARLY,
    "unit vectors": BITS,
}
OF_PATHS = {("fleet", "weights 1e-8..1e8"): BITS}  # instead of the fault of the design
SHOWN: dict[str, tuple[str, ...]] = {  # on these paths the pinned seeds show the fault
    "giant rows, uneven weights": ("events",),
    "huge": ("events", "fit", "river"),
    "integer relations": ("fit", "river", "store"),
    "one-hot, weights 1e-3..1e3": ("fit",),
    "rotated unit vectors": ("events",),
    "subnormal": ("events", "fit", "replay", "river", "store"),
    "tiny": ("events", "fit"),
    "weights 1e-8..1e8": ("fit", "fleet"),
}

LONG = 10  # times as many seeds in the long run: a million states


def cells(*, long: bool) -> list[Any]:
    """Every design on every path, with the mark of its fault."""
    return [
        pytest.param(path, design, id=f"{path}-{design}", marks=marks(path, design, long=long))
        for path in (*SUBJECTS, *SWEEPS)
        for design in DESIGNS
    ]


def marks(path: str, design: str, *, long: bool) -> list[Any]:
    shown = None if long else path in SHOWN.get(design, ())
    return known(fault_of(path, design), shown=shown)


def fault_of(path: str, design: str) -> Fault | None:
    return OF_PATHS.get((path, design)) or FAULTS.get(design)


def check(path: str, design: str, chosen: range, record_property: Any) -> None:
    check_seeds = check_sweep if path in SWEEPS else check_history
    tally = check_seeds(path, design, chosen)
    record_property("conformance", (design, path, tally.plain()))
    judge(tally, fault_of(path, design))


@pytest.mark.parametrize(("path", "design"), cells(long=False))
def test_every_state_is_the_right_one(path, design, record_property):
    count = PINNED[path] * MORE.get(design, 1)
    check(path, design, seeds(count), record_property)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("path", "design"), cells(long=True))
def test_a_million_states_are_the_right_ones(path, design, record_property):
    count = PINNED[path] * MORE.get(design, 1)
    check(path, design, range(count, (1 + LONG) * count), record_property)
