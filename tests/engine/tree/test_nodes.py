from fractions import Fraction

import numpy as np
import pytest
from twins.summation_tree import tree_of, wrong_levels

from efface.engine.tree.tree_checks import wrong_nodes

KINDS = {
    "plain": (0.0, 1.0),
    "shifted": (1e6, 1.0),
    "tiny": (0.0, 1e-8),
    "huge": (1e9, 1e8),
    "constant": (0.1, 0.0),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_root_has_the_sums_of_all_rows(kind, weighted):
    rng, (shift, size) = np.random.default_rng(1), KINDS[kind]
    X, y = shift + size * rng.normal(size=(83, 3)), rng.normal(size=83)
    w = rng.choice([0.0, 0.5, 2.0], size=83) if weighted else None
    store, responses, root = tree_of(X, y, w)
    assert not list(wrong_nodes(store, X, responses, 0))
    assert not list(wrong_levels(store, X, responses, 0, 83))
    weights, xy = np.ones(83) if w is None else w, [0, 1, 2, 4]
    full = np.zeros((5, 5))
    full[np.tril_indices(5)] = root[5:20]
    rows = np.column_stack([X, y])
    total = sum(map(Fraction, weights))
    mean = [
        sum(Fraction(a) * Fraction(b) for a, b in zip(weights, column, strict=True)) / total
        for column in rows.T
    ]
    exact = [[Fraction(v) - m for v, m in zip(row, mean, strict=True)] for row in rows]
    around = np.array(exact, dtype=float)
    expected = around.T @ (weights[:, None] * around)
    size = np.sqrt(expected.diagonal())
    found = full[np.ix_(xy, xy)]
    assert (np.abs(np.tril(found - expected)) <= 1e-14 * np.outer(size, size)).all()
    assert full[3, 3] == pytest.approx(weights.sum(), rel=1e-15)
    rest = [*full[3, :3], full[4, 3]]
    for centre, more, value, spread in zip(root[xy], rest, mean, size, strict=True):
        assert abs(float(Fraction(centre) + Fraction(more) - value)) <= 1e-15 * spread + 1e-30
    assert root[-6:-3] == pytest.approx(X[weights > 0].max(axis=0), rel=0)
    assert root[-3:] == pytest.approx(X[weights > 0].min(axis=0), rel=0)


def test_a_constant_feature_has_sums_of_zero():
    X, y = np.full((40, 2), 0.1), np.arange(40.0)
    _, _, root = tree_of(X, y)
    assert root[:2].tolist() == [0.1, 0.1]
    assert not root[4:7].any()
    assert not root[7:9].any()


def test_rows_without_weight_are_as_good_as_absent():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(30, 2)), rng.normal(size=30), np.ones(30)
    w[3:9], X[3:9] = 0.0, 1e300
    _, _, root = tree_of(X, y, w)
    assert np.isfinite(root).all()
    X[3:9] = 0.0
    assert root.tobytes() == tree_of(X, y, w)[2].tobytes()


def test_rows_that_all_lack_weight_have_no_sums():
    X, y = np.ones((30, 2)), np.ones(30)
    assert not tree_of(X, y, np.zeros(30))[2].any()
