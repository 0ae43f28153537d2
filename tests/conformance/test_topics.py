"""What is not a state: interrupts, durations, bad input, widths of intervals, standard errors."""

from __future__ import annotations

from functools import partial

import pytest
from conformance.bad_input import check_calls, check_files
from conformance.durations import check_durations
from conformance.faults import (
    DURATIONS,
    FOREIGN,
    INTERRUPTS,
    LAGS,
    WIDTHS,
    judge,
    known,
    seeds,
)
from conformance.inference import check_errors, check_leverages
from conformance.interrupts import SUBJECTS, check_interrupts
from conformance.large import check_many, check_wide
from conformance.widths import SANE, check_widths

TOPICS = {
    "interrupts, events": (partial(check_interrupts, "events"), INTERRUPTS, 40),
    "interrupts, fleet": (partial(check_interrupts, "fleet"), INTERRUPTS, 40),
    "interrupts, store": (partial(check_interrupts, "store"), None, 6),
    "durations": (check_durations, DURATIONS, 60),
    "arguments": (check_calls, FOREIGN, 120),
    "headers of files": (check_files, FOREIGN, 40),
    "standard errors": (check_errors, LAGS, 40),
    "leverages": (check_leverages, None, 20),
    "33 to 64 features": (check_wide, None, 24),
    "thousands of rows": (check_many, None, 12),
    **{
        f"widths, {method}": (
            partial(check_widths, method),
            WIDTHS if method == "local" else None,
            20,
        )
        for method in SANE
    },
}


@pytest.mark.parametrize(
    "topic", [pytest.param(name, marks=known(fault)) for name, (_, fault, _) in TOPICS.items()]
)
def test_the_contract_holds(topic, record_property):
    check, fault, count = TOPICS[topic]
    tally = check(seeds(count))
    record_property("conformance", (topic, "", tally.plain()))
    judge(tally, fault)


def test_every_path_that_keeps_rows_is_interrupted():
    assert {f"interrupts, {path}" for path in SUBJECTS} <= set(TOPICS)
