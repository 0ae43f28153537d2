"""The paper's quantities: the adaptive penalty, the cost of forgetting, rank swings, regret.

Each function names its equation and the assumption under which it holds. The paper is "Online
Forgetting Process for Linear Regression Models" (Li, Wang, Cheng); E1..E12 are the places where
its text is wrong, listed in docs/theory.md. Confidence radii are in ``ellipsoids``, cumulative
bounds in ``bounds``, the windows M1..M4 in ``examples``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from efface.theory.geometry import (
    Array,
    as_vector,
    as_window,
    directions,
    invalid,
    non_negative,
    positive,
    probability,
    rank_of,
    spectra,
    spectrum,
    whiten,
)


def adaptive_penalty(
    n: int, d: int, y_sd: float, x_max: float, *, delta: float = 0.05, theta_max: float = 1.0
) -> float:
    """The penalty of FIFD-Adaptive Ridge for a window of n rows and d columns.

    lam = sqrt(2 n log(2 d / delta)) sd(y) max|x_ij| / max|theta_j|   (Lemma 3, Alg. 2)

    Holds: Lemma 3 derives it for the noise level sigma in the place of sd(y) and for the true
    max|theta_j|; sd(y) and 1 are the plug-ins of the paper's simulation. The maximum is over
    absolute values (E2).

    >>> round(adaptive_penalty(n=20, d=100, y_sd=1.0, x_max=3.0), 2)
    54.64
    """
    if n < 0 or d < 1:
        raise invalid("n, d", (n, d), "n of at least 0 and d of at least 1", "count the live rows")
    scale = non_negative("y_sd", y_sd) * non_negative("x_max", x_max)
    log_term = math.log(2 * d / probability("delta", delta))
    return math.sqrt(2 * n * log_term) * scale / positive("theta_max", theta_max)


@dataclass(frozen=True)
class AdaptiveConstants:
    """phi2, q and the largest absolute entry of one window."""

    phi2: float
    q: float
    x_max: float


def adaptive_constants(X: ArrayLike, *, penalty: float = 0.0) -> AdaptiveConstants:
    """How well a window determines its coefficients.

    phi2 = lambda_min(Phi_lam / n),  q = max|x_ij| / phi2   (Lemma 1, Theorem 1, Lemma 4)

    Holds: always; q is infinite when Phi_lam is singular. The paper asks for a phi2 strictly
    below lambda_min; this is the largest one, and its bounds hold at it by continuity.

    >>> adaptive_constants([[2.0, 0.0], [0.0, 1.0]])
    AdaptiveConstants(phi2=0.5, q=4.0, x_max=2.0)
    """
    window = spectrum(as_window(X))
    lam = non_negative("penalty", penalty)
    return AdaptiveConstants(float(window.phi2(lam)), float(window.q(lam)), float(window.x_max))


def zeta(X: ArrayLike, s: int, *, penalties: float | ArrayLike = 0.0) -> float:
    """The largest adaptive constant over a replay with a window of s rows.

    zeta = max over t = s+1..T of q_[t-s, t-1]   (Theorems 1 and 2)

    ``X`` holds the T rows of the stream; ``penalties`` is one number, or one for each of the
    T-s+1 windows (the last window has learned row T and no longer predicts).

    Holds: always; infinite as soon as one predicting window is singular.

    >>> round(zeta([[1.0], [2.0], [1.0], [1.0]], s=2), 12)
    0.8
    """
    windows = sliding_windows(X, s)
    lam = as_penalties(penalties, len(windows))
    return float(spectra(windows[:-1]).q(lam[:-1]).max())


def sliding_windows(X: ArrayLike, s: int) -> Array:
    """The T-s+1 windows of s consecutive rows of a stream of T rows, as a view (windows, s, d)."""
    stream = as_window(X)
    if not 1 <= s < len(stream):
        expected = f"a window of 1 to {len(stream) - 1} rows"
        raise invalid("s", s, expected, "leave at least one row to predict")
    return np.lib.stride_tricks.sliding_window_view(stream, s, axis=0).swapaxes(1, 2)


def as_penalties(penalties: float | ArrayLike, count: int) -> Array:
    """One penalty for each window of a replay."""
    values = np.asarray(penalties, dtype=np.float64)
    if values.shape not in ((), (count,)):
        raise invalid("penalties", values.shape, f"one number or {count}", "pass one a window")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise invalid("penalties", values, "finite numbers of at least 0", "check their sign")
    return np.broadcast_to(values, (count,))


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
    """What it costs to delete ``x_old``, a row of the window X, when ``x_new`` arrives.

    FRT = ||x_old||^2 (||x_new||^2 sin^2 + 1), norms and angle in Phi_lam^-1   (Def. 2, App. C, E)

    The deleted term ||x_old||^2 is the leverage of the row that leaves; the dissimilarity term
    ||x_new||^2 sin^2 = ||x_new||^2 - <x_new, x_old>^2 / ||x_old||^2 is the whole ||x_new||^2 when
    the deleted term is 0 (E9). Without a penalty the inverse is the Moore-Penrose one.

    Holds: always. The paper puts FRT in [0, 2]; only deleted <= 1 is true, the other factor has
    no upper limit (E5). The ranks are those of the rows themselves, whatever the penalty.

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
    """FRT, its deleted term and its dissimilarity term, of two rows as ``whiten`` gives them.

    >>> forgetting_terms(np.array([0.5, 0.0]), np.array([1.0, 2.0]))
    (1.25, 0.25, 4.0)
    """
    deleted, dissimilarity = float(old @ old), perpendicular(new, old)
    return deleted * (dissimilarity + 1), deleted, dissimilarity


