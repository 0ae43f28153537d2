"""Rows of groups and with gaps: each group on its own, and every row answered for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import OUTPUTS, check, data, with_gaps
from twins import regression as naive

from efface import KeepFor, rolling
from efface.errors import BadTime


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@given(
    seed=st.integers(0, 99),
    groups=st.booleans(),
    min_rows=st.sampled_from([None, 1, 3]),
    weighed=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_gaps_and_groups_against_one_row_at_a_time(alpha, seed, groups, min_rows, weighed):
    X, y = with_gaps(60, 2, seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=60) if groups else None
    weights = rng.choice([0.0, 1.0, 2.5], size=60) if weighed else None
    result = rolling(
        X,
        y,
        6,
        alpha,
        True,
        min_rows,
        labels,
        threads=1 + seed % 3,
        missing="skip",
        outputs=OUTPUTS,
        sample_weight=weights,
    )
    check(result, naive.rolling(X, y, 6, alpha, True, min_rows, labels, weights=weights))


def test_a_row_without_a_response_is_still_predicted():
    X, y = data(20, 2)
    y[12] = np.nan
    result = rolling(X, y, 5, missing="skip")
    assert np.isfinite(result.prediction[12])
    assert (result.coef[12] == result.coef[11]).all()
    assert result.prediction[13] == pytest.approx(X[13] @ result.coef[11])


def test_nothing_but_gaps():
    result = rolling(np.full((5, 2), np.nan), np.zeros(5), 2, missing="skip")
    assert np.isnan(result.coef).all()
    assert (result.rank == -1).all()


def test_times_that_go_back_are_refused_within_a_group_only():
    X, y = data(6, 1)
    at = [0, 10, 1, 11, 2, 12]
    assert rolling(X, y, KeepFor(5), at=at, groups=[0, 1] * 3).coef.shape == (6, 1)
    with pytest.raises(BadTime, match=r"'at\[2\]' is '1': expected no time before"):
        rolling(X, y, KeepFor(5), at=at)
    with pytest.raises(BadTime, match=r"'at\[5\]' is '3': .*sort the rows by time"):
        rolling(X, y, 3, at=[0, 10, 1, 11, 2, 3], groups=[0, 1] * 3)
    with pytest.raises(BadTime, match=r"'at\[1\]'"):
        rolling(X, y, KeepFor(5), at=[0, None, 1, 2, 3, 4])
