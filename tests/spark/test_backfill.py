"""Backfills equal the library, whatever Spark does with partitions and batches."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("pyspark")

import pandas as pd

import efface
from efface import AutoRidge, Fleet, KeepFor, Ridge
from efface.errors import InvalidValue
from efface.spark import backfill, key_chunks, replay, rolling
from efface.spark.sorted_rows import sorted_rows

N = 3_000


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    keys = np.where(rng.random(N) < 0.5, 0, rng.integers(1, 40, N))  # one key has half of the rows
    frame = {
        "shop": [f"shop {key}" for key in keys],
        "number": keys,
        "day": pd.date_range("2024-01-01", periods=N, freq="h"),
        "id": np.arange(N),
        "weight": rng.uniform(0.5, 2.0, N),
        "sector": rng.choice(["food", "books", "toys"], N),
    }
    X = rng.normal(size=(N, 3))
    y = X @ [1.0, -2.0, 0.5] + keys % 3 + rng.normal(size=N)
    return pd.DataFrame({**frame, **{f"x{j}": X[:, j] for j in range(3)}, "y": y})


@pytest.fixture(scope="module")
def df(spark, rows):
    return spark.createDataFrame(rows.sample(frac=1.0, random_state=1))


def in_order(found):
    return found.toPandas().sort_values("id", ignore_index=True)


def assert_same(found, wanted, labels):
    assert list(found.columns) == [*labels, *wanted.columns.drop(labels, errors="ignore")]
    for name in wanted.columns.drop(labels, errors="ignore"):
        one, other = (np.asarray(frame[name], dtype=float) for frame in (found, wanted))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=name)


X = ["x0", "x1", "x2"]


@pytest.mark.parametrize("key", ["shop", "number"])
def test_replay_equals_the_library(df, rows, key):
    found = replay(
        df, key=key, y="y", x=X, at="day", ids="id", model=Ridge(window=20), interval=0.9
    )
    fleet = Fleet(Ridge(window=20))
    wanted = fleet.replay(X=rows, y="y", by=key, x=X, at="day", interval=0.9).to_frame()
    assert_same(in_order(found), wanted, [key, "id", "day"])


def test_replay_with_a_duration_weights_categories_and_coefficients(df, rows):
    options = {"sample_weight": "weight", "one_hot": {"sector": ["books", "food", "toys"]}}
    given = {"y": "y", "x": [*X, "sector"], "at": "day", "coef": True, **options}
    model = Ridge(window=KeepFor("20d"))
    found = replay(df, key="shop", ids="id", model=model, **given)
    wanted = Fleet(model).replay(X=rows, by="shop", **given).to_frame()
    assert_same(in_order(found), wanted, ["shop", "id", "day"])


def test_rolling_equals_the_library(df, rows):
    given = {"y": "y", "x": X, "at": "day", "window": 15, "stats": "HC1"}
    found = rolling(df, key="shop", ids="id", **given)
    assert_same(
        in_order(found), efface.rolling(rows, by="shop", **given).to_frame(), ["shop", "id", "day"]
    )


def test_a_key_may_span_chunks(rows, monkeypatch):
    """Rows of a key that come in several chunks are those of one model."""
    import pyarrow as pa

    ordered = rows.sort_values(["number", "day"], ignore_index=True)
    table = pa.Table.from_pandas(ordered[["number", "day", "y", *X]])
    columns = backfill.BackfillColumns("number", "y", X, "day", [], [], {})
    monkeypatch.setattr(
        backfill,
        "whole_keys",
        lambda batches, key, longest: key_chunks.whole_keys(batches, key, 100, 100),
    )
    batches = table.to_batches(max_chunksize=64)
    model = AutoRidge(window=10)
    parts = list(backfill.replay_keys(batches, columns, model, {}))
    found = pa.Table.from_batches(parts)["prediction"].to_numpy()
    wanted = Fleet(model).replay(X=ordered, y="y", by="number", x=X, at="day").prediction
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-12, atol=1e-12)
    assert len(parts) > 20


def test_a_partition_that_exceeds_the_bound_is_sorted_in_files_of_spark(df):
    def run(batches):
        assert os.path.isdir(os.environ["SPARK_LOCAL_DIRS"].split(",")[0])
        return sorted_rows(batches, ["number", "id"], limit=10_000, block=100)

    found = df.select("number", "id").repartition(1).mapInArrow(run, "number long, id long")
    rows = [tuple(row) for row in found.collect()]
    assert len(rows) == N
    assert rows == sorted(rows)


def test_what_cannot_be_used_is_refused_before_a_job_starts(df):
    given = {"key": "shop", "y": "y", "x": X, "model": Ridge()}
    with pytest.raises(InvalidValue, match="Spark keeps no order"):
        replay(df, **given)
    with pytest.raises(InvalidValue, match="'column' is 'when'"):
        replay(df, at="when", **given)
    with pytest.raises(InvalidValue, match="numbers, times or texts"):
        replay(df.selectExpr("*", "array(id) AS many"), ids="many", **given)
    with pytest.raises(InvalidValue, match="diagnostics"):
        replay(df, at="day", diagnostics=True, **given)
    with pytest.raises(InvalidValue, match="one_hot"):
        replay(df, at="day", one_hot=["sector"], **given)
    with pytest.raises(InvalidValue, match="sector"):
        replay(df, key="shop", y="y", at="day", model=Ridge())
    with pytest.raises(TypeError, match="speed"):
        rolling(df, key="shop", y="y", x=X, at="day", window=5, speed=1)


def test_a_value_that_is_missing_fails_the_job(spark, rows):
    broken = spark.createDataFrame(rows.assign(y=rows["y"].where(rows["id"] != 7)))
    found = replay(broken, key="shop", y="y", x=X, at="day", model=Ridge(window=5))
    with pytest.raises(Exception, match=r"NaN|missing"):
        found.collect()
