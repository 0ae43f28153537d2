"""The results of a replay: only what was requested, and parts joined in order."""

from __future__ import annotations

import numpy as np
import pytest

from efface.live.trace import DIAGNOSTICS, Asked, Gauges, Trace, joined


def trace(n, asked, start=0.0):
    """Numbers that identify their column and row."""
    states = start + np.arange(8.0 * n).reshape(8, n)
    columns = [start + k + np.arange(n) for k in range(len(Gauges._fields))]
    return Trace.of(
        states,
        np.arange(n),
        asked,
        rank=np.ones(n, np.int64),
        coef=states[:2].T if asked.coef else None,
        gauges=Gauges(*columns) if asked.gauges else None,
    )


@pytest.mark.parametrize("diagnostics", [False, True])
def test_diagnostics_are_given_where_they_are_requested(diagnostics):
    found = trace(3, Asked(False, diagnostics, False))
    for row, name in enumerate(("prediction", "penalty", "intercept")):
        assert getattr(found, name).tolist() == [3.0 * row, 3.0 * row + 1, 3.0 * row + 2]
    for row, name in enumerate(DIAGNOSTICS, 3):
        got = getattr(found, name)
        assert (got is not None) == diagnostics
        assert got is None or got[0] == 3.0 * row
    assert found.coef is found.gauges is found.lower is None


@pytest.mark.parametrize("asked", [Asked(False, False, False), Asked(True, True, True)])
def test_parts_are_joined_field_by_field(asked):
    parts = [trace(n, asked, start) for n, start in ((2, 0.0), (3, 100.0), (1, 200.0))]
    whole = joined(parts)
    assert len(whole.arrays) == len(parts[0].arrays) == (20 if asked.gauges else 5)
    for found, *pieces in zip(whole.arrays, *(part.arrays for part in parts), strict=True):
        assert len(found) == 6
        assert np.array_equal(found, np.concatenate(pieces))
    assert joined(parts[:1]) is parts[0]
    assert (whole.gauges is None) == (not asked.gauges)
