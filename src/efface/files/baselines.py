"""The baselines of ``--compare``: other ways to predict the same stream.

Each predicts a row before it learns it, and keeps its state from batch to batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, final

import numpy as np

from efface.batch.replay import replay
from efface.inputs.types import Matrix, Vector
from efface.models.linear import OLS, Ridge
from efface.models.regression import Model

EVERY = 100
ALPHAS = (0.01, 1.0, 100.0)
LAST = "the value before"
NEVER_FORGET = "never forget (growing OLS)"


class Baseline(ABC):
    """Another way to predict the rows."""

    @abstractmethod
    def predict(self, X: Matrix, y: Vector, at: Any, weights: Vector | None = None) -> Vector:
        """Predict these rows one by one, and learn each before the next."""


def baselines(make: Callable[[], Model], window: Any, **options: Any) -> dict[str, Baseline]:
    """All baselines by name: no forgetting, periodic refits, fixed penalties, River.

    ``options`` are those of Ridge.

    >>> list(baselines(lambda: OLS(window=9), 9))[:3]
    ['never forget (growing OLS)', 'refit every 100 rows', 'Ridge, alpha=0.01']
    """
    found: dict[str, Baseline] = {
        NEVER_FORGET: _Replayed(OLS()),
        f"refit every {EVERY} rows": _PeriodicRefit(make()),
    }
    for alpha in ALPHAS:
        ridge = Ridge(window, **{**options, "alpha": alpha})
        found[f"Ridge, alpha={alpha:g}"] = _Replayed(ridge)
    if find_spec("river"):
        found["River LinearRegression"] = _River()
    return found


@final
class _Replayed(Baseline):
    """A model of efface."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, X: Matrix, y: Vector, at: Any, weights: Vector | None = None) -> Vector:
        prediction: Vector = replay(self._model, X, y, at=at, sample_weight=weights).prediction
        return prediction


@final
class _PeriodicRefit(Baseline):
    """The same model, but its coefficients are updated only every ``EVERY`` rows."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._seen = 0
        self._coef: Vector | None = None
        self._intercept = 0.0

    def predict(self, X: Matrix, y: Vector, at: Any, weights: Vector | None = None) -> Vector:
        predictions, start = np.zeros(len(y)), 0
        while start < len(y):
            stop = min(len(y), start + EVERY - self._seen % EVERY)
            if self._coef is not None:
                predictions[start:stop] = X[start:stop] @ self._coef + self._intercept
            times, w = (None if each is None else each[start:stop] for each in (at, weights))
            self._model.partial_fit(X[start:stop], y[start:stop], at=times, sample_weight=w)
            self._seen += stop - start
            if self._seen % EVERY == 0:
                self._coef, self._intercept = self._model.coef_, self._model.intercept_
            start = stop
        return predictions


@final
class _River(Baseline):
    """River's linear regression by stochastic gradient descent, on standardised features."""

    def __init__(self) -> None:
        from river.linear_model import LinearRegression
        from river.preprocessing import StandardScaler

        self._model = StandardScaler() | LinearRegression()

    def predict(self, X: Matrix, y: Vector, at: Any, weights: Vector | None = None) -> Vector:
        model, predictions = self._model, np.empty(len(y))
        w = np.ones(len(y)) if weights is None else weights
        rows = zip(X.tolist(), y.tolist(), w.tolist(), strict=True)
        for t, (row, response, weight) in enumerate(rows):
            x = dict(enumerate(row))
            predictions[t] = model.predict_one(x)
            model.learn_one(x, response, w=weight)
        return predictions
