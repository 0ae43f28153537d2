"""What forgetting a row costs: the exact change of variance and bias of an estimate.

The paper offers its forgetting regret term for this. That term contains the row that arrives, and
neither the noise nor the coefficients; it does not follow the regret that a deletion causes (E32).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from efface.errors import InvalidValue, unusable
from efface.inputs.arrays import as_matrix
from efface.inputs.parameters import non_negative, positive, vector, whole
from efface.theory.geometry import Array, as_window, nonzero_singular


@dataclass(frozen=True)
class DeletionCost:
    """The variance and the squared bias of predictions before and after a row is deleted.

    Both are means over a new row x with E xx' = ``second_moment``. ``leverage`` is the leverage of
    the row in the window before the deletion, ``rank_lost`` whether the rank falls.
    """

    variance_before: float
    variance_after: float
    bias_before: float
    bias_after: float
    leverage: float
    rank_lost: bool

    @property
    def variance(self) -> float:
        """The change of the variance; it falls if the rank does."""
        return self.variance_after - self.variance_before

    @property
    def bias(self) -> float:
        """The change of the squared bias."""
        return self.bias_after - self.bias_before

    @property
    def total(self) -> float:
        """The change of the expected squared error, the regret that the deletion causes."""
        return self.variance + self.bias


def deletion_cost(
    X: ArrayLike,
    row: int = 0,
    *,
    sigma: float,
    penalty: float = 0.0,
    penalty_after: float | None = None,
    theta: ArrayLike | None = None,
    theta_norm: float | None = None,
    second_moment: ArrayLike | None = None,
) -> DeletionCost:
    """The exact change of variance and bias when a row of the window X is deleted.

    variance = sigma^2 tr(M Phi_lam^-1 Phi Phi_lam^-1), squared bias = b' M b with
    b = lam Phi_lam^-1 theta*, before and after; M = E xx' of a new row   (not in the paper)

    M is ``second_moment``, the unit matrix by default: the cost is then the change of the expected
    squared L2 error. With ``theta_norm`` in place of ``theta``, the bias is the mean over all
    directions of theta*; with neither, ``theta`` is 0. ``penalty_after`` is ``penalty`` by default.
    Without a penalty the estimate is the one of minimum norm. For least squares of full rank and
    M = Phi / n the cost is sigma^2 h / (n (1 - h)), h the leverage of the row.

    Holds: always, for uncorrelated noise of variance sigma^2 and mean 0 that is independent of the
    contexts, and penalties that do not depend on the responses.

    >>> cost = deletion_cost([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], 1, sigma=1.0, theta=[1.0, 1.0])
    >>> round(cost.variance, 12), round(cost.bias, 12), round(cost.leverage, 12)
    (0.5, 0.0, 0.5)
    """
    window = as_window(X)
    n, d = window.shape
    if whole("row", row, 0) >= n:
        raise InvalidValue(unusable("row", row, f"a position below {n}", "count rows from 0"))
    noise, moment = positive("sigma", sigma) ** 2, _moment(second_moment, d)
    signal = _signal(theta, theta_norm, d)
    lam = non_negative("penalty", penalty)
    then = lam if penalty_after is None else non_negative("penalty_after", penalty_after)
    rest = np.delete(window, row, axis=0)
    before, after = _terms(window, lam, moment, signal), _terms(rest, then, moment, signal)
    singular, basis = nonzero_singular(window)
    leverage = float(np.sum((basis @ window[row]) ** 2 / (singular**2 + lam)))
    lost = len(nonzero_singular(rest)[0]) < len(singular)
    return DeletionCost(noise * before[0], noise * after[0], before[1], after[1], leverage, lost)


def live_deletion_cost(
    X: ArrayLike,
    row: int = 0,
    *,
    sigma: float,
    penalty: float = 0.0,
    theta: ArrayLike | None = None,
    fit_intercept: bool = False,
    weights: ArrayLike | None = None,
) -> DeletionCost:
    """``deletion_cost`` for new rows like the live ones, with an intercept and weights.

    M is the mean of (x - c)(x - c)' over the live rows, c the mean of the rows that estimate, or 0
    without an intercept. The intercept, which is not penalised, adds sigma^2 / W to the variance,
    W the sum of the weights. A row of weight w has the variance sigma^2 / w.

    Holds: as ``deletion_cost``. For least squares of full rank it is sigma^2 h / (W (1 - h)), with
    the leverage h of the row, 1/W of the intercept included.

    >>> cost = live_deletion_cost([[1.0], [2.0], [4.0]], 0, sigma=1.0, fit_intercept=True)
    >>> h = 1 / 3 + (4 / 3) ** 2 / (14 / 3)
    >>> bool(np.isclose(cost.total, h / (3 * (1 - h)))), bool(np.isclose(cost.leverage, h))
    (True, True)
    """
    window = as_window(X)
    n, d = window.shape
    if whole("row", row, 0) >= n:
        raise InvalidValue(unusable("row", row, f"a position below {n}", "count rows from 0"))
    w = np.ones(n) if weights is None else vector("weights", weights, n)
    lam, signal = non_negative("penalty", penalty), _signal(theta, None, d)
    kept = np.arange(n) != row
    parts = [
        _live_terms(window, w, np.where(here, w, 0.0), lam, signal, fit_intercept)
        for here in (kept | True, kept)
    ]
    (before, full, centre), (after, rest, _) = parts
    noise = positive("sigma", sigma) ** 2
    singular, basis = nonzero_singular(full)
    inner = np.sum((basis @ (window[row] - centre)) ** 2 / (singular**2 + lam))
    leverage = float(w[row] * (inner + (1 / w.sum() if fit_intercept else 0.0)))
    lost = len(nonzero_singular(rest)[0]) < len(singular)
    return DeletionCost(noise * before[0], noise * after[0], before[1], after[1], leverage, lost)


def _live_terms(
    X: Array, weights: Array, kept: Array, penalty: float, signal: Array, fit_intercept: bool
) -> tuple[tuple[float, float], Array, Array]:
    """Variance and squared bias over all live rows if rows estimate by the weights ``kept``.

    Also the rows that estimate, minus their mean and times the roots of weights, and that mean.
    """
    total = float(kept.sum())
    centred = fit_intercept and total > 0
    centre = kept @ X / total if centred else np.zeros(X.shape[1])
    apart = X - centre
    moment = (apart * weights[:, np.newaxis]).T @ apart / float(weights.sum())
    rows = np.sqrt(kept)[:, np.newaxis] * apart
    variance, bias = _terms(rows, penalty, moment, signal)
    return (variance + (1 / total if centred else 0.0), bias), rows, centre


def _terms(X: Array, penalty: float, moment: Array, signal: Array) -> tuple[float, float]:
    """tr(M Phi_lam^-1 Phi Phi_lam^-1), and the mean of b' M b for theta* with E theta theta'."""
    singular, basis = nonzero_singular(X)
    shifted = singular**2 + penalty
    estimate = basis.T * (singular / shifted)  # Phi_lam^-1 X', up to a rotation
    variance = float(np.sum(estimate * (moment @ estimate)))
    # I - Phi_lam^-1 Phi: what the window does not pass on of theta*
    missed = np.eye(X.shape[1]) - basis.T @ (basis * (singular**2 / shifted)[:, np.newaxis])
    return variance, float(np.sum((missed @ signal) * (moment @ missed)))


def _moment(second_moment: ArrayLike | None, d: int) -> Array:
    if second_moment is None:
        return np.eye(d)
    moment = as_matrix(second_moment)
    if moment.shape != (d, d):
        expected = f"a matrix of {d} rows and columns"
        raise InvalidValue(
            unusable("second_moment", moment.shape, expected, "pass the mean of x x'")
        )
    return moment


def _signal(theta: ArrayLike | None, theta_norm: float | None, d: int) -> Array:
    """The mean of theta theta'."""
    if theta is not None and theta_norm is not None:
        expected = "None with theta"
        raise InvalidValue(unusable("theta_norm", theta_norm, expected, "pass one of the two"))
    if theta is not None:
        coef = vector("theta", theta, d)
        return np.outer(coef, coef)
    length = 0.0 if theta_norm is None else non_negative("theta_norm", theta_norm)
    return np.eye(d) * (length**2 / d)
