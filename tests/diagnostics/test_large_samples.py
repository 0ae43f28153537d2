import numpy as np
import pytest

from efface.diagnostics import large_samples
from efface.diagnostics.large_samples import Sample
from efface.diagnostics.reference import refit


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(large_samples, "MANY", 1000)
    monkeypatch.setattr(large_samples, "_BLOCK", 700)


def rows(seed, n=3000, d=5):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + rng.normal(size=d)) * 10.0 ** rng.integers(-4, 5, size=d)
    return X, X @ (rng.normal(size=d) / X.std(axis=0)) + rng.normal(size=n) + 3.0, rng


@pytest.mark.parametrize("penalty", [0.0, 10.0])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_slow_refit(seed, weighted, intercept, penalty):
    X, y, rng = rows(seed)
    w = rng.choice([0.1, 1.0, 7.0], size=len(y)) if weighted else None
    sample = Sample.of(X, y, w, intercept=intercept)
    found, expected = (
        sample.refit(penalty),
        refit(X, y, penalty=penalty, intercept=intercept, weights=w),
    )
    assert expected.distance(found.coef, found.intercept) <= 1e-13
    for name in ("spread", "coef_scale", "intercept_scale", "sensitivity"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6)
    assert 0.5 <= found.rounding / expected.rounding <= 2.0


def test_the_condition_is_that_of_phi():
    X, y, _ = rows(0)
    centred = X - X.mean(axis=0)
    expected = np.linalg.cond(centred) ** 2
    assert Sample.of(X, y, None, intercept=True).condition == pytest.approx(expected, rel=1e-9)


def collinear(X):
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 0].std() * np.sin(np.arange(len(X)))


def constant(X):
    X[:, 2] = 0.1


def far(X):
    X[:, 0] = 1e9 + np.sin(np.arange(len(X)))


def huge(X):
    X[:, 0] *= 1e120


def tiny(X):
    X[:, 0] *= 1e-140


@pytest.mark.parametrize("spoil", [collinear, constant, far, huge, tiny])
def test_rows_that_need_more_digits_are_left_to_the_slow_refit(spoil):
    X, y, _ = rows(1)
    spoil(X)
    assert Sample.of(X, y, None, intercept=True) is None


def test_few_rows_and_rows_without_weight_are_left_to_the_slow_refit():
    X, y, _ = rows(2)
    assert Sample.of(X[:100], y[:100], None, intercept=True) is None
    assert Sample.of(X, y, np.arange(len(y)) % 2.0, intercept=True) is None
