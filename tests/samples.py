"""Sample rows and frames, and comparisons of results that contain NaN."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

OUTPUTS = ("coef", "intercept", "rank", "fitted", "prediction")
EVERY = (*OUTPUTS, "residual", "error")
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "lazy": pl.LazyFrame,
}
WEIGHINGS = {
    "integers": lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    "from 1e-3 to 1e3": lambda rng, n: 10.0 ** rng.uniform(-3, 3, size=n),
    "runs of weight 0": lambda rng, n: np.repeat(rng.choice([0.0, 1.0, 2.0], size=n), 7)[:n],
    "one of 1e8": lambda rng, n: np.where(np.arange(n) == n // 3, 1e8, 1.0),
}


def data(n, d, seed=0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 + 0.3 * rng.normal(size=n)


def with_gaps(n, d, seed):
    rng = np.random.default_rng(seed)
    X, y = data(n, d, seed)
    X[rng.random(size=(n, d)) < 0.08] = np.nan
    y[rng.random(size=n) < 0.15] = np.nan
    return X, y


def ticks(n, seed):
    """Sorted times, some of them equal, with occasional long pauses."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.choice([0.0, 1.0, 1.0, 2.0, 9.0], size=n))


def frame_data(n, d, seed=0):
    """X, and the columns of a frame: ids, response, features, groups and times."""
    X, y = data(n, d, seed)
    rng = np.random.default_rng(seed)
    return X, {
        "id": [f"row {t}" for t in range(n)],
        "ret": y,
        **{f"x{j}": X[:, j].copy() for j in range(d)},
        "asset": rng.choice(["b", "a", "c"], size=n).tolist(),
        "date": np.datetime64("2024-01-01", "us") + np.arange(n) * np.timedelta64(1, "D"),
    }


def close(got, want):
    """Assert equality to 1e-9 of the largest value, with NaN at the same positions."""
    assert (np.isnan(got) == np.isnan(want)).all()
    if not np.isnan(want).all():
        assert np.nanmax(np.abs(got - want)) <= 1e-9 * max(np.nanmax(np.abs(want)), 1e-300)


def check(result, expected):
    """Assert that the computed outputs of ``rolling`` are close to those of the twin."""
    for name, want in zip(OUTPUTS, expected, strict=True):
        got = getattr(result, name)
        if name == "rank" and got is not None:
            assert (got == want).all()
        elif got is not None:
            close(got, want)


def plain(values):
    """A column or a frame of any library as an array."""
    table = getattr(values, "to_pandas", lambda: values)()
    return np.asarray(table)


def equal(got, want):
    """Assert that two results of ``rolling`` have equal values in the same fields."""
    for name in EVERY:
        one, other = getattr(got, name), getattr(want, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert np.array_equal(plain(one), other, equal_nan=True), name
