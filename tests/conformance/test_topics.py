"""What is not a state: interrupts, durations, bad input, widths of intervals, standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pytest
from conformance.bad_input import check_calls, check_files
from conformance.durations import check_durations
from conformance.faults import (
    DURATIONS,
    FOREIGN,
    INTERRUPTS,
    WIDTHS,
    Fault,
    judge,
    known,
    seeds,
)
from conformance.inference import check_errors, check_leverages
from conformance.interrupts import SUBJECTS, by_signal, check_interrupts
from conformance.large import check_many, check_wide
from conformance.tally import Tally
from conformance.widths import SANE, check_widths


class Topic(NamedTuple):
    """A check, the fault that it is known to find, the number of pinned seeds; do these show it?"""

    check: Callable[[Sequence[int]], Tally]
    fault: Fault | None
    seeds: int
    shown: bool | None = True  # None: the seeds alone do not decide


TOPICS = {
    "interrupts, events": Topic(partial(check_interrupts, "events"), INTERRUPTS, 40),
    "interrupts, fleet": Topic(partial(check_interrupts, "fleet"), INTERRUPTS, 80),
    "interrupts, river": Topic(partial(check_interrupts, "river"), INTERRUPTS, 40),
    "interrupts, store": Topic(partial(check_interrupts, "store"), None, 6),
    "signals, events": Topic(
        partial(check_interrupts, "events", cut=by_signal), INTERRUPTS, 20, None
    ),
    "signals, store": Topic(partial(check_interrupts, "store", cut=by_signal), None, 4),
    "durations": Topic(check_durations, DURATIONS, 60),
    "arguments": Topic(check_calls, FOREIGN, 120),
    "headers of files": Topic(check_files, FOREIGN, 40),
    "standard errors": Topic(check_errors, None, 40),
    "leverages": Topic(check_leverages, None, 20),
    "33 to 64 features": Topic(check_wide, None, 24),
    "thousands of rows": Topic(check_many, None, 12),
    **{
        f"widths, {method}": Topic(
            partial(check_widths, method), WIDTHS if method == "local" else None, 20
        )
        for method in SANE
    },
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=known(topic.fault, shown=topic.shown))
        for name, topic in TOPICS.items()
    ],
)
def test_the_contract_holds(name, record_property):
    topic = TOPICS[name]
    tally = topic.check(seeds(topic.seeds))
    record_property("conformance", (name, "", tally.plain()))
    judge(tally, topic.fault)


def test_every_path_that_keeps_rows_is_interrupted():
    assert {f"interrupts, {path}" for path in SUBJECTS} <= set(TOPICS)
