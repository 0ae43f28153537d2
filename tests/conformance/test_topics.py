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
    Fault,
    judge,
    known,
    seeds,
)
from conformance.gaussian_intervals import check_gaussian
from conformance.inference import check_errors, check_leverages
from conformance.interrupts import SUBJECTS, by_signal, check_interrupts
from conformance.large import check_many, check_wide
from conformance.long_windows import PATHS as LONG_PATHS
from conformance.long_windows import ROWS as LONG_STREAMS
from conformance.long_windows import check_long_windows
from conformance.responses import accepted, check_responses
from conformance.scaling import check_scaler
from conformance.tally import Tally
from conformance.traces import PINNED as TRACED
from conformance.traces import check_traces
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
    **{
        f"signals, {path}": Topic(
            partial(check_interrupts, path, cut=by_signal), INTERRUPTS, 20, None
        )
        for path in ("fleet", "river")
    },
    "signals, store": Topic(partial(check_interrupts, "store", cut=by_signal), None, 4),
    "durations": Topic(check_durations, DURATIONS, 60),
    "arguments": Topic(check_calls, FOREIGN, 120),
    "headers of files": Topic(check_files, FOREIGN, 40),
    "standard errors": Topic(check_errors, None, 40),
    "leverages": Topic(check_leverages, None, 20),
    "Gaussian intervals": Topic(check_gaussian, None, 40),
    "scaler": Topic(check_scaler, None, 40),
    **{
        f"traces, {path}": Topic(partial(check_traces, path, forgets=True), None, count)
        for path, count in TRACED.items()
    },
    **{
        f"traces of windows, {path}": Topic(partial(check_traces, path, forgets=False), None, count)
        for path, count in TRACED.items()
    },
    **{
        f"hundreds of rows, {path}": Topic(
            partial(check_long_windows, path), None, 20 if path in LONG_STREAMS else 40
        )
        for path in LONG_PATHS
    },
    "33 to 64 features": Topic(check_wide, None, 24),
    "thousands of rows": Topic(check_many, None, 12),
    **{f"widths, {method}": Topic(partial(check_widths, method), None, 20) for method in SANE},
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=known(topic.fault, shown=topic.shown))
        for name, topic in TOPICS.items()
    ],
)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # cut off while one is opened
def test_the_contract_holds(name, record_property):
    topic = TOPICS[name]
    tally = topic.check(seeds(topic.seeds))
    record_property("conformance", (name, "", tally.plain()))
    judge(tally, topic.fault)


@pytest.mark.skipif(not accepted(), reason="models have one response")
def test_several_responses_are_as_many_models(record_property):
    tally = check_responses(seeds(40))
    record_property("conformance", ("several responses", "", tally.plain()))
    judge(tally, None)


def test_every_path_that_keeps_rows_is_interrupted():
    assert {f"interrupts, {path}" for path in SUBJECTS} <= set(TOPICS)
