"""The lower bound that the paper leaves for the future: the regret of any method that sees n rows.

With coefficients drawn from N(0, (rho^2 / d) I) and Gaussian noise, no method predicts better from
n rows than their posterior mean, which is ridge regression with the penalty d sigma^2 / rho^2. Its
expected squared regret is therefore the floor of this prior: the smallest mean over such
coefficients, adaptive or not. For coefficients of exactly the length rho the floor is lower (E27):
``sphere_regret_floor``. docs/theory-corrected.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import choice, positive, whole
from efface.theory.coverage import CONTEXTS, Contexts
from efface.theory.geometry import Array, as_window, nonzero_singular, spectrum


def oracle_penalty(d: int, *, sigma: float, theta_norm: float = 1.0) -> float:
    """The best penalty for d coefficients of length ``theta_norm`` in a random direction.

    lam = d sigma^2 / rho^2, rho = theta_norm   (not in the paper)

    Holds: of all linear methods it has the smallest expected regret in every window. For
    coefficients from N(0, (rho^2 / d) I) no method has a smaller one. For coefficients of exactly
    the length rho, methods that are not linear in y have a slightly smaller one (E27).

    >>> oracle_penalty(100, sigma=2.0)
    400.0
    """
    return whole("d", d, 1) * (positive("sigma", sigma) / positive("theta_norm", theta_norm)) ** 2


def window_regret_floor(
    X: ArrayLike, *, sigma: float, theta_norm: float = 1.0, contexts: Contexts = "standardized"
) -> float:
    """The floor under the expected squared regret of one prediction, given the rows of the window.

    sigma^2 m tr(Phi + lam I)^-1,  lam = d sigma^2 / rho^2,  E x x' = m I   (not in the paper)

    m is 1 for standardized contexts and 1/d for contexts of unit length.

    Holds: for coefficients from N(0, (rho^2 / d) I), Gaussian noise, and a new row that is
    independent of the window. The oracle penalty attains it.

    >>> round(window_regret_floor([[1.0, 0.0]], sigma=1.0), 4)
    0.8333
    """
    window = spectrum(as_window(X))
    lam = oracle_penalty(window.d, sigma=sigma, theta_norm=theta_norm)
    return _second_moment(contexts, window.d) * sigma**2 * float((1 / (window.values + lam)).sum())


def regret_floor(
    n: ArrayLike,
    d: int,
    *,
    sigma: float,
    theta_norm: float = 1.0,
    contexts: Contexts = "standardized",
) -> Array:
    """The mean of ``window_regret_floor`` over windows of n Gaussian rows, for large d.

    m rho^2 (sqrt(b^2 + 4 v) - b) / 2,  b = n/d - 1 + v,  v = sigma^2 / (m rho^2)

    This is the law of Marchenko and Pastur. At any d the mean floor is at least
    m rho^2 / (1 + n / (d v)), by the inequality of Jensen.

    Holds: as n and d grow with n/d fixed. At d = 100 it is within 1 % of simulated means.

    >>> regret_floor([0, 20, 80, 1000], 100, sigma=1.0).round(3)
    array([1.   , 0.905, 0.677, 0.099])
    """
    rows = np.asarray(n, dtype=np.float64)
    if not (np.isfinite(rows) & (rows >= 0)).all():
        raise InvalidValue(unusable("n", n, "numbers of rows, at least 0", "count the live rows"))
    scale = _second_moment(contexts, whole("d", d, 1)) * positive("theta_norm", theta_norm) ** 2
    noise = positive("sigma", sigma) ** 2 / scale
    b = rows / d - 1 + noise
    root = np.sqrt(b**2 + 4 * noise)
    # The second form has no cancellation where b is positive.
    return np.asarray(scale * np.where(b > 0, 2 * noise / (root + np.abs(b)), (root - b) / 2))


@dataclass(frozen=True)
class SphereFloor:
    """A floor by simulation, and its standard error."""

    value: float
    error: float


def sphere_regret_floor(
    X: ArrayLike,
    *,
    sigma: float,
    theta_norm: float = 1.0,
    contexts: Contexts = "standardized",
    draws: int = 1000,
    seed: int = 0,
) -> SphereFloor:
    """The floor for coefficients of exactly the length rho in a random direction.

    m (rho^2 - E ||E[theta* | y]||^2), rho = theta_norm. The posterior mean is a mean of ridge
    estimates over complex penalties lam (the inverse Laplace transform of the sphere), with weights
    exp(lam rho^2 / 2 sigma^2 + y'X Phi_lam^-1 X'y / 2 sigma^2) det(Phi_lam)^-1/2   (E27)

    The mean over y is that of ``draws`` simulated responses.

    Holds: up to the standard error, for Gaussian noise and theta* uniform on the sphere. It is
    below ``window_regret_floor``; their ratio tends to (d - 1) / d for many rows, and to 1 for
    many columns.

    >>> X = np.eye(2) * 30
    >>> found = sphere_regret_floor(X, sigma=1.0)
    >>> bool(0.4 < found.value / window_regret_floor(X, sigma=1.0) < 0.6)
    True
    """
    singular, basis = nonzero_singular(as_window(X))
    d, rho, sd = basis.shape[1], positive("theta_norm", theta_norm), positive("sigma", sigma)
    values = np.zeros(d)
    values[: len(singular)] = singular**2
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((whole("draws", draws, 2), d))
    theta *= rho / np.linalg.norm(theta, axis=1, keepdims=True)
    # X'y in the basis of eigenvectors, in which directions outside the span stay 0
    moment = values * theta + sd * np.sqrt(values) * rng.standard_normal(theta.shape)
    gains = [rho**2 - float(np.sum(_sphere_mean(values, b, rho, sd) ** 2)) for b in moment]
    scale = _second_moment(contexts, d)
    error = float(np.std(gains, ddof=1) / math.sqrt(draws))
    return SphereFloor(scale * float(np.mean(gains)), scale * error)


def _sphere_mean(values: Array, moment: Array, rho: float, sigma: float) -> Array:
    """E[theta* | y] for theta* uniform on the sphere, in the basis of eigenvectors of Phi."""
    smallest = float(values.min())

    def length(lam: float) -> float:  # falls with lam; rho^2 at the saddle point
        shifted = values + lam
        return float(((moment / shifted) ** 2).sum() + sigma**2 * (1 / shifted).sum() - rho**2)

    low, high = -smallest, 1.0 + abs(smallest)
    while length(high) > 0:
        high = 2 * high + 1
    saddle = brentq(length, low + 1e-12 * (high - low), high)
    shifted = values + saddle
    # the curvature gives the width of the integrand along the imaginary axis
    curve = (2 * moment**2 / shifted**3 + sigma**2 / shifted**2).sum() / (2 * sigma**2)
    path = saddle + 1j * np.linspace(-40, 40, 4001) / math.sqrt(curve)
    at = values + path[:, np.newaxis]
    exponent = (path * rho**2 + (moment**2 / at).sum(axis=1)) / (2 * sigma**2)
    exponent -= 0.5 * np.log(at).sum(axis=1)
    weights = np.exp(exponent - exponent[2000])
    return np.asarray(((weights @ (moment / at)) / weights.sum()).real)


def _second_moment(contexts: Contexts, d: int) -> float:
    return 1.0 if choice("contexts", contexts, CONTEXTS) == "standardized" else 1 / d
