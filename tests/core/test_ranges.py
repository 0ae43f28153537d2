"""Ranges of rows: each is what a fit of its rows alone is, whichever way it is solved."""

from __future__ import annotations

import numpy as np
import pytest

from efface.core import core

FIXED, LEMMA_3, SELECTED = 0, 1, 2
RULES = {
    "OLS": (FIXED, 0.0, 1.0, 0.0),
    "Ridge": (FIXED, 0.5, 1.0, 0.0),
    "Lemma 3": (LEMMA_3, 0.05, 1.0, 3.0),
    "selected": (SELECTED, 0.0, 1.0, 0.0),
}


def sliding(n, s):
    hi = np.arange(1, n + 1)
    return np.maximum(hi - s, 0), hi


def keys(n):
    edges = np.unique(np.concatenate([[0], np.random.default_rng(3).integers(0, n, n // 8), [n]]))
    order = np.random.default_rng(4).permutation(edges.size - 1)
    return edges[:-1][order], edges[1:][order]


RANGES = {
    "sliding": lambda n: sliding(n, 25),
    "short": lambda n: sliding(n, 3),
    "expanding": lambda n: sliding(n, n),
    "with jumps": lambda n: (np.arange(0, n - 40, 7), np.arange(40, n, 7)),
    "keys": keys,
}


def rows(design, n, d):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d))
    if design == "giant rows":
        X[rng.random(n) < 0.03] *= 1e8
    if design == "copies":
        X[:, 1] = 2.0 * X[:, 0] + 0.5
    if design == "constant":
        X[:, 0], X[n // 2 :, 1] = 3.7, 1.0
    if design == "far from 0":
        X += 1e6
    return X


@pytest.mark.parametrize("ends", list(RANGES))
@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("design", ["plain", "giant rows", "copies", "constant", "far from 0"])
@pytest.mark.parametrize(("d", "weighted"), [(3, False), (3, True), (9, True)])
def test_every_range_equals_the_fit_of_its_rows(design, rule, ends, d, weighted):
    n, k = 90, 2
    rng, X = np.random.default_rng(1), rows(design, n, d)
    Y = X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))
    w = rng.choice([0.0, 0.3, 1.0, 2.0], n) if weighted else np.ones(n)
    lo, hi = (np.ascontiguousarray(each, np.int64) for each in RANGES[ends](n))
    model, at = (True, 0.0, *RULES[rule]), np.arange(lo.size) % n
    coef, level, penalty, rank, prediction = core.solve_ranges(
        X, Y, w if weighted else None, lo, hi, *model, None, True, X, at
    )
    for i, (a, b) in enumerate(zip(lo, hi, strict=True)):
        expected = core.fit(X[a:b], Y[a:b], w[a:b], *model)
        usual = np.abs(Y[a:b]).max() / np.abs(X[a:b]).max()  # in case all coefficients are 0
        unit = np.abs(expected[0]).max() + 1e-6 * usual
        assert np.abs(coef[i] - expected[0]).max() <= 1e-8 * unit
        assert penalty[i] == pytest.approx(expected[2], rel=1e-8)
        assert rank[i] == expected[3]
        size = np.abs(level[i]) + np.abs(coef[i]) @ np.abs(X[at[i]])
        assert (np.abs(prediction[i] - level[i] - coef[i] @ X[at[i]]) <= 1e-8 * size).all()


def test_a_unit_counts_as_one_row():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(40, 3)), rng.normal(size=(40, 1)), rng.uniform(0.1, 1.0, 40)
    lo, hi = np.zeros(40, np.int64), np.arange(1, 41)
    for rule in RULES.values():
        one = core.solve_ranges(X, y, w, lo, hi, True, 0.0, *rule, np.full(40, 0.25))
        other = core.solve_ranges(X, y, w / 0.25, lo, hi, True, 0.0, *rule)
        assert one[0] == pytest.approx(other[0], rel=1e-9, abs=1e-12)
        assert one[2] == pytest.approx(other[2], rel=1e-9)


def test_a_range_without_rows_has_a_fit_of_zeros():
    X, y, none = np.ones((3, 2)), np.ones((3, 1)), np.zeros(2, np.int64)
    for weights, ends in ((None, none), (np.zeros(3), none + 3)):
        coef, level, _, rank, _ = core.solve_ranges(X, y, weights, none, ends, True, 0.0, 0, 1.0)
        assert not coef.any()
        assert not level.any()
        assert rank.tolist() == [0, 0]
