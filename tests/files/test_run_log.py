"""The log places rows on the axis of the charts."""

from __future__ import annotations

import numpy as np
import pytest

from efface.files.row_batches import RowBatch
from efface.files.run_log import STEP_COLUMNS, PredictedRows, RequestOutcome, RunLog, positions

TIMES = np.array(["2011-01-01", "2011-01-02"], dtype="datetime64[ns]")


def batch(at=None):
    return RowBatch(np.array([4, 5]), np.ones((2, 1)), np.ones(2), None, at)


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
    log.add(PredictedRows(rows, [4, 5], dict.fromkeys(("y", *STEP_COLUMNS), np.ones(2))), {})
    assert positions(rows).tolist() == expected
    assert (log.history.axis, log.rows) == (axis, 2)


def test_outcomes_are_marked_in_the_history():
    log = RunLog()
    log.add_outcome(RequestOutcome("ann", None, 7, 3, "forgotten", "holds", 0.0, True))
    assert log.history.requests == [7]
