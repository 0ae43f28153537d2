"""The expression gives what ``rolling`` gives, in any Polars query."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from efface import rolling
from efface.errors import InvalidValue
from efface.polars import rolling_regression

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=k) for k in range(60)],
        "asset": ["a", "b", "c"] * 20,
        "mkt": RNG.normal(size=60),
        "smb": RNG.normal(size=60),
        "ret": RNG.normal(size=60),
        "w": RNG.uniform(size=60),
    }
)
OPTIONS = {"fit_intercept": True, "stats": "HC1", "outputs": ["coef", "intercept", "rank"]}


def expected(frame, window, **options):
    return rolling(frame, "ret", window, x=["mkt", "smb"], **OPTIONS, **options).to_frame()


def test_an_expression_equals_rolling():
    fit = rolling_regression("ret", "mkt", pl.col("smb"), window=10, **OPTIONS)
    assert_frame_equal(FRAME.select(fit.alias("f")).unnest("f"), expected(FRAME, 10))


def test_groups_weights_and_times_are_expressions():
    weights = {"at": "day", "sample_weight": pl.col("w") * 2}
    fit = rolling_regression("ret", "mkt", "smb", window="30d", **weights, **OPTIONS)
    found = FRAME.lazy().with_columns(fit.over("asset").alias("f")).unnest("f").collect()
    double = FRAME.with_columns(pl.col("w") * 2)
    theirs = expected(double, "30d", at="day", sample_weight="w", by="asset")
    assert_frame_equal(found[theirs.columns], theirs)


def test_the_schema_of_a_lazy_query_is_known():
    fit = rolling_regression("ret", "mkt", window=5, outputs=["coef", "rank"])
    query = FRAME.lazy().select(fit.alias("f")).unnest("f")
    assert query.collect_schema() == query.collect().schema
    assert query.collect_schema().names() == ["coef_mkt", "rank", "singular"]


def test_an_expression_needs_a_feature():
    with pytest.raises(InvalidValue, match="'x' is"):
        rolling_regression("ret", window=5)
