"""Radii of confidence ellipsoids: the paper's, under the paper's names, and valid ones.

Every radius is stated in a norm. The paper states the ``paper_*`` radii in the Phi_lam norm, where
they do not hold in general (E4). ``euclidean_radius`` is in the Euclidean norm;
``self_normalized_radius`` and ``gaussian_radius`` are in the Phi_lam norm.

Each radius is for one window chosen in advance. Lemmas 1 and 4 say "for all t", but none of the
radii covers all windows of a replay at once; for m windows divide delta by m.

``<name>_radius`` takes one window of rows. ``<name>_radii`` takes the spectrum of a stack of
windows and returns one radius per window.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, fdtri

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import error_probability, non_negative, positive, vector
from efface.theory.geometry import Array, WindowSpectrum, as_window, spectrum
from efface.theory.quantities import positive_signals


def paper_ols_radius(X: ArrayLike, *, sigma: float, delta: float = 0.05) -> float:
    """The radius of the FIFD-OLS ellipsoid as the paper states it.

    ||theta_hat - theta*||_Phi <= sigma q sqrt((2 d / n) log(2 d / delta))   (Lemma 1)

    Does not hold in general (E4): the proof bounds the Euclidean norm, see ``euclidean_radius``.
    Rescaling the contexts changes the right side but not the left side.

    >>> round(paper_ols_radius([[2.0, 0.0], [0.0, 1.0]], sigma=1.0, delta=0.05), 4)
    11.8417
    """
    return float(paper_ols_radii(spectrum(as_window(X)), sigma=sigma, delta=delta))


def paper_ols_radii(windows: WindowSpectrum, *, sigma: float, delta: float) -> Array:
    """``paper_ols_radius`` of each window of a stack."""
    return euclidean_radii(windows, sigma=sigma, delta=delta)


def euclidean_radius(
    X: ArrayLike,
    *,
    sigma: float,
    delta: float = 0.05,
    penalty: float = 0.0,
    theta_norm: float | None = None,
) -> float:
    """The radius of the Euclidean ball that the proof of Lemma 1 gives, for OLS and for ridge.

    ||theta_hat_lam - theta*||_2 <= sigma q_lam sqrt((2 d / n) log(2 d / delta))
    + lam ||theta*||_2 / (n phi2_lam)   (proof of Lemma 1, App. A; first lines of App. B)

    Holds: with probability 1 - delta for all penalties at once, for independent sigma-subgaussian
    noise, independent of the contexts, and ||theta*||_2 <= ``theta_norm``. The event of
    ``noise_radius`` does not contain the penalty, which may therefore depend on the responses.

    >>> round(euclidean_radius([[2.0, 0.0], [0.0, 1.0]], sigma=1.0, delta=0.05), 4)
    11.8417
    """
    window, bias = spectrum(as_window(X)), _bias_norm(penalty, theta_norm)
    return float(
        euclidean_radii(window, sigma=sigma, delta=delta, penalty=penalty, theta_norm=bias)
    )


def euclidean_radii(
    windows: WindowSpectrum,
    *,
    sigma: float,
    delta: float,
    penalty: float | Array = 0.0,
    theta_norm: float = 0.0,
) -> Array:
    """``euclidean_radius`` of each window of a stack."""
    d, n = windows.d, windows.n
    log_term = math.log(2 * d / error_probability("delta", delta))
    noise = windows.q(penalty) * positive("sigma", sigma) * math.sqrt(2 * d / n * log_term)
    smallest = n * windows.phi2(penalty)
    bias = penalty * theta_norm / np.where(smallest > 0, smallest, 1.0)
    return np.asarray(noise + bias)


def paper_ball_radius(X: ArrayLike, *, penalty: float, sigma: float, delta: float = 0.05) -> float:
    """The radius of the Euclidean ball of Lemma 3, around the ridge estimate.

    ||theta_hat_lam - theta*||_2 <= sigma q_lam sqrt((2 d / n) log(2 d / delta))   (Lemma 3)

    Does not hold in general (E13), not even at the penalty of Lemma 3: it has no allowance for the
    shrinkage bias. ``euclidean_radius`` adds lam ||theta*||_2 / (n phi2_lam).

    >>> round(paper_ball_radius([[2.0, 0.0], [0.0, 1.0]], penalty=8.0, sigma=1.0), 4)
    1.3157
    """
    window, lam = spectrum(as_window(X)), non_negative("penalty", penalty)
    return float(paper_ball_radii(window, penalty=lam, sigma=sigma, delta=delta))


def paper_ball_radii(
    windows: WindowSpectrum, *, penalty: float | Array, sigma: float, delta: float
) -> Array:
    """``paper_ball_radius`` of each window of a stack."""
    return euclidean_radii(windows, sigma=sigma, delta=delta, penalty=penalty)


def noise_radius(X: ArrayLike, *, sigma: float, delta: float = 0.05) -> float:
    """The limit of the event on which the proofs of Lemmas 1, 3 and 4 rest.

    The largest entry of X' eps <= sigma x_max sqrt(2 n log(2 d / delta))   (second lemma of App. A)

    x_max and the entries of X' eps are taken as absolute values.

    Holds: with probability 1 - delta for independent sigma-subgaussian noise eps.

    >>> round(noise_radius([[2.0, 0.0], [0.0, 1.0]], sigma=1.0), 4)
    8.3733
    """
    return float(noise_radii(spectrum(as_window(X)), sigma=sigma, delta=delta))


def noise_radii(windows: WindowSpectrum, *, sigma: float, delta: float) -> Array:
    """``noise_radius`` of each window of a stack."""
    log_term = math.log(2 * windows.d / error_probability("delta", delta))
    return np.asarray(
        positive("sigma", sigma) * windows.x_max * math.sqrt(2 * windows.n * log_term)
    )


def paper_ridge_radius(
    X: ArrayLike, *, penalty: float, sigma: float, theta: ArrayLike, delta: float = 0.05
) -> float:
    """The radius of the FIFD-Adaptive Ridge ellipsoid as the paper states it.

    ||theta_hat_lam - theta*||_{Phi_lam} <= sigma kappa nu q_lam sqrt(d / (2 n))   (Lemma 4)

    with kappa and nu from ``signal_constants``; the proof assumes the penalty of Lemma 3.

    Does not hold in general, neither in the Phi_lam norm nor as a Euclidean ball. App. B uses the
    smaller of two tail probabilities where the larger is needed, and so loses the shrinkage bias.
    At the penalty of Lemma 3 and equal coefficients (Assumption 1 as printed satisfied) the bias
    alone is longer than the radius. ``euclidean_radius`` includes the bias.

    >>> X = [[2.0, 0.0], [0.0, 1.0]]
    >>> round(paper_ridge_radius(X, penalty=8.0, sigma=1.0, theta=[1.0, 1.0], delta=0.05), 4)
    0.8228
    """
    window = spectrum(as_window(X))
    coef, lam = vector("theta", theta, window.d), non_negative("penalty", penalty)
    return float(paper_ridge_radii(window, penalty=lam, sigma=sigma, theta=coef, delta=delta))


def paper_ridge_radii(
    windows: WindowSpectrum, *, penalty: float | Array, sigma: float, theta: Array, delta: float
) -> Array:
    """``paper_ridge_radius`` of each window of a stack."""
    kappa, nu = signal_constants(theta, delta=delta)
    scale = positive("sigma", sigma) * kappa * nu * math.sqrt(windows.d / (2 * windows.n))
    return np.asarray(windows.q(penalty) * scale)


def signal_constants(theta: ArrayLike, *, delta: float = 0.05) -> tuple[float, float]:
    """The constants kappa and nu of Lemma 4.

    ``kappa = log(6 |P(theta)| / delta) / sqrt(log(2 d / delta))``,
    ``nu = max|theta_j| / P_min(theta)``

    Holds: for a theta with a positive coordinate; P are its positive coordinates.

    >>> kappa, nu = signal_constants([0.5, 1.0, -2.0])
    >>> round(kappa, 4), nu
    (2.5048, 4.0)
    """
    signals = positive_signals(theta)
    level, size = error_probability("delta", delta), np.size(theta)
    kappa = math.log(6 * signals.size / level) / math.sqrt(math.log(2 * size / level))
    return kappa, float(np.abs(np.asarray(theta, dtype=float)).max() / signals.min())


def self_normalized_radius(
    X: ArrayLike, *, penalty: float, sigma: float, theta_norm: float, delta: float = 0.05
) -> float:
    """The self-normalised radius in its log-determinant form.

    ||theta_hat_lam - theta*||_{Phi_lam} <= sigma sqrt(log(det Phi_lam / lam^d) + 2 log(1 / delta))
    + sqrt(lam) ||theta*||_2   (Abbasi-Yadkori, Pal, Szepesvari 2011, Theorem 2)

    Holds: with probability 1 - delta for conditionally sigma-subgaussian noise, contexts that may
    depend on the past, ||theta*||_2 <= ``theta_norm`` and a penalty above 0 fixed in advance,
    because its event contains the penalty. It holds for all prefixes of the window at once.

    >>> X = [[2.0, 0.0], [0.0, 1.0]]
    >>> round(self_normalized_radius(X, penalty=1.0, sigma=1.0, theta_norm=1.0, delta=0.05), 4)
    3.8799
    """
    window, lam = spectrum(as_window(X)), positive("penalty", penalty)
    norm = non_negative("theta_norm", theta_norm)
    return float(
        self_normalized_radii(window, penalty=lam, sigma=sigma, theta_norm=norm, delta=delta)
    )


def self_normalized_radii(
    windows: WindowSpectrum, *, penalty: float, sigma: float, theta_norm: float, delta: float
) -> Array:
    """``self_normalized_radius`` of each window of a stack."""
    log_det_ratio = np.log1p(windows.values / penalty).sum(axis=-1)
    inner = log_det_ratio - 2 * math.log(error_probability("delta", delta))
    return np.asarray(positive("sigma", sigma) * np.sqrt(inner) + math.sqrt(penalty) * theta_norm)


def gaussian_radius(
    X: ArrayLike,
    *,
    penalty: float = 0.0,
    sigma: float | None = None,
    y: ArrayLike | None = None,
    delta: float = 0.05,
    theta_norm: float | None = None,
) -> float:
    """The radius for Gaussian noise: chi-square if sigma is known, F if it is estimated from y.

    ||theta_hat - theta*||_Phi <= sigma sqrt(chi2_r(1 - delta)), or, from the responses y,
    sqrt(r F_{r, n-r}(1 - delta) RSS / (n - r)), with the rank r and the RSS of least squares.

    Holds: with probability exactly 1 - delta for independent N(0, sigma^2) noise, independent of
    the contexts. A rank-deficient window gives no information about the part of theta* outside its
    span, and the norm ignores that part. The radius is infinite if n = r and sigma is unknown.

    With a penalty the norm is Phi_lam and the probability is at least 1 - delta. Without
    ``theta_norm`` the ellipsoid covers the mean of the ridge estimate, Phi_lam^-1 Phi theta*, not
    theta*. With ``theta_norm`` >= ||theta*||_2 the radius grows by sqrt(lam) theta_norm, the
    largest possible bias, and the ellipsoid covers theta*. Both hold for all penalties at once,
    also for one that depends on the responses: the events do not contain the penalty.

    >>> X = [[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> round(gaussian_radius(X, sigma=1.0, delta=0.05), 4)
    2.4477
    >>> round(gaussian_radius(X, y=[1.0, 0.5, 2.0], delta=0.05), 4)
    13.3167
    """
    window = as_window(X)
    lam = non_negative("penalty", penalty)
    rss: Array | None = None
    if sigma is None:
        if y is None:
            advice = "pass y to estimate the noise from it"
            raise InvalidValue(unusable("sigma", None, "sigma or y", advice))
        responses = vector("y", y, len(window))
        residual = responses - window @ np.linalg.lstsq(window, responses, rcond=None)[0]
        rss = np.asarray(residual @ residual)
    bias = 0.0 if theta_norm is None else math.sqrt(lam) * non_negative("theta_norm", theta_norm)
    return bias + float(gaussian_radii(spectrum(window), sigma=sigma, rss=rss, delta=delta))


def gaussian_radii(
    windows: WindowSpectrum, *, delta: float, sigma: float | None = None, rss: Array | None = None
) -> Array:
    """``gaussian_radius`` of each window of a stack, without the allowance for bias."""
    level, rank = error_probability("delta", delta), windows.rank
    if sigma is not None:
        quantile = chdtri(np.maximum(rank, 1), level)
        return np.asarray(np.where(rank > 0, positive("sigma", sigma) * np.sqrt(quantile), 0.0))
    freedom = windows.n - rank
    exact = (rank > 0) & (freedom > 0)
    r, m = np.where(exact, rank, 1), np.where(exact, freedom, 1)
    # 1 / F_{m, r}(delta) equals F_{r, m}(1 - delta), without the rounding of 1 - delta.
    squares = r / fdtri(m, r, level) * np.asarray(rss) / m
    return np.asarray(np.where(exact, np.sqrt(squares), np.where(rank > 0, np.inf, 0.0)))


def _bias_norm(penalty: float, theta_norm: float | None) -> float:
    """A checked bound on ||theta*||_2, which the bias of a ridge estimate depends on."""
    if non_negative("penalty", penalty) == 0:
        return 0.0
    if theta_norm is None:
        advice = "pass a bound on the Euclidean norm of theta*"
        expected = "a number, because the penalty is not 0"
        raise InvalidValue(unusable("theta_norm", None, expected, advice))
    return non_negative("theta_norm", theta_norm)
