"""The numbers that decide statements which need no runs: identities, orders and definitions.

Each is computed on small seeded windows when it is asked for. A measure's last argument is the
evidence; most do not use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from efface.models.linear import OLS, AdaptiveRidge, AutoRidge
from efface.models.regression import Model
from efface.paper.evidence import Evidence, Places
from efface.paper.simulate import linear_stream
from efface.paper.verdicts import Place
from efface.theory.bounds import ridge_regret_bound
from efface.theory.geometry import Array, spectrum
from efface.theory.quantities import (
    adaptive_penalty,
    forgetting_regret_term,
    wpssr_limit,
)
from efface.theory.radii import paper_ols_radius, paper_ridge_radius
from efface.theory.updates import slide_inverse, with_row, without_row

SEED = 0
MODELS: tuple[type[Model], ...] = (OLS, AdaptiveRidge, AutoRidge)


def _windows(count: int, s: int, d: int) -> Iterator[Array]:
    """Windows of Gaussian rows."""
    rng = np.random.default_rng([SEED, s, d])
    return (rng.standard_normal((s, d)) for _ in range(count))


def influence_of_departed_rows(evidence: Evidence) -> Places:
    """The relative change of a prediction if all rows that left are replaced by others (Fig. 1)."""
    data = linear_stream(SEED, 0, 90, 5, reading=evidence.reading)
    for model in MODELS:
        predictions = []
        for factor in (1.0, -3.0):
            X, y = data.X.copy(), data.y.copy()
            X[:60], y[:60] = factor * X[:60], 7 * factor * y[:60]
            fitted = model(30)
            for row, response in zip(X, y, strict=True):
                fitted.learn_one(row, response)
            predictions.append(fitted.predict_one(data.X[0]))
        change = abs(predictions[1] / predictions[0] - 1)
        yield Place("d=5,s=30", change, 0.0, model.__name__)


def update_errors(evidence: Evidence, *, printed: bool) -> Places:
    """The relative error of the f-step's inverse over 200 slides, against the inverse itself.

    As printed, x' Gamma - 1 is a number only for d = 1.
    """
    for d in (1, 3, 10):
        rows = linear_stream(SEED, 0, 260, d, reading=evidence.reading).X
        inverse = np.linalg.inv(rows[:60].T @ rows[:60])
        for t in range(60, 260):
            inverse = slide_inverse(inverse, rows[t - 60], rows[t], printed=printed)
        wanted = np.linalg.inv(rows[-60:].T @ rows[-60:])
        error = float(np.abs(inverse - wanted).max() / np.abs(wanted).max())
        detail = "x' Gamma - 1 is no number" if math.isnan(error) else "200 slides"
        yield Place(f"d={d},s=60", error, 0.0, detail)


class _CountedNumber(float):
    """A number that counts the multiplications and divisions of all its kind."""

    count = 0

    def __add__(self, other: float) -> _CountedNumber:
        return _CountedNumber(float(self) + float(other))

    def __sub__(self, other: float) -> _CountedNumber:
        return _CountedNumber(float(self) - float(other))

    def __mul__(self, other: float) -> _CountedNumber:
        _CountedNumber.count += 1
        return _CountedNumber(float(self) * float(other))

    def __truediv__(self, other: float) -> _CountedNumber:
        _CountedNumber.count += 1
        return _CountedNumber(float(self) / float(other))


def update_orders(evidence: Evidence) -> Places:
    """p of (counted multiplications of an update) ~ s^p, which must be 2, and ~ d^p, minus 1."""
    few, more, wide = (_counted_update(s, d) for s, d in ((40, 10), (80, 10), (40, 20)))
    yield Place("d=10, s from 40 to 80", math.log2(more / few), 0.0, f"{few:,} multiplications")
    yield Place("s=40, d from 10 to 20", math.log2(wide / few) + 1, 0.0, "exponent of d, plus 1")


def _counted_update(s: int, d: int) -> int:
    """The multiplications and divisions by which the inverse of one window becomes the next."""
    X = next(_windows(1, s + 1, d))
    inverse, new, old = np.linalg.inv(X[:-1].T @ X[:-1]), X[-1], X[0]
    counted = np.frompyfunc(_CountedNumber, 1, 1)
    _CountedNumber.count = 0
    slid = without_row(with_row(counted(inverse), counted(new)), counted(old))
    wanted = np.linalg.inv(X[1:].T @ X[1:])
    assert np.allclose(slid.astype(np.float64), wanted)
    return _CountedNumber.count


def inversion_errors(evidence: Evidence) -> Places:
    """The relative error of the matrix inversion formula on random matrices."""
    rng = np.random.default_rng(SEED)
    for d in (2, 5, 20):
        A, B, C, D = (np.eye(d) * d + rng.standard_normal((d, d)) for _ in range(4))
        a, c = np.linalg.inv(A), np.linalg.inv(C)
        formula = a - a @ B @ np.linalg.inv(D @ a @ B + c) @ D @ a
        wanted = np.linalg.inv(A + B @ C @ D)
        error = float(np.abs(formula - wanted).max() / np.abs(wanted).max())
        yield Place(f"d={d}", error, 0.0, "random matrices")


def determinant_errors(evidence: Evidence) -> Places:
    """The error of det(I - aa' + bb') = (1 + |b|^2)(1 - |a|^2) + <a, b>^2, over its size."""
    for d in (1, 4, 30):
        a, b = next(_windows(1, 2, d)) / math.sqrt(2 * d)
        direct = np.linalg.det(np.eye(d) - np.outer(a, a) + np.outer(b, b))
        formula = (1 + b @ b) * (1 - a @ a) + (a @ b) ** 2
        yield Place(f"d={d}", abs(direct - formula) / abs(formula), 0.0, "random vectors")


def trace_slacks(evidence: Evidence) -> Places:
    """d log(s L^2 / d) - log det Phi, not negative by the determinant-trace inequality."""
    for d, s in ((2, 5), (10, 20), (30, 200)):
        slack = math.inf
        for X in _windows(50, s, d):
            largest = (X**2).sum(axis=1).max()
            slack = min(slack, d * math.log(s * largest / d) - float(spectrum(X).log_det()))
        yield Place(f"d={d},s={s}", slack, 0.0, "smallest of 50 windows")


def square_determinants(evidence: Evidence) -> Places:
    """|det Phi / det(x)^2 - 1| for windows of rank d; det(x) exists only for square windows."""
    for d, s in ((5, 5), (5, 20)):
        X = next(_windows(1, s, d))
        if s != d:
            yield Place(f"d={d},s={s}", math.nan, math.nan, "x is not square")
            continue
        error = abs(np.linalg.det(X.T @ X) / np.linalg.det(X) ** 2 - 1)
        yield Place(f"d={d},s={s}", float(error), 0.0, "square window")


def tail_ratios(evidence: Evidence) -> Places:
    """The largest exact tail of a sum over Bernstein's bound, for Gaussian and for random signs."""
    n = 30
    z = np.linspace(0.0, 8.0, 801)
    bound = 2 * np.exp(-(z**2) / 2)
    gaussian = 2 * stats.norm.sf(z)
    yield Place("Gaussian", float((gaussian / bound).max()), 0.0, "every n")
    heads = np.ceil((n + z * math.sqrt(n)) / 2 - 1e-9)
    signs = np.minimum(1.0, 2 * stats.binom.sf(heads - 1, n, 0.5))
    yield Place("random signs", float((signs / bound).max()), 0.0, f"n = {n}")


