"""A theorem that holds in place of Theorem 2: an error bound for every step and every penalty.

The noise of a window enters a prediction only through P eps, the projection of the noise on the
span of the columns of X. That projection does not contain the penalty. One event per window
therefore covers every penalty at once, also one that was chosen after the responses were seen.
docs/theory-corrected.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from efface.inputs.parameters import error_probability, non_negative, positive, vector
from efface.theory.geometry import (
    Array,
    as_penalties,
    as_window,
    nonzero_singular,
    sliding_windows,
)


@dataclass(frozen=True, eq=False)
class CorrectedRegretBound:
    """Bounds on the absolute regret of every step of a replay, and their sums.

    ``steps`` has the limit of each prediction t = s+1..T, ``bound`` is the sum of them and
    ``squared_bound`` the sum of their squares. ``noise`` and ``bias`` are the two parts of
    ``bound``. ``ellipsoid_bound`` is the sum of the wider limits that go through the Phi_lam norm.
    """

    steps: Array
    bound: float
    squared_bound: float
    noise: float
    bias: float
    ellipsoid_bound: float


def prediction_limit(
    X: ArrayLike,
    x: ArrayLike,
    *,
    penalty: float = 0.0,
    sigma: float,
    theta_norm: float,
    delta: float = 0.05,
) -> float:
    """The limit of the error of one prediction, for any penalty, however it was chosen.

    ``|x'(theta_hat_lam - theta*)| <= sigma sqrt(chi2_r(1 - delta)) ||X Phi_lam^-1 x||``
    ``+ lam ||Phi_lam^-1 x|| ||theta*||``, with the rank r of X   (not in the paper)

    Without a penalty and below full rank, the estimate is the one of minimum norm, and the last
    term is the length of the part of x outside the span of the rows, times ||theta*||.

    Holds: with probability 1 - delta for all penalties and all x at once, for independent
    N(0, sigma^2) noise independent of the contexts and ||theta*||_2 <= ``theta_norm``.

    >>> X = [[2.0, 0.0], [0.0, 1.0]]
    >>> round(prediction_limit(X, [1.0, 1.0], penalty=1.0, sigma=1.0, theta_norm=1.0), 4)
    2.1058
    """
    window = as_window(X)
    row = vector("x", x, window.shape[1])[np.newaxis]
    lam = [non_negative("penalty", penalty)]
    known: Any = {"sigma": sigma, "theta_norm": theta_norm, "delta": delta}
    return float(prediction_limits(window, row, penalties=lam, **known)[0, 0])


def prediction_limits(
    X: ArrayLike,
    rows: ArrayLike,
    *,
    penalties: ArrayLike,
    sigma: float,
    theta_norm: float,
    delta: float = 0.05,
) -> Array:
    """``prediction_limit`` for many penalties and many new rows, from one decomposition of X.

    Entry (i, j) is that of penalty i and row j.

    Holds: as ``prediction_limit``; all entries at once, with probability 1 - delta.

    >>> X, rows = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]
    >>> prediction_limits(X, rows, penalties=[0.0, 1.0], sigma=1.0, theta_norm=1.0).round(4)
    array([[2.7367, 0.    ],
           [2.1058, 0.    ]])
    """
    window, new = as_window(X), as_window(rows)
    lam = as_penalties(penalties, np.size(penalties))
    length, level = non_negative("theta_norm", theta_norm), error_probability("delta", delta)
    svd, noise_sd = nonzero_singular(window), positive("sigma", sigma)
    found = [_limits(svd, x, lam, noise_sd, length, level) for x in new]
    return np.stack([noise + bias for noise, bias, _ in found], axis=1)


def corrected_regret_bound(
    X: ArrayLike,
    s: int,
    *,
    penalties: float | ArrayLike = 0.0,
    sigma: float,
    theta_norm: float,
    delta: float = 0.05,
) -> CorrectedRegretBound:
    """A bound on the regret of FIFD-OLS and of FIFD-Adaptive Ridge, in place of Theorems 1 and 2.

    The sum over t of ``prediction_limit`` of the window [t-s, t-1] at delta / (T - s).

    Rescaling the contexts by c, theta* by 1/c and the penalties by c^2 changes nothing.

    Holds: with probability 1 - delta, for all t and all penalties at once, for independent
    N(0, sigma^2) noise independent of the contexts and ||theta*||_2 <= ``theta_norm``. The
    penalties may depend on the responses in any way. ``steps`` bounds every single prediction.

    >>> X = [[1.0, 0.0], [0.0, 1.0]] * 4
    >>> found = corrected_regret_bound(X, 2, penalties=1.0, sigma=1.0, theta_norm=1.0)
    >>> round(found.bound, 3), round(found.ellipsoid_bound, 3)
    (12.283, 17.371)
    """
    windows = sliding_windows(X, s)
    lam = as_penalties(penalties, len(windows))
    level = error_probability("delta", delta) / (len(windows) - 1)
    length, noise_sd = non_negative("theta_norm", theta_norm), positive("sigma", sigma)
    parts = np.array(
        [
            np.ravel(_limits(nonzero_singular(before), after[-1], penalty, noise_sd, length, level))
            for before, after, penalty in zip(windows[:-1], windows[1:], lam[:-1], strict=True)
        ]
    )
    steps = parts[:, 0] + parts[:, 1]
    noise, bias, wide = (float(part) for part in parts.sum(axis=0))
    return CorrectedRegretBound(
        steps, float(steps.sum()), float((steps**2).sum()), noise, bias, wide
    )


def _limits(
    svd: tuple[Array, Array],
    x: Array,
    penalties: Array,
    sigma: float,
    length: float,
    level: float,
) -> tuple[Array, Array, Array]:
    """The limits of the noise part, of the bias part, and of both by the Phi_lam norm."""
    singular, basis = svd
    lam = np.reshape(penalties, (-1, 1))
    inside = basis @ x
    outside = float(np.linalg.norm(x - basis.T @ inside))
    shifted = singular**2 + lam
    spread = np.linalg.norm(singular * inside / shifted, axis=1)
    lost = np.hypot(np.linalg.norm(lam * inside / shifted, axis=1), outside)
    rank = len(singular)
    radius = sigma * float(np.sqrt(chdtri(rank, level))) if rank else 0.0
    weighted = np.linalg.norm(inside / np.sqrt(shifted), axis=1)
    root = np.sqrt(lam[:, 0])
    beyond = outside / np.where(root > 0, root, 1.0)
    wide = np.where(
        root > 0,
        np.hypot(weighted, beyond) * (radius + root * length),
        weighted * radius + length * outside,  # the limit without a penalty
    )
    return radius * spread, length * lost, wide
