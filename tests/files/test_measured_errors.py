"""Standard errors are measured often at first, and never too often."""

from __future__ import annotations

import numpy as np

from efface import OLS
from efface.files.measured_errors import MeasuredErrors

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=40)
MODEL = OLS().fit(X, Y)


def passed(counts):
    """The rows at which measurements were made, for batches of these sizes."""
    measured, done, found = MeasuredErrors(), 0, []
    for count in counts:
        for piece in measured.pieces(count):
            done += piece.stop - piece.start

            def models(at=done):
                found.append(at)
                return {None: MODEL}

            measured.update(models)
    assert done == sum(counts)
    return found


def test_short_batches_are_cut_where_a_measurement_is_due():
    assert passed([120, 30, 70]) == [50, 100, 150, 200]
    assert passed([7] * 20) == [7, 57, 107]


def test_long_streams_are_measured_a_few_hundred_times():
    found = passed([5_000] * 200)
    assert 100 < len(found) < 600
    gaps = np.diff(found)
    assert gaps[-1] > 10_000


def test_long_batches_are_not_cut():
    assert passed([20_000, 20_000]) == [20_000, 40_000]


def test_rows_get_the_errors_of_their_group():
    measured = MeasuredErrors()
    assert np.isnan(measured.columns(None, (2, 2))).all()
    list(measured.pieces(60))
    measured.update(lambda: {"a": MODEL})
    found = measured.columns(["a", "b", "a"], (3, 2))
    np.testing.assert_array_equal(found[[0, 2]], [MODEL.standard_errors().coef] * 2)
    assert np.isnan(found[1]).all()
