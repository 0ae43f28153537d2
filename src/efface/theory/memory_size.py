"""How many rows to keep: from the noise, the signal and the accepted error to a memory.

The paper asks "how many data do we need to keep in order to achieve the satisfied performance".
Errors are expected squared regrets r of one prediction, for standardized Gaussian contexts. With
g = r / sigma^2 and v = rho^2 / sigma^2, the floor of the Gaussian prior is r where
d / g = d / v + n / (1 + g), hence n = d (1 + g) (1 - g / v) / g   (not in the paper)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import choice, non_negative, positive, whole
from efface.theory.geometry import Array, as_window

Estimator = Literal["floor", "ols"]


def rows_needed(
    error: float,
    d: int,
    *,
    sigma: float,
    theta_norm: float = math.inf,
    method: Estimator = "floor",
    fit_intercept: bool = False,
) -> int:
    """The smallest number of rows whose expected squared regret is at most ``error``.

    floor: d (1 + g) (1 - g / v) / g, the best ridge penalty, which no method of the prior beats;
    ols: d + 1 + d / g, from the error sigma^2 d / (n - d - 1) of least squares.

    With ``fit_intercept`` the error of least squares is sigma^2 (1/n + (1 + 1/n) d / (n - d - 2)).

    Holds: for standardized Gaussian contexts. ``ols`` is exact at every n and d and needs
    n >= d + 2: below, the expected regret is infinite (E35). ``floor`` is the limit for large d,
    within 1 % at d = 100, for coefficients of length ``theta_norm`` in a random direction.

    >>> rows_needed(0.1, 100, sigma=1.0, theta_norm=1.0)
    990
    >>> rows_needed(0.1, 100, sigma=1.0, method="ols")
    1101
    """
    g = positive("error", error) / positive("sigma", sigma) ** 2
    whole("d", d, 1)
    if choice("method", method, ("floor", "ols")) == "ols":
        return _ols_rows(g, d, fit_intercept)
    if fit_intercept:
        advice = "pass method='ols', or fit_intercept=False"
        raise InvalidValue(unusable("fit_intercept", True, "False for the floor", advice))
    v = math.inf if theta_norm == math.inf else (positive("theta_norm", theta_norm) / sigma) ** 2
    return max(0, _up(d * (1 + g) * (1 / g - 1 / v)))


def _ols_rows(g: float, d: int, fit_intercept: bool) -> int:
    if not fit_intercept:
        return d + 1 + max(1, _up(d / g))
    # 1/n + (1 + 1/n) d / (n - d - 2) <= g, times n (n - d - 2): a quadratic in n
    b = g * (d + 2) + 1 + d
    n = max(d + 3, math.floor((b + math.sqrt(b**2 - 8 * g)) / (2 * g)) - 1)
    while 1 / n + (1 + 1 / n) * d / (n - d - 2) > g * (1 + 1e-12):
        n += 1
    return n


def _up(value: float) -> int:
    """The next whole number, one that rounding missed by little included."""
    return math.ceil(value * (1 - 1e-12) - 1e-9)


@dataclass(frozen=True)
class NoiseAndSignal:
    """The standard deviations of the noise and of the signal, and the rank of the features."""

    noise: float
    signal: float
    features: int


def noise_and_signal(X: ArrayLike, y: ArrayLike) -> NoiseAndSignal | None:
    """The noise and the signal of rows, by least squares with an intercept, for ``rows_needed``.

    noise^2 = RSS / (n - r - 1),  signal^2 = var(y) - noise^2, at least 0, with the rank r

    The signal is ``theta_norm`` for standardized features. None if no residual freedom is left.

    Holds: for coefficients that stay the same; drift counts as noise.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 3))
    >>> found = noise_and_signal(X, X @ [2.0, 0.0, 0.0] + rng.normal(size=4000))
    >>> round(found.noise, 1), round(found.signal, 1), found.features
    (1.0, 2.0, 3)
    """
    window, responses = as_window(X), np.asarray(y, dtype=np.float64)
    centred, about = window - window.mean(axis=0), responses - responses.mean()
    scale = np.abs(centred).max(axis=0)
    coef, _, rank, _ = np.linalg.lstsq(centred / np.where(scale > 0, scale, 1.0), about)
    freedom = len(window) - int(rank) - 1
    if freedom < 1:
        return None
    residuals = about - centred / np.where(scale > 0, scale, 1.0) @ coef
    noise = float(residuals @ residuals) / freedom
    signal = max(0.0, float(about @ about) / (len(window) - 1) - noise)
    return NoiseAndSignal(math.sqrt(noise), math.sqrt(signal), int(rank))


def steps_needed(rows: int, *, add: int, drop: int = 1, start: int = 0) -> int:
    """The steps until a memory of ``start`` rows that gains and loses rows holds ``rows`` rows.

    ceil((rows - start) / (k - 1)) for (+k, -1)   (section 2 of the paper, remark)

    Holds: always; a memory that does not grow is refused unless it holds the rows already.

    >>> steps_needed(990, add=3, start=20)
    485
    """
    wanted, gain = whole("rows", rows, 0) - whole("start", start, 0), add - drop
    if wanted <= 0:
        return 0
    if whole("add", add, 1) <= whole("drop", drop, 0):
        raise InvalidValue(unusable("add", add, f"more than {drop}", "add more rows than leave"))
    return -(-wanted // gain)


def ridge_error(
    n: ArrayLike, d: int, *, penalty: ArrayLike, sigma: float, theta_norm: float = 1.0
) -> Array:
    """The expected squared regret of ridge regression with any fixed penalty, for large d.

    sigma^2 (T + lam T') - lam^2 (rho^2 / d) T', T(lam) = E tr Phi_lam^-1, T' its derivative, by the
    law of Marchenko and Pastur: T = (sqrt(b^2 + 4 l) - b) / (2 l), l = lam / d, b = n/d - 1 + l

    Holds: as n and d grow with n/d and lam/d fixed, for standardized contexts, coefficients of
    length rho in a random direction, and a penalty that does not depend on the responses.

    >>> ridge_error([20, 80, 1000], 100, penalty=100.0, sigma=1.0).round(3)
    array([0.905, 0.677, 0.099])
    """
    rows, lam = np.asarray(n, dtype=np.float64), np.asarray(penalty, dtype=np.float64) / d
    if not (lam > 0).all():
        raise InvalidValue(
            unusable("penalty", penalty, "numbers above 0", "use rows_needed for OLS")
        )
    b = rows / d - 1 + lam
    root = np.sqrt(b**2 + 4 * lam)
    trace = np.where(b > 0, 2 / (root + np.abs(b)), (root - b) / (2 * lam))
    # l T^2 + b T - 1 = 0, differentiated by l
    slope = -(trace**2 + trace) / (2 * lam * trace + b)
    noise, rho = positive("sigma", sigma) ** 2, non_negative("theta_norm", theta_norm)
    return np.asarray(noise * (trace + lam * slope) - rho**2 * lam**2 * slope)
