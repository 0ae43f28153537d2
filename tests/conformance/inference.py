"""Standard errors, leverages and forgetting regret terms against exact fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, sqrt

import numpy as np
from conformance.designs import draw
from conformance.histories import generator, run_seeds
from conformance.oracle import PROMISED, Answer, Spec, fraction, nearest, solve
from conformance.tally import Tally
from flint import fmpq, fmpq_mat

import efface

DESIGNS = ("normal", "scaled 1e-4..1e4", "means 1e6", "prices", "slow feature", "rare flags")
KINDS = (True, "HC0", "HC1", "HC2", "HC3", "HAC")
LOOKED_AT = 4  # windows per seed


class Window:
    """Weighted rows of full rank, in fractions: A has a column of ones for an intercept."""

    def __init__(self, X: np.ndarray, y: np.ndarray, w: np.ndarray, intercept: bool) -> None:
        kept = w > 0
        X, y, self.w = X[kept], y[kept], [fraction(v) for v in w[kept]]
        rows = np.column_stack([X, np.ones((len(y), int(intercept)))])
        self.n, self.p = rows.shape
        self.A = fmpq_mat(self.n, self.p, [fraction(v) for v in rows.ravel()])
        self.b = [fraction(v) for v in y]
        self.gram = self.A.transpose() * self.scaled(self.w)

    @property
    def full(self) -> bool:
        return self.n > self.p and int(self.gram.rank()) == self.p

    def scaled(self, factors: list[fmpq]) -> fmpq_mat:
        rows = self.A.tolist()
        return fmpq_mat(
            self.n, self.p, [v * f for row, f in zip(rows, factors, strict=True) for v in row]
        )

    def variances(self, kind: object) -> list[fmpq]:
        """Of the unknowns, by the textbook: sigma^2 (A'WA)^-1, or bread, meat, bread."""
        bread = self.gram.inv()
        moment = self.A.transpose() * self.column(
            [w * b for w, b in zip(self.w, self.b, strict=True)]
        )
        fitted = (self.A * (bread * moment)).entries()
        residual = [b - f for b, f in zip(self.b, fitted, strict=True)]
        if kind is True:
            square = sum((w * r * r for w, r in zip(self.w, residual, strict=True)), fmpq(0))
            return [bread[i, i] * square / (self.n - self.p) for i in range(self.p)]
        scores = self.scaled([w * r for w, r in zip(self.w, residual, strict=True)])
        meat = scores.transpose() * self.weighted(scores, self.factors(kind, bread))
        if kind == "HAC":
            meat += self.lagged(scores)
        whole = bread * meat * bread
        return [whole[i, i] for i in range(self.p)]

    def column(self, values: list[fmpq]) -> fmpq_mat:
        return fmpq_mat(len(values), 1, values)

    def weighted(self, rows: fmpq_mat, factors: list[fmpq]) -> fmpq_mat:
        values = [v * f for row, f in zip(rows.tolist(), factors, strict=True) for v in row]
        return fmpq_mat(rows.nrows(), rows.ncols(), values)

    def factors(self, kind: object, bread: fmpq_mat) -> list[fmpq]:
        if kind == "HC1":
            return [fmpq(self.n, self.n - self.p)] * self.n
        if kind not in ("HC2", "HC3"):
            return [fmpq(1)] * self.n
        rows = (self.A * bread).tolist()
        leverage = [
            w * sum((a * b for a, b in zip(left, right, strict=True)), fmpq(0))
            for w, left, right in zip(self.w, rows, self.A.tolist(), strict=True)
        ]
        return [1 / (1 - h) ** (1 if kind == "HC2" else 2) for h in leverage]

    def lagged(self, scores: fmpq_mat) -> fmpq_mat:
        """Newey and West: products of scores up to some rows apart, with falling weights."""
        lags = floor(4 * (self.n / 100) ** (2 / 9))
        rows, total = scores.tolist(), fmpq_mat(self.p, self.p)
        for lag in range(1, min(lags, self.n - 1) + 1):
            near = fmpq_mat(self.n - lag, self.p, [v for row in rows[lag:] for v in row])
            far = fmpq_mat(self.n - lag, self.p, [v for row in rows[:-lag] for v in row])
            product = near.transpose() * far
            total += (product + product.transpose()) * (1 - fmpq(lag, lags + 1))
        return total


def check_errors(seeds: Sequence[int]) -> Tally:
    """``rolling(stats=...)``: a row of weight 0 counts for nothing, not even as a lag."""

    def once(seed: int, tally: Tally) -> None:
        design = DESIGNS[seed % len(DESIGNS)]
        rng = generator("inference", design, seed)
        X, y, weights = draw(design, rng, 60)
        if rng.random() < 0.5:
            weights = rng.choice([0.0, 0.0, 1.0, 2.0], size=len(y))
        intercept = bool(rng.integers(2))
        size = X.shape[1] + int(rng.integers(4, 30))
        options = {"fit_intercept": intercept, "sample_weight": weights}
        found = {kind: efface.rolling(X, y, size, stats=kind, **options).stats for kind in KINDS}
        for t in rng.integers(size - 1, len(y), size=LOOKED_AT):
            part = slice(t - size + 1, t + 1)
            window = Window(X[part], y[part], weights[part], intercept)
            answer = solve(X[part], y[part], Spec(intercept=intercept), weights[part])
            if not window.full or answer.condition > 1e6:
                continue
            for kind, stats in found.items():
                got = [*stats.bse[t], stats.intercept_bse[t]][: window.p]
                told = f"{kind}, {design}, weights {weights[part]}, window {size}, row {t}"
                tally.states += 1
                for error, text in _errors(window, answer, kind, got):
                    tally.close("standard error", error, f"{text}; {told}")

    return run_seeds(once, seeds)


def _errors(
    window: Window, answer: Answer, kind: object, got: list[float]
) -> Iterator[tuple[float, str]]:
    """Of the variances, in units of what is allowed."""
    try:
        right = [nearest(v) for v in window.variances(kind)]
    except ZeroDivisionError:  # a row of leverage 1 has no HC2 and no HC3
        return
    plain = [nearest(v) for v in window.variances("HC0" if kind == "HAC" else kind)]
    allowed = 4 * answer.tolerance * max(answer.condition / 1e2, 1.0)
    for mine, exact, scale in zip(got, right, plain, strict=True):
        error = abs(mine * abs(mine) - exact) / max(abs(exact), scale) if exact > 0 else 0.0
        yield float(error / allowed), f"{mine!r}, right is {sqrt(max(exact, 0.0))!r}"


def check_leverages(seeds: Sequence[int]) -> Tally:
    """``replay(diagnostics=True)``: leverage of the new and the oldest row, and Definition 2."""

    def once(seed: int, tally: Tally) -> None:
        design = DESIGNS[seed % len(DESIGNS)]
        rng = generator("leverages", design, seed)
        X, y, weights = draw(design, rng, 40)
        alpha, intercept = float(rng.choice([0.0, 0.7])), bool(rng.integers(2))
        size = X.shape[1] + int(rng.integers(3, 12))
        model = efface.Ridge(size, alpha=alpha, fit_intercept=intercept)
        found = efface.replay(model, X, y, sample_weight=weights, diagnostics=True)
        for t in range(size + 1, len(y)):
            part = slice(t - size, t)
            window = Window(X[part], y[part], weights[part], intercept)
            answer = solve(
                X[part], y[part], Spec("Ridge", alpha, intercept=intercept), weights[part]
            )
            if not window.full or answer.condition > 1e6 or not weights[t - size]:
                continue
            new, old, cross = _products(window, X[t], X[t - size], alpha, intercept)
            deleted = old * weights[t - size]
            rest = new - (cross**2 / old if old else 0.0)
            tally.states += 1
            told, allowed = f"{design}, row {t}, window {size}", 1e3 * PROMISED * answer.condition
            for name, value, right in (
                ("leverage_new", found.leverage_new[t], new),
                ("leverage_old", found.leverage_old[t], deleted),
                ("frt", found.frt[t], deleted * (rest + 1)),
            ):
                error = abs(value - right) / (allowed * max(right, new, 1.0))
                tally.close(
                    "leverage", float(error), f"{name} {value!r}, right is {right!r}; {told}"
                )

    return run_seeds(once, seeds)


def _products(
    window: Window, new: np.ndarray, old: np.ndarray, alpha: float, intercept: bool
) -> tuple[float, float, float]:
    """<new, new>, <old, old> and <old, new> in (A'WA + P)^-1; the intercept is not penalised."""
    system = fmpq_mat(window.gram)
    for j in range(len(new)):
        system[j, j] += fraction(alpha)
    inverse, ones = system.inv(), [1.0] * intercept
    u, v = (fmpq_mat(window.p, 1, [fraction(e) for e in (*row, *ones)]) for row in (new, old))
    pairs = ((u, u), (v, v), (v, u))
    new_new, old_old, old_new = (nearest((a.transpose() * inverse * b)[0, 0]) for a, b in pairs)
    return new_new, old_old, old_new
