"""Results of the kind of the input, and ``to_frame``."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import EVERY, KINDS, close, data, equal, frame_data

from efface import OLS, replay, rolling
from efface.errors import BadRow, InvalidValue


def days(n=12):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=n) for name in ("mkt", "smb", "ret")}
    return pd.DataFrame({"day": np.arange(n), **columns}, index=[7] * n)


def test_to_frame_has_keys_first_and_one_column_per_feature():
    result = rolling(days(), "ret", 5, at="day", stats=True, fit_intercept=True)
    frame = result.to_frame()
    assert list(frame.columns[:5]) == ["day", "coef_mkt", "coef_smb", "intercept", "rank"]
    assert {"bse_mkt", "pvalues_smb", "rsquared", "nobs", "singular"} < set(frame.columns)
    assert frame.index.tolist() == [7] * 12
    assert np.array_equal(frame["coef_mkt"], result.coef["mkt"], equal_nan=True)


def test_a_key_with_the_name_of_an_output_is_refused():
    frame = days().rename(columns={"day": "prediction"})
    with pytest.raises(InvalidValue, match="2 columns named 'prediction'"):
        rolling(frame, "ret", 5, at="prediction").to_frame()


def test_to_frame_of_arrays_is_refused():
    with pytest.raises(InvalidValue, match="'X' was an array: expected a frame"):
        rolling(*data(10, 2), 4).to_frame()


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 99),
    n=st.sampled_from([0, 1, 30]),
    d=st.integers(1, 4),
    window=st.sampled_from([5, None, "6d"]),
    grouped=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_results_of_a_frame_equal_those_of_its_arrays(kind, seed, n, d, window, grouped):
    X, columns = frame_data(n, d, seed)
    frame = KINDS[kind](columns)
    names = [f"x{j}" for j in range(d)]
    got = rolling(
        frame, "ret", window, x=names, by="asset" if grouped else None, at="date", outputs=EVERY
    )
    want = rolling(
        X,
        columns["ret"],
        window,
        groups=columns["asset"] if grouped else None,
        at=columns["date"],
        outputs=EVERY,
    )
    equal(got, want)


@pytest.mark.parametrize("kind", KINDS)
def test_results_have_the_kind_of_the_frame(kind):
    _, columns = frame_data(20, 2)
    frame = KINDS[kind](columns)
    result = rolling(
        frame, y="ret", window=6, x=["x1", "x0"], by="asset", at="date", interval=0.9, min_rows=4
    )
    column, whole = {
        "pandas": (pd.Series, pd.DataFrame),
        "arrow": (pa.ChunkedArray, pa.Table),
    }.get(kind, (pl.Series, pl.DataFrame))
    assert type(result.coef) is whole
    names = result.coef.column_names if kind == "arrow" else list(result.coef.columns)
    assert names == ["x1", "x0"]
    for name in ("intercept", "rank", "fitted", "prediction", "lower", "upper", "singular"):
        assert type(getattr(result, name)) is column
    table = result.to_frame()
    assert type(table) is whole
    names = table.column_names if kind == "arrow" else list(table.columns)
    assert names[:4] == ["asset", "date", "coef_x1", "coef_x0"]
    assert {"prediction", "lower", "upper", "singular"} < set(names)


def test_the_index_of_pandas_is_kept():
    _, columns = frame_data(12, 2)
    index = pd.MultiIndex.from_arrays([columns["asset"], [1] * 12], names=["asset", "k"])
    frame = pd.DataFrame(columns).set_index(index)
    features = frame[["x0", "x1"]]
    result = rolling(features, frame["ret"], 5, stats=True)
    for values in (result.coef, result.rank, result.stats.bse, result.stats.nobs):
        assert values.index.equals(index)
    assert list(result.stats.tvalues.columns) == ["x0", "x1"]
    assert result.stats.rsquared.name == "rsquared"
    assert "bse_x0" in result.to_frame().columns


def test_a_single_column_as_features():
    X, y = data(12, 1)
    result = rolling(pd.Series(X[:, 0], name="mkt"), pd.Series(y), 5)
    assert list(result.coef.columns) == ["mkt"]
    close(result.coef.to_numpy(), rolling(X, y, 5).coef)


def test_arrays_beside_a_frame():
    X, columns = frame_data(12, 2)
    frame = pl.DataFrame(columns).select("x0", "x1")
    labels = columns["asset"]
    want = rolling(X, columns["ret"], 4, groups=labels)
    for y in (columns["ret"], pl.Series(columns["ret"]), columns["ret"].tolist()):
        equal(rolling(frame, y, 4, groups=labels), want)
        equal(rolling(frame, y, 4, by=pl.Series(labels)), want)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_missing_values_of_every_kind_are_skipped(kind):
    X, columns = frame_data(30, 2)
    y = columns["ret"].copy()
    y[[3, 20]] = np.nan
    X[7, 1] = np.nan
    whole = np.arange(30)
    holes = [None if t == 12 else int(t) for t in whole]
    frame = {
        "x0": X[:, 0],
        "x1": [None if math.isnan(v) else v for v in X[:, 1]],
        "k": pd.array(holes, dtype="Int64") if kind == "pandas" else holes,
        "ret": [None if math.isnan(v) else v for v in y],
    }
    count = whole.astype(float)
    count[12] = np.nan
    want = rolling(np.column_stack([X, count]), y, 6, missing="skip")
    equal(rolling(KINDS[kind](frame), "ret", 6, missing="skip"), want)
    with pytest.raises(BadRow, match=r"'X' at row 7, column 1 \('x1'\) is NaN"):
        rolling(KINDS[kind](frame), "ret", 6)
    frame["x1"], frame["k"] = X[:, 0], whole
    with pytest.raises(BadRow, match=r"'y' \('ret'\) at row 3 is NaN"):
        rolling(KINDS[kind](frame), "ret", 6)


def test_results_are_shown_as_tables():
    frame = pd.DataFrame({"mkt": [1.0, 1.0, 2.0]})
    result = rolling(frame, [1.0, 3.0, 5.0], window=2, fit_intercept=False)
    assert repr(result).splitlines()[0] == "Rolling"
    assert "mkt   2.6   2.3    2  2.6" in repr(result)
    assert "<th>mkt</th>" in result._repr_html_()
    assert repr(rolling([[1.0]], [1.0], 1, outputs="prediction")).splitlines() == [
        "Rolling",
        "  rows  1",
    ]


def test_the_summary_of_a_replay_counts_falls_of_the_rank():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    model = OLS(window=2, fit_intercept=False)
    result = replay(model, X, np.arange(5.0), diagnostics=True, coef=True)
    assert np.asarray(result.rank).tolist() == [0, 1, 2, 2, 1]
    facts = result.summary().facts
    assert facts["rank falls"] == "1"
    assert facts["live rows"] == "0 to 2"
    assert float(facts["largest FRT"]) == pytest.approx(np.nanmax(result.frt), rel=1e-3)
    assert result.summary().to_dict().keys() == {"x0", "x1"}
