"""The rule of ``grid`` from the rows themselves, where sums have lost digits.

NumPy code, not compiled: it is rarely needed. For at most as many rows as unknowns, ``few_rows`` is
compiled. All quantities follow from the singular values of the scaled rows, so they keep their
digits, and fewer rows than features need no other formulas.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from efface.engine.events.pilot import constant_rows
from efface.engine.events.rows import span_of
from efface.engine.jit.records import Record
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector
from efface.engine.linalg.dense import EPS
from efface.engine.linalg.refit import refit
from efface.engine.selection.grid import COUNT, FIRST, STEP
from efface.engine.selection.selection_state import SelectionStream, open_selection
from efface.engine.standardized.zscores import Scores, scores

EXPONENTS = FIRST + STEP * np.arange(COUNT)


class Candidates(NamedTuple):
    """One scaling of the rows: its decomposition, and its penalties with their log weights.

    Rows are divided by ``unit``, a power of two, so that squares keep their digits.
    """

    unit: float
    base: float  # the penalty of exponent 0, of the rows divided by the unit
    sigma: Vector
    directions: Matrix
    pull: Vector  # of the response, in the directions
    log_weights: Vector

    @property
    def penalties(self) -> Vector:
        return np.asarray(self.base * 2.0**EXPONENTS)

    def penalty(self, exponent: float) -> float:
        """That of the rows as they are."""
        return float(self.base * 2.0**exponent * self.unit * self.unit)

    def mean_coef(self, weights: Vector) -> Vector:
        """The mean of the coefficients over the grid."""
        shrunk = self.sigma / (self.sigma**2 + self.penalties[:, np.newaxis])
        return np.asarray((weights @ shrunk * self.pull) @ self.directions / self.unit)


def candidates(rows: Matrix, y: Vector, n: float, freedom: float) -> Candidates | None:
    """Weigh the penalties for rows and responses, both centred and weighted; None without spread.

    A response of zeros is explained by every penalty alike.
    """
    unit = math.ldexp(1.0, math.frexp(float(np.abs(rows).max(initial=0.0)))[1])
    rows, d = rows / unit, rows.shape[1]
    if not rows.any():
        return None
    left, sigma, directions = np.linalg.svd(rows, full_matrices=False)
    size = float(np.abs(y).max(initial=0.0))
    length = size * float(np.linalg.norm(y / (size or 1.0)))
    y = y / (length or 1.0)
    pull = y @ left
    base = float((sigma**2).sum()) / d
    penalties = base * 2.0 ** EXPONENTS[:, np.newaxis]
    kept = penalties / (sigma**2 + penalties)
    beyond = y - left @ pull
    apart, none = float(beyond @ beyond), 0.0 if length else 1.0
    floor = max(n, 1.0) * EPS * EPS
    unexplained = np.maximum(none + apart + kept @ pull**2, floor)
    rho = max(0.0, 1.0 - d / freedom) if freedom > 0.0 else 0.0
    determinant = np.log1p(sigma**2 / penalties).sum(axis=1)
    criterion = (1.0 - rho) * (freedom * np.log(unexplained) + determinant)
    if rho > 0.0:
        free = freedom - (1.0 - kept).sum(axis=1)
        residual = np.maximum(none + apart + kept**2 @ pull**2, floor)
        criterion += rho * freedom * np.log(residual / free**2)
    log_u = np.log(n / d) + EXPONENTS * np.log(2.0)
    log_weights = -0.5 * criterion - np.logaddexp(0.0, log_u) + 0.5 * log_u
    return Candidates(unit, base, sigma, directions, length * pull, log_weights)


def scaled_rows(X: Matrix, weights: Vector, *, centred: bool, halved: bool) -> Scores:
    """The rows as they are regressed on: scaled by their deviations, or the roots of these."""
    z = scores(X, weights) if centred else _uncentred(X, weights)
    if not halved:
        return z
    root = np.sqrt(z.deviation)
    return z._replace(rows=z.rows * root, deviation=root)


def _uncentred(X: Matrix, weights: Vector) -> Scores:
    """Rows divided by their root mean squares; a feature of zeros has the deviation 1."""
    heard = weights > 0.0
    unit = np.ldexp(1.0, np.frexp(np.abs(X[heard]).max(axis=0, initial=0.0))[1])
    share = (weights[heard] / weights.sum())[:, np.newaxis]
    square = (share * (X[heard] / unit) ** 2).sum(axis=0)
    deviation = np.where(square > 0.0, unit * np.sqrt(square), 1.0)
    nothing = np.zeros(X.shape[1])
    return Scores(X / deviation, nothing, nothing, deviation)


class ScaledProblem(NamedTuple):
    """Rows with weight, scaled, and their responses, centred if there is an intercept."""

    z: Scores
    y: Responses
    responses: Vector  # centred and weighted
    weight: float  # of all rows
    n: float  # the same, in weights of one row
    freedom: float
    centred: bool  # are the features centred?

    @classmethod
    def of(cls, X: Matrix, y: Responses, state: Record) -> ScaledProblem:
        """The rows, scaled as the state of a stream says."""
        halved = not (state.standardizes or state.averages)
        centred = bool(state.has_intercept or state.standardizes)
        counted = y[:, WEIGHT] > 0.0
        X, y = X[counted], y[counted]
        weights, intercept = y[:, WEIGHT], bool(state.has_intercept)
        z, total = scaled_rows(X, weights, centred=centred, halved=halved), float(weights.sum())
        away = y[:, VALUE].copy()
        if intercept:
            away = away - away[0]
            away -= weights @ away / total
            away -= weights @ away / total
            state.variance = float(weights @ away**2) / total
            if constant_rows(state, y, 0, len(y)):
                away[:] = 0.0
        n = total / float(state.unit)
        return cls(z, y, y[:, ROOT] * away, total, n, max(n - intercept, 0.0), centred)

    def candidates(self, scale: Vector | float = 1.0) -> Candidates | None:
        """Weigh the penalties of the rows multiplied by a scale."""
        rows = self.y[:, ROOT, np.newaxis] * (self.z.rows * scale)
        return candidates(rows, self.responses, self.n, self.freedom)

    def reach(self) -> Vector:
        """The largest absolute value of each feature; 1 for a feature without any."""
        largest = np.abs(self.z.rows).max(axis=0, initial=0.0)
        return np.where(largest > 0.0, largest, 1.0)


class Mean(NamedTuple):
    """Coefficients averaged over the penalties of two scalings, and the mean penalty."""

    coef: Vector
    penalty: float

    @classmethod
    def of(cls, problem: ScaledProblem, standardizes: bool) -> Mean | None:
        raw = np.ones(problem.z.deviation.size) if standardizes else problem.z.deviation
        scales = raw, 1.0 / problem.reach()
        found = [each for each in map(problem.candidates, scales) if each is not None]
        if len(found) < len(scales):
            return None
        logs = np.array([each.log_weights for each in found])
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        d, coef = raw.size, np.zeros(raw.size)
        for each, scale, share in zip(found, scales, weights, strict=True):
            coef += scale * each.mean_coef(share)
        kept = float((weights / (1.0 + 2.0**-EXPONENTS)).sum())
        scatter = problem.weight * np.count_nonzero(problem.z.rows.any(axis=0)) / d
        return cls(coef, scatter * kept / (1.0 - kept))


def refit_selection(x: Matrix, y: Responses, span: Ints, store: Vector) -> None:
    """Select and solve from the rows themselves: the answer to REFIT."""
    s, at = open_selection(store), span_of(span)
    state, rows = s.state, slice(at.head, at.end)
    problem = ScaledProblem.of(x[rows], y[rows], state)
    s.coef[:], state.penalty, state.rank = 0.0, 0.0, 0
    (_refit_mean if state.averages else _refit_selected)(s, problem)
    s.coef[:] /= problem.z.deviation
    level = 0.0
    if state.has_intercept:
        responses, weights = problem.y[:, VALUE], problem.y[:, WEIGHT]
        base = responses[0]
        level = base + float(weights @ (responses - base)) / problem.weight
    state.intercept = level - float(s.coef @ problem.z.mean)
    state.solved_head, state.solved_end, state.refit = at.head, at.end, 1


def _refit_selected(s: SelectionStream, problem: ScaledProblem) -> None:
    found = problem.candidates()
    if found is None:
        return
    weights = np.exp(found.log_weights - found.log_weights.max())
    s.state.penalty = found.penalty(float(weights @ EXPONENTS / weights.sum()))
    s.state.rank = -1
    if problem.responses.any():
        refit(problem.z.rows, problem.y, s.state.penalty, problem.centred, s.coef)


def _refit_mean(s: SelectionStream, problem: ScaledProblem) -> None:
    found = Mean.of(problem, bool(s.state.standardizes))
    if found is not None:
        s.coef[:], s.state.penalty, s.state.rank = found.coef, found.penalty, -1