def example_limit(evidence: Evidence) -> Places:
    """The limit of Assumption 1 at the paper's example."""
    limit = wpssr_limit(100, 110, 30, 0.05)
    yield Place("s=100,d=110,|P|=30", limit, 0.0, "delta = 0.05")


_SIZES, _COUNTS = (20, 50, 100, 500), (1, 5, 20, 50, 100, 500)


def limit_steps(evidence: Evidence) -> Places:
    """The smallest change of the limit of Assumption 1 as s or |P| grows, or d falls."""
    grid = np.array(
        [[[wpssr_limit(s, d, p) for p in _COUNTS[:3]] for d in _SIZES] for s in _COUNTS[1:]]
    )
    steps: dict[str, Array] = {
        "s": np.diff(grid, axis=0),
        "d": -np.diff(grid, axis=1),
        "|P|": np.diff(grid, axis=2),
    }
    for name, values in steps.items():
        yield Place(f"along {name}", float(values.min()), 0.0, f"{values.size} steps")


def share_of_loose_limits(evidence: Evidence) -> Places:
    """The share of (s, d, |P|) for which the limit of Assumption 1 is above 1."""
    positives = [(d, max(1, d * tenths // 10)) for d in _SIZES for tenths in range(1, 11)]
    limits = [wpssr_limit(s, d, p) for s in _SIZES for d, p in positives]
    share = float(np.mean(np.array(limits) > 1))
    yield Place("grid", share, 0.0, f"{len(limits)} combinations")


def radius_orders(evidence: Evidence) -> Places:
    """p of radius ~ s^p for the ellipsoids of Lemmas 1 and 4."""

    def lemma_4(X: Array) -> float:
        s, d = X.shape
        theta = np.full(d, 1 / math.sqrt(d))
        lam = adaptive_penalty(s, d, 1.0, float(np.abs(X).max()), theta_max=theta[0])
        return paper_ridge_radius(X, penalty=lam, sigma=1.0, theta=theta)

    radii: dict[str, Callable[[Array], float]] = {
        "Lemma 1": lambda X: paper_ols_radius(X, sigma=1.0),
        "Lemma 4": lemma_4,
    }
    for name, radius in radii.items():
        few, many = (
            np.mean([radius(linear_stream(SEED, run, s, 5, reading=evidence.reading).X)
                     for run in range(10)])
            for s in (500, 8000)
        )  # fmt: skip
        yield Place("d=5,s=500 to 8000", float(math.log(many / few) / math.log(16)), 0.0, name)


def order_of_theorem_2(evidence: Evidence) -> Places:
    """The factor of the bound of Theorem 2 when nu is doubled; its stated order lacks nu."""
    X = linear_stream(SEED, 0, 90, 4, reading=evidence.reading).X
    bounds = [
        ridge_regret_bound(X, 30, penalties=20.0, sigma=1.0, theta=[1.0, 1.0, 1.0, weakest]).bound
        for weakest in (1.0, 0.5)
    ]
    yield Place("d=4,s=30", bounds[1] / bounds[0], 0.0, "weakest coefficient 1 and 0.5")


def largest_entries(evidence: Evidence) -> Places:
    """The share of windows in which max x_ij equals max |x_ij|."""
    for s, d in ((20, 100), (80, 100)):
        same = [X.max() == np.abs(X).max() for X in _windows(400, s, d)]
        yield Place(f"d={d},s={s}", float(np.mean(same)), 0.0, "400 windows")


def row_outside_the_span(evidence: Evidence) -> Places:
    """FRT of the window e1, e2 and a new row outside its span, which Case 4 says is 1."""
    for row in ((0.0, 0.0, 1.0), (0.0, 3.0, 1.0)):
        term = forgetting_regret_term(np.eye(3)[:2], [1.0, 0.0, 0.0], row)
        yield Place("window e1, e2", term.total, 0.0, f"new row {row}")


def student_distance(evidence: Evidence) -> Places:
    """The largest distance of the distribution functions of Student-t noise and the normal law."""
    z = np.linspace(0, 6, 2001)
    for df in (30, 100):
        distance = float(np.abs(stats.t.cdf(z, df) - stats.norm.cdf(z)).max())
        yield Place(f"df={df}", distance, 0.0, "largest over all values")
