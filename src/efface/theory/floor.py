"""The lower bound that the paper leaves for the future: the regret of any method that sees n rows.

With coefficients drawn from N(0, (rho^2 / d) I) and Gaussian noise, no method predicts better from
n rows than their posterior mean, which is ridge regression with the penalty d sigma^2 / rho^2. Its
expected squared regret is therefore a floor under that of every method, adaptive or not.
docs/theory.md has the proof.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import choice, positive, whole
from efface.theory.coverage import CONTEXTS, Contexts
from efface.theory.geometry import Array, as_window, spectrum


def oracle_penalty(d: int, *, sigma: float, theta_norm: float = 1.0) -> float:
    """The best penalty for d coefficients of length ``theta_norm`` in a random direction.

    lam = d sigma^2 / rho^2, rho = theta_norm   (not in the paper)

    Holds: of all ridge penalties, and of all linear methods, it has the smallest expected regret in
    every window. For coefficients from N(0, (rho^2 / d) I) no method has a smaller one.

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


def _second_moment(contexts: Contexts, d: int) -> float:
    return 1.0 if choice("contexts", contexts, CONTEXTS) == "standardized" else 1 / d
