"""Several responses: y of shape (n, k) gives what k models of one response give.

The check is skipped while the models refuse such a y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from conformance.designs import draw
from conformance.expected_rows import Window
from conformance.histories import random_spec, run_seeds, window_sizes
from conformance.oracle import solve
from conformance.subjects import Fit, Setting
from conformance.tally import Tally

from efface import EffaceError, Ridge

DESIGNS = ("normal", "scaled 1e-4..1e4", "copies", "one-hot", "prices", "rare flags", "giant rows")
ROWS = 60


def accepted() -> bool:
    """Do models accept several responses?"""
    try:
        Ridge().fit(np.eye(3), np.eye(3))
    except EffaceError:
        return False
    return True


def check_responses(seeds: Sequence[int]) -> Tally:
    """``coef_`` is (k, d), ``intercept_`` and ``penalty_`` are (k,), after rows came and left."""

    def once(seed: int, tally: Tally) -> None:
        rng = np.random.default_rng([seed, 2])
        X, y, weights = draw(DESIGNS[seed % len(DESIGNS)], rng, ROWS)
        k = int(rng.choice([1, 2, 5]))
        Y = np.column_stack([y, *(y * rng.normal() + rng.normal(size=ROWS) for _ in range(k - 1))])
        window = Window("rows", int(rng.choice(window_sizes(X.shape[1]))))
        setting = Setting(replace(random_spec(rng), halflife=None), window)
        first = ROWS // 2
        model = setting.build().fit(X[:first], Y[:first], sample_weight=weights[:first])
        for t in range(first, ROWS):
            model.learn_one(X[t].copy(), Y[t].copy(), weight=float(weights[t]))
        gone = [int(i) for i in rng.choice(model.ids_, size=len(model.ids_) // 4, replace=False)]
        model.forget(gone)
        compare(model, setting, (X, Y, weights), tally)

    return run_seeds(once, seeds)


def compare(
    model: Any, setting: Setting, rows: tuple[np.ndarray, np.ndarray, np.ndarray], tally: Tally
) -> None:
    """Each response has the answer that it has alone."""
    X, Y, weights = rows
    k, d, live = Y.shape[1], X.shape[1], list(model.ids_)
    told = f"{setting.build()!r}, {k} responses, {len(live)} rows"
    shapes = [np.shape(v) for v in (model.coef_, model.intercept_, model.penalty_)]
    tally.agree("shapes", shapes == [(k, d), (k,), (k,)], f"{shapes}; {told}")
    predicted = np.asarray(model.predict(X[-1:]))
    for j in range(k):
        answer = solve(X[live], Y[live, j], setting.spec, weights[live])
        fit = Fit([], model.coef_[j], float(model.intercept_[j]), float(model.penalty_[j]))
        tally.compare(answer, fit._replace(rank=model.rank_), f"{told}, response {j}")
        tally.predicted(answer, X[-1], float(predicted[0, j]), f"{told}, response {j}")
