"""The log places rows on the axis of the charts."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from efface.files.row_batches import RowBatch
from efface.files.run_log import STEP_COLUMNS, PredictedRows, RequestOutcome, RunLog, positions

TIMES = np.array(["2011-01-01", "2011-01-02"], dtype="datetime64[ns]")


def batch(at=None):
    return RowBatch(np.array([4, 5]), np.ones((2, 1)), np.ones(2), None, at)


def columns(values):
    found = dict.fromkeys(("y", *STEP_COLUMNS), values)
    return found | dict.fromkeys(("coef", "coef_error"), values[:, np.newaxis])


@pytest.mark.parametrize(
    ("at", "axis", "expected"),
    [
        (None, "row", [4.0, 5.0]),
        (np.array([0.5, 2.0]), "number", [0.5, 2.0]),
        (TIMES, "calendar", [1293840000000.0, 1293926400000.0]),
    ],
)
def test_positions_are_row_numbers_numbers_or_milliseconds(at, axis, expected):
    rows, log = batch(at), RunLog()
    log.count(rows, 2)
    log.add(PredictedRows(rows, [4, 5], columns(np.ones(2))), {})
    assert positions(rows).tolist() == expected
    assert (log.history.axis, log.rows) == (axis, 2)


def test_outcomes_are_marked_in_the_history_at_the_rows_that_are_shown():
    log, rows = RunLog(), batch()
    shown = PredictedRows(rows, [4, 5], columns(np.arange(2.0)))
    shown = shown.take(np.array([1]))
    assert (shown.ids, shown["y"].tolist()) == ([5], [1.0])
    log.count(rows, len(shown.rows))
    log.add(shown, {})
    names = [each.name for each in fields(RequestOutcome)]
    log.add_outcome(RequestOutcome(**dict.fromkeys(names, None) | {"row": 2}))
    assert log.history.requests == [1]
    assert (log.rows, log.hidden) == (2, 1)


def test_people_are_counted_once():
    log = RunLog()
    log.count(replace(batch(), owners=["ann", None]), 2)
    log.count(replace(batch(), owners=["ann", "bob"]), 2)
    assert log.people == {"ann", "bob"}


def test_the_largest_regret_term_is_recorded():
    log = RunLog()
    for values in ([np.nan, 0.5], [2.5, 1.0]):
        log.add(PredictedRows(batch(), [4, 5], columns(np.array(values))), {})
    assert log.largest_frt == 2.5
