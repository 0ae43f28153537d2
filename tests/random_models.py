"""Models after random events: every rule, policy and kind of row."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    AutoRidge,
    KeepAll,
    KeepFor,
    Ridge,
    SwitchingRidge,
)

MODELS = {
    "AutoRidge": AutoRidge,
    "OLS": OLS,
    "Ridge": lambda **given: Ridge(alpha=0.7, **given),
    "AdaptiveRidge": lambda **given: AdaptiveRidge(theta_max=3.0, **given),
    "AdaptiveRidge, the paper's": AdaptiveRidge,
    "SwitchingRidge": lambda **given: SwitchingRidge(switch_at=1.5, **given),
}
POLICIES = [FIFD(9), FIFD(2), KeepFor(12.0), AddDrop(3, 1, 4), KeepAll()]


def plain(rng, n, d):
    return rng.normal(size=(n, d))


STREAMS = {
    "plain": plain,
    "columns from 1e-4 to 1e4": lambda rng, n, d: plain(rng, n, d) * np.geomspace(1e-4, 1e4, d),
    "large means": lambda rng, n, d: plain(rng, n, d) + 1e6 * rng.normal(size=d),
    "repeated rows": lambda rng, n, d: rng.integers(-2, 3, (3, d))[rng.integers(0, 3, n)] * 1.0,
    "unit vectors": lambda rng, n, d: np.eye(d)[rng.integers(0, d, n)] * rng.integers(1, 4, (n, 1)),
    "tiny": lambda rng, n, d: 1e-12 * plain(rng, n, d),
    "huge": lambda rng, n, d: 1e12 * plain(rng, n, d),
}


def after_events(kind, policy, intercept, rows, seed, d=3, n=26, choices=(0.0, 0.5, 1.0, 3.0)):
    """A model after random learning, forgetting and expiry; its live rows; the ids that have left.

    Models with an odd seed have weights.
    """
    rng = np.random.default_rng([seed, d])
    X = STREAMS[rows](rng, n, d)
    y = X @ (rng.normal(size=d) / np.abs(X).max()) + rng.normal(size=n)
    model = MODELS[kind](window=policy, fit_intercept=intercept)
    timed = isinstance(policy, KeepFor)
    names = [f"r{t}" for t in range(n)]
    weights = rng.choice(choices, size=n) if seed % 2 else np.ones(n)
    for t in range(n - rng.integers(0, n)):
        at = float(t) if timed else None
        model.learn_one(X[t], y[t], id=names[t], at=at, weight=weights[t])
        if rng.random() < 0.15 and model.n_rows_:
            model.forget(model.ids_[rng.integers(model.n_rows_)])
        if rng.random() < 0.1 and timed:
            model.expire(t + float(rng.integers(0, 14)))
    alive = [names.index(id) for id in model.ids_]
    gone = [id for id in names if id not in model.ids_]
    return model, X[alive], gone


HISTORIES = st.tuples(
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(POLICIES),
    st.booleans(),
    st.sampled_from(sorted(STREAMS)),
    st.integers(0, 10**6),
)
