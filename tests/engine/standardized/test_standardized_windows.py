"""Regressions on every window of an array, each standardised by its own rows."""

from __future__ import annotations

import numpy as np
import pytest
from twins import scaling as naive_scaling

from efface.engine.standardized.standardized_windows import slide_standardized


def rows_like(kind, n=60, d=3):
    rng = np.random.default_rng([n, d])
    X = rng.normal(size=(n, d))
    if kind == "scaled and shifted":
        X = X * [1e-4, 1.0, 1e4] + [1.0, 1e6, 0.0]
    if kind == "a constant feature":
        X[:, 1] = 0.1
    if kind == "repeated rows":
        X = X[rng.integers(0, 3, size=n)]
    if kind == "a mean that jumps":
        X[n // 2 :, 0] += 1e7
    if kind == "one huge row":
        X[n // 3] *= 1e8
    return X, X @ (rng.normal(size=d) / np.maximum(X.std(axis=0), 1e-4)) + rng.normal(size=n)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("s", [3, 12])
@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "scaled and shifted",
        "a constant feature",
        "repeated rows",
        "a mean that jumps",
        "one huge row",
    ],
)
def test_every_window_equals_a_refit_on_its_standardised_rows(kind, s, intercept, penalty, weighed):
    X, y = rows_like(kind)
    first, rng = 2, np.random.default_rng(1)
    w = rng.choice([0.0, 0.5, 1.0, 2.5], size=len(y)) if weighed else np.ones(len(y))
    coef, level, rank = slide_standardized(X, y, s, penalty, intercept, first, w)
    assert np.isnan(coef[:first]).all()
    for t in range(first, len(y), 3):
        window = slice(max(0, t - s + 1), t + 1)
        expected = naive_scaling.regress(X[window], y[window], penalty, intercept, w[window])
        counted = w[window] > 0
        if not counted.any():
            assert not coef[t].any()
            continue
        Z, _, sd = naive_scaling.standardise(X[window][counted], w[window][counted])
        Z = np.sqrt(w[window][counted])[:, np.newaxis] * Z
        sigma = np.linalg.svd(Z, compute_uv=False)
        known = sigma[sigma > 1e-12 * sigma[0]]
        if penalty == 0.0 and known.size and known[0] > 1e4 * known[-1]:
            continue  # windows with the huge row
        largest = np.abs(expected[0] * sd).max()
        assert np.abs((coef[t] - expected[0]) * sd).max() <= 1e-9 * largest
        assert level[t] == pytest.approx(expected[1], rel=1e-9, abs=1e-9 * np.abs(y).max())
        if penalty == 0.0:
            assert rank[t] == expected[2]
