"""Models that learn one event at a time, efface and its peers, with the first window learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.subject import efface
from benchmarks.workloads import Array, Work


class Stream(ABC):
    """A model that has learned rows 0..s-1; `run` processes further rows."""

    name: str
    forgets = True

    def __init__(self, work: Work) -> None:
        self.s = work.s
        self.xs: list[Any] = list(work.X)
        self.ys: list[float] = work.y.tolist()
        self.start(work)

    @abstractmethod
    def start(self, work: Work) -> None:
        """Learn the first window."""

    @abstractmethod
    def run(self, first: int, stop: int) -> None:
        """Predict and learn rows first..stop-1; the oldest row leaves at each step."""

    @abstractmethod
    def coef(self) -> Array:
        """The current coefficients."""


class Efface(Stream):
    """`predict_one` and `learn_one` of efface's Ridge, or OLS without a penalty."""

    name = "efface"

    def start(self, work: Work) -> None:
        """Learn the first window."""
        if work.alpha:
            self.model = efface("Ridge")(window=work.s, alpha=work.alpha, fit_intercept=False)
        else:
            self.model = efface("OLS")(window=work.s, fit_intercept=False)
        for x, y in zip(self.xs[: work.s], self.ys, strict=False):
            self.model.learn_one(x, y)

    def run(self, first: int, stop: int) -> None:
        """The window removes the oldest row by itself."""
        predict, learn = self.model.predict_one, self.model.learn_one
        for x, y in zip(self.xs[first:stop], self.ys[first:stop], strict=True):
            predict(x)
            learn(x, y)

    def coef(self) -> Array:
        """The current coefficients."""
        return np.asarray(self.model.coef_)


class PolarsDsOnline(Stream):
    """polars-ds `OnlineLR`: predict, update by +1, update by -1."""

    name = "polars-ds OnlineLR"

    def start(self, work: Work) -> None:
        """Fit the first window; store rows in the 1 x d shape that it needs."""
        from polars_ds.linear_models import OnlineLR

        X, y = work.window(work.s - 1)
        self.model = OnlineLR(lambda_=work.alpha).fit(X, y.reshape(-1, 1))
        self.xs = [x.reshape(1, -1) for x in self.xs]
        self.targets = list(work.y.reshape(-1, 1, 1))

    def run(self, first: int, stop: int) -> None:
        """Add the new row, then remove the old one."""
        model, xs, ys, s = self.model, self.xs, self.targets, self.s
        for t in range(first, stop):
            model.predict(xs[t])
            model.update(xs[t], ys[t], 1.0)
            model.update(xs[t - s], ys[t - s], -1.0)

    def coef(self) -> Array:
        """The current coefficients."""
        return np.asarray(self.model.coeffs()).ravel()


class ShermanMorrison(Stream):
    """The usual NumPy loop: two rank-one updates of an inverse."""

    name = "NumPy Sherman-Morrison"

    def start(self, work: Work) -> None:
        """Invert the first window's Gram matrix."""
        X, y = work.window(work.s - 1)
        self.inverse = np.linalg.inv(X.T @ X + work.alpha * np.eye(work.d))
        self.moment = X.T @ y
        self.theta = self.inverse @ self.moment

    def run(self, first: int, stop: int) -> None:
        """Add the new row, then remove the old one."""
        inverse, moment, xs, ys, s = self.inverse, self.moment, self.xs, self.ys, self.s
        theta = self.theta
        for t in range(first, stop):
            x, old = xs[t], xs[t - s]
            theta @ x
            Px = inverse @ x
            inverse -= np.outer(Px, Px / (1.0 + x @ Px))
            Px = inverse @ old
            inverse += np.outer(Px, Px / (1.0 - old @ Px))
            moment += ys[t] * x - ys[t - s] * old
            theta = inverse @ moment
        self.theta = theta

    def coef(self) -> Array:
        """The current coefficients."""
        return np.asarray(self.theta)


class River(Stream):
    """A linear model of River. It takes dicts, prepared beforehand, and never removes a row."""

    forgets = False

    def start(self, work: Work) -> None:
        """Learn the first window."""
        self.model = self.make()
        self.xs = [dict(enumerate(x.tolist())) for x in work.X]
        self.run(0, work.s)

    @abstractmethod
    def make(self) -> Any:
        """A fresh model."""

    def run(self, first: int, stop: int) -> None:
        """Predict and learn; no row leaves."""
        predict, learn = self.model.predict_one, self.model.learn_one
        for x, y in zip(self.xs[first:stop], self.ys[first:stop], strict=True):
            predict(x)
            learn(x, y)

    def coef(self) -> Array:
        """Not comparable with the coefficients of a window."""
        raise NotImplementedError("River's linear models cannot forget a row")


class RiverLinear(River):
    """River's stochastic gradient descent."""

    name = "River LinearRegression"

    def make(self) -> Any:
        """A fresh model."""
        from river.linear_model import LinearRegression

        return LinearRegression()


class RiverBayesian(River):
    """River's Bayesian linear regression."""

    name = "River BayesianLinearRegression"

    def make(self) -> Any:
        """A fresh model."""
        from river.linear_model import BayesianLinearRegression

        return BayesianLinearRegression()


STREAMS: dict[str, Callable[[Work], Stream]] = {
    kind.name: kind
    for kind in (Efface, PolarsDsOnline, ShermanMorrison, RiverLinear, RiverBayesian)
}