def perpendicular(v: Array, axis: Array) -> float:
    """The squared length of what is left of ``v`` across ``axis``, without cancellation.

    >>> perpendicular(np.array([3.0, 4.0]), np.array([2.0, 0.0]))
    16.0
    """
    length = float(np.linalg.norm(axis))
    if length == 0:
        return float(v @ v)
    unit = axis / length
    rest = v - (v @ unit) * unit
    return float(rest @ rest)


@dataclass(frozen=True)
class RankSwing:
    """What one slide does to the rank of the window.

    ``lost``: no other row of the window spans the deleted one (its leverage is 1). ``gained``: the
    new row sticks out of the rows that stay. ``change`` is gained minus lost. ``case`` is the
    number that Definition 1 gives to the change, ``appendix_case`` the one that Appendix D does.
    """

    change: int
    case: int
    appendix_case: int
    lost: bool
    gained: bool
    rank_before: int
    rank_after: int


def rank_swing(X: ArrayLike, x_old: ArrayLike, x_new: ArrayLike) -> RankSwing:
    """How the rank moves when ``x_old``, a row of the window X, leaves and ``x_new`` enters.

    rank(X - x_old + x_new) - rank(X) is +1, 0 or -1: Cases 2, 3, 4 of Definition 1, which Appendix
    D numbers 4, 3, 2 (E8).

    Holds: always, for rows that float64 can tell apart; rows are compared at unit length, so their
    scale does not matter.

    >>> swing = rank_swing([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], [0.0, 3.0])
    >>> swing.change, swing.lost, swing.gained
    (-1, True, False)
    """
    window = as_window(X)
    n, d = window.shape
    rest = _without(window, as_vector("x_old", x_old, d))
    after = np.concatenate([rest, as_vector("x_new", x_new, d)[np.newaxis]])
    before, stay, end = (rank_of(directions(rows), rows=n) for rows in (window, rest, after))
    case = {1: 2, 0: 3, -1: 4}[end - before]
    return RankSwing(end - before, case, 6 - case, stay < before, end > stay, before, end)


def _without(window: Array, row: Array) -> Array:
    """The window less the oldest row that equals ``row``."""
    matches = np.flatnonzero((window == row).all(axis=1))
    if matches.size == 0:
        raise invalid("x_old", row.tolist(), "a row of the window X", "pass X before the slide")
    return np.delete(window, matches[0], axis=0)


