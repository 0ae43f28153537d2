"""Algorithms 1 and 2 of the paper in plain NumPy, step by step, to read.

Nothing here is used by the models, which refit the live rows and keep no inverse. The tests compare
FIFD-OLS and FIFD-Adaptive Ridge with these functions. Corrections are marked with their number in
docs/theory-errata.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def fifd_ols(X: Array, y: Array, s: int) -> tuple[Array, Array]:
    """Algorithm 1, FIFD-OLS: the predictions of rows s+1..T, and the estimate behind each.

    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([2.0, 4.0, 3.0, 6.0])
    >>> fifd_ols(X, y, 2)[0].round(6)
    array([2. , 6.6])
    """
    predictions, estimates = [], []
    for t in range(s, len(X)):  # "for t in {s+1, ..., T}"; rows count from 0 here
        x_t = X[t]  # "Observe x_t"
        window, responses = X[t - s : t], y[t - s : t]
        if t == s:  # "theta_[1,s] = Phi_[1,s]^-1 x_[1,s]' y_[1,s]"
            inverse = _pinv(window.T @ window)  # section 3.4: the generalised inverse
            theta = inverse @ (window.T @ responses)
        else:
            # "theta_[t-s,t-1] = f(Phi_[t-s-1,t-2]^-1, x_{t-s-1}, x_t) g(theta, Phi, z, z)"
            # E1: the second row of f is x_{t-1}, the row just learned, not x_t.
            old, new = t - s - 1, t - 1
            before = X[old:new].T @ X[old:new]
            moment = before @ theta + y[new] * X[new] - y[old] * X[old]  # g, App. F
            inverse = _f_step(inverse, X[old], X[new], window)
            theta = inverse @ moment
        predictions.append(float(theta @ x_t))  # "Predict y_t = <theta_[t-s,t-1], x_t>"
        estimates.append(theta)
        # "Compute loss": needs theta*, see efface.theory.absolute_regret
        # "Delete data z_{t-s}": the next window begins one row later
    return np.array(predictions), np.array(estimates)


def _pinv(gram: Array) -> Array:
    return np.asarray(np.linalg.pinv(gram), dtype=np.float64)


def _f_step(inverse: Array, x_old: Array, x_new: Array, window: Array) -> Array:
    """f of eq. 5: the inverse Gram matrix after a row has come and another has left."""
    a = inverse @ x_new  # Gamma = A - A x x' A / (x' A x + 1)   (App. F, Step 01)
    gamma = inverse - np.outer(a, a) / (x_new @ a + 1)
    b = gamma @ x_old
    divisor = x_old @ b - 1  # E1: x' Gamma x - 1; the paper prints x' Gamma - 1
    full_rank = np.linalg.matrix_rank(window) == window.shape[1]
    if abs(divisor) < 1e-9 or not full_rank or np.linalg.matrix_rank(inverse) < len(inverse):
        # E34: the divisor is 0 where the rank falls, and Woodbury's formula needs full rank.
        # The paper gives no step for this case: the generalised inverse is formed afresh.
        return _pinv(window.T @ window)
    return np.asarray(gamma - np.outer(b, b) / divisor)  # (App. F, Step 02)


def fifd_adaptive_ridge(
    X: Array, y: Array, s: int, *, delta: float = 0.05
) -> tuple[Array, Array, Array]:
    """Algorithm 2, FIFD-Adaptive Ridge: predictions of rows s+1..T, estimates and penalties.

    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([2.0, 4.0, 3.0, 6.0])
    >>> fifd_adaptive_ridge(X, y, 2)[2].round(4)
    array([10.8648,  5.4324])
    """
    predictions, estimates, penalties = [], [], []
    d = X.shape[1]
    for t in range(s, len(X)):  # "for t in {s+1, ..., T}"
        x_t = X[t]  # "Observes x_t"
        window, responses = X[t - s : t], y[t - s : t]
        x_max = np.abs(window).max()  # E2: of absolute values; Alg. 2 prints max x_(i,j)
        sd = responses.std(ddof=1)  # "SD(y_[t-s,t-1])"; E24: the divisor is s - 1
        lam = math.sqrt(2 * s) * sd * x_max * math.sqrt(math.log(2 * d / delta))  # theta_inf = 1
        gram = window.T @ window + lam * np.eye(d)  # "Phi_lambda = x'x + lambda I"
        theta = np.linalg.solve(gram, window.T @ responses)
        predictions.append(float(theta @ x_t))  # "Predicts y_t = <theta, x_t>"
        estimates.append(theta)
        penalties.append(float(lam))
        # "Computes loss", "Deletes data z_{t-s}": as in Algorithm 1
    return np.array(predictions), np.array(estimates), np.array(penalties)
