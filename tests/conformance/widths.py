"""Intervals where the noise is constant: finite, and as wide as the noise demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from conformance.histories import run_seeds
from conformance.tally import Tally

import efface
from efface import OLS, AutoRidge, Fleet, Ridge

LEVEL = 0.95
NEW = 4  # rows that get intervals

Features = Callable[[np.random.Generator, int], np.ndarray]
FEATURES: dict[str, Features] = {
    "normal": lambda rng, n: rng.normal(size=(n, 3)),
    "binary": lambda rng, n: rng.integers(0, 2, size=(n, 1)).astype(float),
    "few levels": lambda rng, n: rng.integers(0, 4, size=(n, 2)).astype(float),
    "unbalanced one-hot": lambda rng, n: np.eye(3)[rng.choice(3, size=n, p=[0.8, 0.15, 0.05])],
    "slow": lambda rng, n: np.cumsum(rng.normal(size=(n, 1)) * 0.01, axis=0),
    "trend": lambda rng, n: np.arange(n)[:, np.newaxis] / n + 0.01 * rng.normal(size=(n, 1)),
}
# Half-widths in units of 1.96 deviations; self-normalised intervals hold at all times at once.
SANE = {
    "gaussian": (0.5, 2.5),
    "local": (0.3, 3.0),
    "conformal": (0.5, 3.0),
    "self-normalized": (0.5, 40.0),
}


def fitted(model: Any, X: np.ndarray, y: np.ndarray, method: Any) -> np.ndarray:
    return np.asarray(model.fit(X[:-NEW], y[:-NEW]).predict_interval(X[-NEW:], LEVEL, method))


def after_events(model: Any, X: np.ndarray, y: np.ndarray, method: Any) -> np.ndarray:
    """Rows that come one by one, between rows of another kind that are forgotten."""
    n = len(y) - NEW
    model.fit(X[: n - 20], y[: n - 20], ids=range(n - 20))
    for t in range(n - 20, n):
        model.learn_one(-X[t], 1e3 * float(y[t]), id=f"wrong {t}")
        model.learn_one(X[t].copy(), float(y[t]), id=t)
    model.forget([f"wrong {t}" for t in range(n - 20, n)])
    return np.asarray(model.predict_interval(X[n:], LEVEL, method))


def replayed(model: Any, X: np.ndarray, y: np.ndarray, method: Any) -> np.ndarray:
    found = efface.replay(model, X, y, interval=LEVEL, method=method)
    return np.array([found.prediction, found.lower, found.upper])[:, -NEW:]


def by_key(model: Any, X: np.ndarray, y: np.ndarray, method: Any) -> np.ndarray:
    fleet, n = Fleet(model, threads=1), len(y) - NEW
    fleet.learn(["a"] * n, X[:n], y[:n])
    return np.asarray(fleet.predict_interval(["a"] * NEW, X[n:], LEVEL, method))


PATHS = (fitted, fitted, after_events, replayed, by_key)


def check_widths(method: str, seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, len(method)])
        name = str(rng.choice(list(FEATURES)))
        n, deviation = int(rng.integers(120, 260)), 10.0 ** rng.integers(-2, 4)
        X = FEATURES[name](rng, n + NEW)
        y = deviation * (X.sum(axis=1) + rng.normal(size=n + NEW))
        model, path = [OLS, Ridge, AutoRidge][rng.integers(3)](), PATHS[rng.integers(len(PATHS))]
        _, lower, upper = path(model, X, y, method)
        least, most = SANE[method]
        for half in (upper - lower) / 2:
            share = half / (1.96 * deviation)
            told = f"{model!r}, {name}, {n} rows, {path.__name__}"
            tally.states += 1
            tally.agree("width", bool(np.isfinite(half)), f"infinite; {told}")
            tally.agree("width", least <= share <= most, f"{share:.3g} of the noise's; {told}")

    return run_seeds(once, seeds)