def positive_signals(theta: ArrayLike) -> Array:
    """The positive coordinates of theta: P(theta) of the paper, which needs at least one.

    >>> positive_signals([0.5, -1.0, 0.0, 2.0])
    array([0.5, 2. ])
    """
    values = np.asarray(theta, dtype=np.float64)
    values = as_vector("theta", values, values.size)
    signals = values[values > 0]
    if signals.size == 0:
        advice = "flip the sign of a column and of its coefficient"
        raise invalid("theta", values.tolist(), "at least one positive coordinate", advice)
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
    """The largest WPSSR that Assumption 1 allows; at 1 or above it allows every theta.

    (-sqrt(C3) + sqrt(C3 + n^2 A B)) / (n A) with A = log(2d/delta), B = log(12 positives/delta),
    C3 = log(6d/delta) A   (Assumption 1), evaluated as n B / (sqrt(C3) + sqrt(C3 + n^2 A B)).

    Holds: always; it grows with n and ``positives`` and falls with d.

    >>> round(wpssr_limit(100, 110, 30, 0.05), 2)
    1.02
    """
    if n < 1 or not 1 <= positives <= d:
        expected = "n of at least 1 and 1 <= positives <= d"
        raise invalid("n, d, positives", (n, d, positives), expected, "count theta's signs")
    level = probability("delta", delta)
    a, b = math.log(2 * d / level), math.log(12 * positives / level)
    c3 = math.log(6 * d / level) * a
    return n * b / (math.sqrt(c3) + math.sqrt(c3 + n**2 * a * b))


def squared_regret(predicted: ArrayLike, expected: ArrayLike) -> Array:
    """The instantaneous squared regret of each prediction.

    r_t = (<x_t, theta*> - yhat_t)^2   (eq. 3); ``expected`` holds <x_t, theta*>, free of noise.

    Holds: where theta* is known, that is, in simulation.

    >>> squared_regret([1.0, 2.0], [1.5, 0.0])
    array([0.25, 4.  ])
    """
    return absolute_regret(predicted, expected) ** 2


def absolute_regret(predicted: ArrayLike, expected: ArrayLike) -> Array:
    """The instantaneous absolute regret of each prediction.

    ``r_t = |<x_t, theta*> - yhat_t|`` (Algs. 1 and 2, App. C), the one that Theorems 1 and 2 bound
    (E10).

    Holds: where theta* is known, that is, in simulation.

    >>> absolute_regret([1.0, 2.0], [1.5, 0.0])
    array([0.5, 2. ])
    """
    a, b = np.asarray(predicted, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if a.shape != b.shape:
        raise invalid("predicted", a.shape, f"the shape {b.shape}", "pass one value a prediction")
    return np.asarray(np.abs(a - b))


def cumulative_regret(
    predicted: ArrayLike, expected: ArrayLike, *, loss: Literal["squared", "absolute"] = "squared"
) -> Array:
    """The regret up to and including each prediction.

    R_t = r_{s+1} + ... + r_t   (eq. 3 with the squared loss; App. C with the absolute one)

    Holds: where theta* is known, that is, in simulation.

    >>> cumulative_regret([1.0, 2.0], [1.5, 0.0], loss="absolute")
    array([0.5, 2.5])
    """
    losses = {"squared": squared_regret, "absolute": absolute_regret}
    if loss not in losses:
        raise invalid("loss", loss, "'squared' or 'absolute'", "choose one of them")
    return np.cumsum(losses[loss](predicted, expected), axis=0)


def l2_error(theta_hat: ArrayLike, theta: ArrayLike) -> Array:
    """The estimation error of a coefficient vector, or of one vector a row.

    ||theta_hat - theta*||_2   (App. G)

    Holds: where theta* is known, that is, in simulation.

    >>> l2_error([[3.0, 4.0], [0.0, 1.0]], [0.0, 0.0])
    array([5., 1.])
    """
    difference = np.asarray(theta_hat, dtype=np.float64) - np.asarray(theta, dtype=np.float64)
    return np.asarray(np.linalg.norm(difference, axis=-1))
