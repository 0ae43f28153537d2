"""Intervals where the noise is constant: finite, and as wide as the noise demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from conformance.histories import run_seeds
from conformance.tally import Tally

from efface import OLS, AutoRidge, Ridge

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


def check_widths(method: str, seeds: Sequence[int]) -> Tally:
    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, len(method)])
        name = str(rng.choice(list(FEATURES)))
        n, deviation = int(rng.integers(120, 260)), 10.0 ** rng.integers(-2, 4)
        X = FEATURES[name](rng, n + 4)
        y = deviation * (X.sum(axis=1) + rng.normal(size=n + 4))
        model = [OLS, Ridge, AutoRidge][rng.integers(3)]().fit(X[:n], y[:n])
        _, lower, upper = model.predict_interval(X[n:], 0.95, method)  # type: ignore[arg-type]
        least, most = SANE[method]
        for half in (upper - lower) / 2:
            share, told = half / (1.96 * deviation), f"{model!r}, {name}, {n} rows"
            tally.states += 1
            tally.agree("width", bool(np.isfinite(half)), f"infinite; {told}")
            tally.agree("width", least <= share <= most, f"{share:.3g} of the noise's; {told}")

    return run_seeds(once, seeds)
