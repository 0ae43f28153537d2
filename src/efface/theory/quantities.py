"""The paper's quantities: the adaptive penalty, the cost of forgetting, rank swings, regret.

Each docstring names the equation and the assumption under which it holds. The paper is "Online
Forgetting Process for Linear Regression Models" (Li, Wang, Cheng). E1..E12 are the errors in its
text, listed in docs/theory.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import choice, error_probability, non_negative, positive, vector
from efface.theory.geometry import (
    Array,
    as_penalties,
    as_window,
    directions,
    perpendicular,
    rank_of,
    sliding_windows,
    spectra,
    spectrum,
    whiten,
)


def gram_norm(X: ArrayLike, v: ArrayLike, *, penalty: float = 0.0) -> float:
    """The norm in which the ellipsoids are stated.

    ||v||_{Phi_lam} = sqrt(||X v||^2 + lam ||v||^2)   (section 1, Notation)

    Holds: always.

    >>> gram_norm([[1.0, 0.0], [0.0, 2.0]], [3.0, 2.0], penalty=0.0)
    5.0
    """
    window = as_window(X)
    v = vector("v", v, window.shape[1])
    root = math.sqrt(non_negative("penalty", penalty))
    return math.hypot(float(np.linalg.norm(window @ v)), root * float(np.linalg.norm(v)))


def adaptive_penalty(
    n: int, d: int, y_sd: float, x_max: float, *, delta: float = 0.05, theta_max: float = 1.0
) -> float:
    """The penalty of FIFD-Adaptive Ridge for a window of n rows and d columns.

    lam = sqrt(2 n log(2 d / delta)) sd(y) max|x_ij| / max|theta_j|   (Lemma 3, Alg. 2)

    Holds: Lemma 3 derives it with the noise level sigma instead of sd(y) and with the true
    max|theta_j|. The paper's simulation plugs in sd(y) and 1. The maximum is over absolute values
    (E2).

    >>> round(adaptive_penalty(n=20, d=100, y_sd=1.0, x_max=3.0), 2)
    54.64
    """
    if n < 0 or d < 1:
        expected = "n of at least 0 and d of at least 1"
        raise InvalidValue(unusable("n, d", (n, d), expected, "count the live rows"))
    scale = non_negative("y_sd", y_sd) * non_negative("x_max", x_max)
    log_term = math.log(2 * d / error_probability("delta", delta))
    return math.sqrt(2 * n * log_term) * scale / positive("theta_max", theta_max)


@dataclass(frozen=True)
class AdaptiveConstants:
    """phi2, q and the largest absolute entry of one window."""

    phi2: float
    q: float
    x_max: float


def adaptive_constants(X: ArrayLike, *, penalty: float = 0.0) -> AdaptiveConstants:
    """The adaptive constants phi2 and q: how well a window determines its coefficients.

    phi2 = lambda_min(Phi_lam / n),  q = max|x_ij| / phi2   (Lemma 1, Theorem 1, Lemma 4)

    Holds: always; q is infinite when Phi_lam is singular. The paper asks for a phi2 strictly
    below lambda_min. This phi2 equals lambda_min, where the bounds hold by continuity.

    >>> adaptive_constants([[2.0, 0.0], [0.0, 1.0]])
    AdaptiveConstants(phi2=0.5, q=4.0, x_max=2.0)
    """
    window = spectrum(as_window(X))
    lam = non_negative("penalty", penalty)
    return AdaptiveConstants(float(window.phi2(lam)), float(window.q(lam)), float(window.x_max))


def zeta(X: ArrayLike, s: int, *, penalties: float | ArrayLike = 0.0) -> float:
    """The largest adaptive constant over a replay with a window of s rows.

    zeta = max over t = s+1..T of q_[t-s, t-1]   (Theorems 1 and 2)

    ``X`` holds the T rows of the stream. ``penalties`` is one number, or one number for each of
    the T-s+1 windows (the last window ends with row T and predicts nothing).

    Holds: always; infinite if one window that predicts is singular.

    >>> round(zeta([[1.0], [2.0], [1.0], [1.0]], s=2), 12)
    0.8
    """
    windows = sliding_windows(X, s)
    lam = as_penalties(penalties, len(windows))
    return float(spectra(windows[:-1]).q(lam[:-1]).max())


@dataclass(frozen=True)
class ForgettingRegretTerm:
    """FRT = deleted * (dissimilarity + 1), and the rank of the window before and after."""

    total: float
    deleted: float
    dissimilarity: float
    rank_before: int
    rank_after: int


def forgetting_regret_term(
    X: ArrayLike, x_old: ArrayLike, x_new: ArrayLike, *, penalty: float = 0.0
) -> ForgettingRegretTerm:
    """The cost of deleting ``x_old``, a row of the window X, when ``x_new`` arrives.

    FRT = ||x_old||^2 (||x_new||^2 sin^2 + 1), norms and angle in Phi_lam^-1   (Def. 2, App. C, E)

    The deleted term ||x_old||^2 is the leverage of the row that leaves. The dissimilarity term is
    ||x_new||^2 sin^2 = ||x_new||^2 - <x_new, x_old>^2 / ||x_old||^2, or ||x_new||^2 when the
    deleted term is 0 (E9). Without a penalty the inverse is the Moore-Penrose one.

    Holds: always. The paper states that FRT is in [0, 2]. Only deleted <= 1 is true; the other
    factor has no upper limit (E5). The ranks are those of the rows without the penalty.

    >>> X = [[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    >>> term = forgetting_regret_term(X, X[1], [2.0, 0.0])
    >>> round(term.deleted, 12), round(term.dissimilarity, 12), round(term.total, 12)
    (0.5, 1.0, 1.0)
    """
    window = as_window(X)
    swing = rank_swing(window, x_old, x_new)
    rows = np.array([x_old, x_new], dtype=np.float64)
    old, new = whiten(window, rows, penalty=non_negative("penalty", penalty))
    return ForgettingRegretTerm(*forgetting_terms(old, new), swing.rank_before, swing.rank_after)


def forgetting_terms(old: Array, new: Array) -> tuple[float, float, float]:
    """FRT, its deleted term and its dissimilarity term, for two whitened rows.

    In whitened coordinates the Euclidean norm of a row is its Phi_lam^-1 norm.

    >>> forgetting_terms(np.array([0.5, 0.0]), np.array([1.0, 2.0]))
    (1.25, 0.25, 4.0)
    """
    deleted, dissimilarity = float(old @ old), perpendicular(new, old)
    return deleted * (dissimilarity + 1), deleted, dissimilarity


@dataclass(frozen=True)
class RankSwing:
    """How the rank of the window changes when it slides by one row.

    ``lost``: the deleted row is outside the span of the remaining rows (its leverage is 1).
    ``gained``: the new row is outside the span of the remaining rows. ``change`` is gained minus
    lost. ``case`` is the number of the case in Definition 1, ``appendix_case`` in Appendix D.
    """

    change: int
    case: int
    appendix_case: int
    lost: bool
    gained: bool
    rank_before: int
    rank_after: int


def rank_swing(X: ArrayLike, x_old: ArrayLike, x_new: ArrayLike) -> RankSwing:
    """How the rank changes when ``x_old``, a row of the window X, leaves and ``x_new`` arrives.

    rank(X - x_old + x_new) - rank(X) is +1, 0 or -1: Cases 2, 3, 4 of Definition 1, which Appendix
    D numbers 4, 3, 2 (E8).

    Holds: always, for rows that float64 can distinguish. Rows are scaled to unit length first, so
    their scale does not matter.

    >>> swing = rank_swing([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], [0.0, 3.0])
    >>> swing.change, swing.lost, swing.gained
    (-1, True, False)
    """
    window = as_window(X)
    n, d = window.shape
    rest = _without(window, vector("x_old", x_old, d))
    after = np.concatenate([rest, vector("x_new", x_new, d)[np.newaxis]])
    before, stay, end = (rank_of(directions(rows), rows=n) for rows in (window, rest, after))
    case = {1: 2, 0: 3, -1: 4}[end - before]
    return RankSwing(end - before, case, 6 - case, stay < before, end > stay, before, end)


def _without(window: Array, row: Array) -> Array:
    """The window without the oldest row that equals ``row``."""
    matches = np.flatnonzero((window == row).all(axis=1))
    if matches.size == 0:
        advice = "pass the window before the deletion"
        raise InvalidValue(unusable("x_old", row.tolist(), "a row of the window X", advice))
    return np.delete(window, matches[0], axis=0)


def positive_signals(theta: ArrayLike) -> Array:
    """The positive coordinates of theta, P(theta) of the paper.

    Holds: for a theta with a positive coordinate.

    >>> positive_signals([0.5, -1.0, 0.0, 2.0])
    array([0.5, 2. ])
    """
    values = vector("theta", theta, np.size(theta))
    signals = values[values > 0]
    if signals.size == 0:
        expected = "at least one positive coordinate"
        advice = "flip the sign of a column and of its coefficient"
        raise InvalidValue(unusable("theta", values.tolist(), expected, advice))
    return signals


def wpssr(theta: ArrayLike) -> float:
    """The weakest positive to strongest signal ratio of Assumption 1.

    WPSSR = min{theta_j : theta_j > 0} / max|theta_j|

    Holds: for a theta with a positive coordinate; it lies in (0, 1].

    >>> wpssr([0.5, -2.0, 1.0])
    0.25
    """
    return float(positive_signals(theta).min() / np.abs(np.asarray(theta, dtype=float)).max())


def wpssr_limit(n: int, d: int, positives: int, delta: float = 0.05) -> float:
    """The largest WPSSR that Assumption 1 allows as printed.

    (-sqrt(C3) + sqrt(C3 + n^2 A B)) / (n A) with A = log(2d/delta), B = log(12 positives/delta),
    C3 = log(6d/delta) A   (Assumption 1), evaluated as n B / (sqrt(C3) + sqrt(C3 + n^2 A B)).

    Holds: as arithmetic. The n in it is an error (E31): the penalty and the constant C1 of App. B
    both grow as sqrt(n), so that n cancels: see ``corrected_wpssr_limit``.

    >>> round(wpssr_limit(100, 110, 30, 0.05), 2)
    1.02
    """
    if n < 1 or not 1 <= positives <= d:
        expected = "n of at least 1 and 1 <= positives <= d"
        advice = "count the positive coordinates of theta"
        raise InvalidValue(unusable("n, d, positives", (n, d, positives), expected, advice))
    level = error_probability("delta", delta)
    a, b = math.log(2 * d / level), math.log(12 * positives / level)
    c3 = math.log(6 * d / level) * a
    return n * b / (math.sqrt(c3) + math.sqrt(c3 + n**2 * a * b))


def corrected_wpssr_limit(d: int, positives: int, delta: float = 0.05) -> float:
    """The largest WPSSR for which the condition behind Assumption 1 is true, for any n.

    The root u of A u^2 + 2 sqrt(C3) u = B, with A, B and C3 as in ``wpssr_limit``   (App. B, E31)

    It is (-sqrt(C3) + sqrt(C3 + A B)) / A, evaluated as B / (sqrt(C3) + sqrt(C3 + A B)).

    Holds: always. It is below 1 for every d at delta <= 0.5, so the assumption is never automatic.

    >>> round(corrected_wpssr_limit(110, 30, 0.05), 3)
    0.416
    """
    return wpssr_limit(1, d, positives, delta)


@dataclass(frozen=True)
class TailParts:
    """The three parts of App. B whose sum must be at most delta / 2, at the radius of Lemma 4."""

    first: float
    second: float
    third: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the sum of the parts is at most delta / 2, as the proof needs."""
        return self.first + self.second + self.third <= self.limit


def tail_parts(theta: ArrayLike, *, delta: float = 0.05) -> TailParts:
    """Parts I, II and III of App. B at the penalty of Lemma 3 and the radius of Lemma 4.

    I = d exp(-K^2 / (4 A u^2)), II = p exp(-A u^2 - K), III = q exp(-A w^2 - K w / u), with
    A = log(2d/delta), K = log(6 p / delta) for p positive and q negative coordinates; u and w are
    the sizes of the smallest positive one and of the negative one nearest to 0, both divided by
    the size of the largest coordinate. No part contains n, sigma or X.

    Holds: for a theta with a positive coordinate. The proof assumes that Part II is the largest.

    >>> parts = tail_parts([1.0] * 30 + [0.0] * 80)
    >>> round(parts.first, 1), parts.limit, parts.holds
    (14.9, 0.025, False)
    """
    values, level = vector("theta", theta, np.size(theta)), error_probability("delta", delta)
    signals, negative = positive_signals(values), values[values < 0]
    largest = float(np.abs(values).max())
    a, k = math.log(2 * values.size / level), math.log(6 * signals.size / level)
    u, w = float(signals.min()) / largest, float(-negative.max(initial=-largest)) / largest
    first = values.size * math.exp(-(k**2) / (4 * a * u**2))
    third = negative.size * math.exp(-a * w**2 - k * w / u)
    return TailParts(first, signals.size * math.exp(-a * u**2 - k), third, level / 2)


def squared_regret(predicted: ArrayLike, expected: ArrayLike) -> Array:
    """The instantaneous squared regret of each prediction.

    r_t = (<x_t, theta*> - yhat_t)^2   (eq. 3); ``expected`` is <x_t, theta*>, without noise.

    Holds: where theta* is known, which means in simulations.

    >>> squared_regret([1.0, 2.0], [1.5, 0.0])
    array([0.25, 4.  ])
    """
    return absolute_regret(predicted, expected) ** 2


def absolute_regret(predicted: ArrayLike, expected: ArrayLike) -> Array:
    """The instantaneous absolute regret of each prediction.

    ``r_t = |<x_t, theta*> - yhat_t|`` (Algs. 1 and 2, App. C). Theorems 1 and 2 bound its sum
    (E10).

    Holds: where theta* is known, which means in simulations.

    >>> absolute_regret([1.0, 2.0], [1.5, 0.0])
    array([0.5, 2. ])
    """
    a, b = np.asarray(predicted, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if a.shape != b.shape:
        advice = "pass one expected value per prediction"
        raise InvalidValue(unusable("predicted", a.shape, f"the shape {b.shape}", advice))
    return np.asarray(np.abs(a - b))


def cumulative_regret(
    predicted: ArrayLike, expected: ArrayLike, *, loss: Literal["squared", "absolute"] = "squared"
) -> Array:
    """The regret up to and including each prediction.

    R_t = r_{s+1} + ... + r_t   (eq. 3 with the squared loss; App. C with the absolute one)

    Holds: where theta* is known, which means in simulations.

    >>> cumulative_regret([1.0, 2.0], [1.5, 0.0], loss="absolute")
    array([0.5, 2.5])
    """
    losses = {"squared": squared_regret, "absolute": absolute_regret}
    regret = losses[choice("loss", loss, tuple(losses))]
    return np.cumsum(regret(predicted, expected), axis=0)


def l2_error(theta_hat: ArrayLike, theta: ArrayLike) -> Array:
    """The estimation error of one coefficient vector, or of each row of a matrix of them.

    ||theta_hat - theta*||_2   (App. G)

    Holds: where theta* is known, which means in simulations.

    >>> l2_error([[3.0, 4.0], [0.0, 1.0]], [0.0, 0.0])
    array([5., 1.])
    """
    difference = np.asarray(theta_hat, dtype=np.float64) - np.asarray(theta, dtype=np.float64)
    return np.asarray(np.linalg.norm(difference, axis=-1))
