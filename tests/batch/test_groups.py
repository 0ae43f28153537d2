"""Rows sorted by labels of any type, and groups with incomplete rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import OUTPUTS, check, data, with_gaps
from twins import regression as naive

from efface import KeepFor, rolling
from efface.batch.groups import sorted_groups
from efface.errors import BadTime, InvalidValue

LABELS = [
    [2, 1, 2, 1, 3],
    [2**40, -5, 2**40, -5, 0],
    ["b", "a", "b", "a", "c"],
    [2.5, -1.0, 2.5, -1.0, 0.0],
    [True, False, True, False, 2],
    [("x", 1), "y", ("x", 1), "y", int],
    pd.Categorical(["b", "a", "b", "a", "c"]),
    pd.Series(["b", "a", "b", "a", "c"], dtype="string"),
    pd.Series(pd.to_datetime(["2024", "2023", "2024", "2023", "2025"]).tz_localize("Asia/Tokyo")),
    pl.Series(["b", "a", "b", "a", "c"], dtype=pl.Categorical),
    pa.chunked_array([["b", "a"], ["b", "a", "c"]]),
    pa.chunked_array([pa.array(["b", "a", "b", "a", "c"]).dictionary_encode()]),
]


@pytest.mark.parametrize("labels", LABELS, ids=range(len(LABELS)))
def test_rows_are_sorted_by_group_in_stable_order(labels):
    if isinstance(labels, list) and any(isinstance(label, tuple) for label in labels):
        labels = np.array([*labels, None], dtype=object)[:-1]
    order, starts = sorted_groups([("groups", labels)], 5)
    groups = [order[a:b].tolist() for a, b in pairwise(starts)]
    assert sorted(groups) == [[0, 2], [1, 3], [4]]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.booleans()), min_size=1),
    st.integers(1, 3),
)
def test_several_columns_form_one_label(rows, count):
    columns = list(zip(*rows, strict=True))[:count]
    found = sorted_groups([(str(k), list(column)) for k, column in enumerate(columns)], len(rows))
    order, starts = found
    want = {}
    for row, label in enumerate(zip(*columns, strict=True)):
        want.setdefault(label, []).append(row)
    groups = [order[a:b].tolist() for a, b in pairwise(starts)]
    assert sorted(groups) == sorted(want.values())


def test_without_labels_all_rows_form_one_group():
    order, starts = sorted_groups([], 3)
    assert (order.tolist(), starts.tolist()) == ([0, 1, 2], [0, 3])
    assert sorted_groups([("groups", [])], 0)[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None],
        [1.0, np.nan],
        pd.Series(["a", None], dtype="string"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        pl.Series(["a", None]),
        pl.Series([1, None]),
        pa.chunked_array([["a", None]]),
        np.array(["2024", "NaT"], "M8[D]"),
    ],
)
def test_a_missing_label_is_refused(labels):
    with pytest.raises(InvalidValue, match=r"'asset\[1\]' is .*: expected a label"):
        sorted_groups([("asset", labels)], 2)


def test_there_must_be_one_label_per_row():
    with pytest.raises(InvalidValue, match=r"'groups' is \(2,\): expected the shape \(3,\)"):
        sorted_groups([("groups", [1, 2])], 3)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@given(
    seed=st.integers(0, 99),
    groups=st.booleans(),
    min_rows=st.sampled_from([None, 1, 3]),
    weighed=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_groups_with_gaps_equal_the_twin(alpha, seed, groups, min_rows, weighed):
    X, y = with_gaps(60, 2, seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=60) if groups else None
    weights = rng.choice([0.0, 1.0, 2.5], size=60) if weighed else None
    result = rolling(
        X,
        y,
        6,
        alpha=alpha,
        fit_intercept=True,
        min_rows=min_rows,
        groups=labels,
        threads=1 + seed % 3,
        missing="skip",
        outputs=OUTPUTS,
        sample_weight=weights,
    )
    check(result, naive.rolling(X, y, 6, alpha, True, min_rows, labels, weights=weights))


def test_a_row_without_a_response_is_still_predicted():
    X, y = data(20, 2)
    y[12] = np.nan
    result = rolling(X, y, 5, fit_intercept=False, missing="skip")
    assert np.isfinite(result.prediction[12])
    assert (result.coef[12] == result.coef[11]).all()
    assert result.prediction[13] == pytest.approx(X[13] @ result.coef[11])


def test_only_incomplete_rows():
    result = rolling(np.full((5, 2), np.nan), np.zeros(5), 2, missing="skip")
    assert np.isnan(result.coef).all()
    assert (result.rank == -1).all()


def test_decreasing_times_are_refused_within_a_group_only():
    X, y = data(6, 1)
    at = [0, 10, 1, 11, 2, 12]
    assert rolling(X, y, KeepFor(5), at=at, groups=[0, 1] * 3).coef.shape == (6, 1)
    with pytest.raises(BadTime, match=r"'at\[2\]' is '1': expected no time before"):
        rolling(X, y, KeepFor(5), at=at)
    with pytest.raises(BadTime, match=r"'at\[5\]' is '3': .*sort the rows by time"):
        rolling(X, y, 3, at=[0, 10, 1, 11, 2, 3], groups=[0, 1] * 3)
    with pytest.raises(BadTime, match=r"'at\[1\]'"):
        rolling(X, y, KeepFor(5), at=[0, None, 1, 2, 3, 4])
