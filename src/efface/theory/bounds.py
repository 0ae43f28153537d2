"""The paper's cumulative bounds for the replay of a stream, and bounds that hold.

A stream X has T rows, a window s rows. Window k (k = 0..T-s) has rows k+1..k+s. For k < T-s it
predicts row k+s+1; the last window predicts nothing. Penalties are one number, or one number for
each of the T-s+1 windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from efface.inputs.parameters import error_probability, vector
from efface.theory.geometry import (
    Array,
    WindowSpectrum,
    as_penalties,
    sliding_windows,
    spectra,
    whiten,
)
from efface.theory.quantities import forgetting_terms
from efface.theory.radii import euclidean_radii, signal_constants

#: log(1 + z) >= z / 2 holds exactly for z from 0 to this root of log(1 + z) = z / 2.
HALF_LOG_ROOT = 2.5128624172523393


@dataclass(frozen=True)
class RegretBound:
    """The bound of a theorem, its terms, and a bound that holds.

    ``bound`` is the paper's; for Theorem 2 with C2 as its proof derives it. ``printed_bound`` has
    C2 as the theorem states it. Both are nan where the formula takes the root of a negative number
    or the logarithm of a C2 that is not positive. ``exact_c2_bound`` is the same formula with the
    exact ratio of determinants for C2. ``valid_bound`` is the sum of ||x_t||_2 times the Euclidean
    radius of each window at delta / (T - s).
    """

    bound: float
    printed_bound: float
    exact_c2_bound: float
    valid_bound: float
    eta: float
    zeta: float
    max_norm: float


def ols_regret_bound(X: ArrayLike, s: int, *, sigma: float, delta: float = 0.05) -> RegretBound:
    """The bound of Theorem 1 on the cumulative absolute regret of FIFD-OLS.

    2 sigma zeta sqrt((d/s) log(2d/delta) (T-s) (eta + T-s)),  eta = d log(s L^2 / d)   (Theorem 1)

    L is the largest Euclidean norm of a row. The bound is on the sum of absolute losses (E10).

    Does not hold in general: the proof uses Lemma 1 (E4), FRT <= 2 (E5) and Lemma 2. Rescaling the
    contexts does not change the regret but divides the bound by the scale. ``valid_bound`` holds
    with probability 1 - delta for independent sigma-subgaussian noise independent of the contexts.
    Both are infinite if a window is singular, so s >= d is needed.

    >>> X = [[1.0, 0.0], [0.0, 1.0]] * 4
    >>> result = ols_regret_bound(X, s=2, sigma=1.0)
    >>> round(result.bound, 3), round(result.valid_bound, 3), result.eta
    (50.24, 42.167, 0.0)
    """
    windows = spectra(sliding_windows(X, s)[:-1])
    norms, steps, d = _row_norms(X), len(windows.values), windows.d
    level = error_probability("delta", delta)
    eta = d * _log(s * norms.max() ** 2 / d)
    zeta = float(windows.q().max())
    inner = d / s * math.log(2 * d / level) * steps * (eta + steps)
    radii = euclidean_radii(windows, sigma=sigma, delta=level / steps)
    bound, valid = 2 * sigma * zeta * _root(inner), _total(norms[s:], radii)
    return RegretBound(bound, bound, bound, valid, eta, zeta, float(norms.max()))


def ridge_regret_bound(
    X: ArrayLike,
    s: int,
    *,
    penalties: float | ArrayLike,
    sigma: float,
    theta: ArrayLike,
    delta: float = 0.05,
) -> RegretBound:
    """The bound of Theorem 2 on the cumulative absolute regret of FIFD-Adaptive Ridge.

    sigma kappa nu zeta_lam sqrt((d/s) (T-s) (eta + T-s)),
    eta = d log(s L^2 / d + lam_[T-s, T-1]) - log C2   (Theorem 2; C2 as in ``penalty_drift``)

    The order that the paper gives for this bound contains L and lacks nu (E20); the bound is
    proportional to nu, and L is only in the logarithm.

    Does not hold in general: the proof uses Lemma 4, FRT <= 2 (E5) and Lemma 2.
    Multiplying the contexts by 100 puts ``exact_c2_bound`` below the regret as well (E29).
    ``valid_bound`` holds with probability 1 - delta for independent sigma-subgaussian noise
    independent of the contexts, for any penalties. ``corrected_regret_bound`` is far smaller.

    >>> X = [[1.0, 0.0], [0.0, 1.0]] * 4
    >>> result = ridge_regret_bound(X, s=2, penalties=1.0, sigma=1.0, theta=[1.0, 1.0])
    >>> round(result.bound, 3), round(result.valid_bound, 3), round(result.eta, 3)
    (17.429, 25.326, 1.386)
    """
    stack = spectra(sliding_windows(X, s))
    lam = as_penalties(penalties, len(stack.values))
    windows, norms, d, steps = stack[:-1], _row_norms(X), stack.d, len(lam) - 1
    coef = vector("theta", theta, d)
    kappa, nu = signal_constants(coef, delta=delta)
    log_trace, drift = d * _log(s * norms.max() ** 2 / d + lam[-2]), _drift(stack, lam)
    zeta = float(windows.q(lam[:-1]).max())
    scale = sigma * kappa * nu * zeta
    bound, printed, exact = (
        scale * _root(d / s * steps * (log_trace - log_c2 + steps))
        for log_c2 in (drift.derived.log, drift.printed.log, drift.exact)
    )
    length, level = float(np.linalg.norm(coef)), delta / steps
    radii = euclidean_radii(windows, sigma=sigma, delta=level, penalty=lam[:-1], theta_norm=length)
    valid, eta = _total(norms[s:], radii), log_trace - drift.derived.log
    return RegretBound(bound, printed, exact, valid, eta, zeta, float(norms.max()))


def _row_norms(X: ArrayLike) -> Array:
    return np.asarray(np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1))


def _total(norms: Array, radii: Array) -> float:
    """The sum of norm times radius; a zero row adds 0, even where the radius is infinite."""
    return float((norms[norms > 0] * radii[norms > 0]).sum())


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _root(value: float) -> float:
    """The square root, nan for a negative number."""
    return math.sqrt(value) if value >= 0 else math.nan


@dataclass(frozen=True)
class DriftProduct:
    """C2 in one version, a product over the steps of a replay.

    ``sign`` is that of the product: a number of negative factors that is even leaves C2 positive.
    ``log_abs`` is log|C2|, ``smallest`` the smallest factor.
    """

    sign: int
    log_abs: float
    smallest: float

    @property
    def log(self) -> float:
        """log C2, nan if C2 is not positive."""
        return self.log_abs if self.sign > 0 else math.nan


@dataclass(frozen=True)
class PenaltyDrift:
    """The effect of a varying penalty on the determinants of a replay.

    ``derived`` is C2 as the proof derives it, ``printed`` as the theorem states it. ``exact`` is
    the logarithm with which the determinant identity is exact.
    """

    derived: DriftProduct
    printed: DriftProduct
    exact: float


def penalty_drift(X: ArrayLike, s: int, *, penalties: float | ArrayLike) -> PenaltyDrift:
    """The constant C2 of Theorem 2, as derived and as printed, and the exact constant.

    derived: C2 = product over t of 1 + d lam_Delta / (lambda_min(Phi_lam) - lam_Delta)   (App. E)
    printed: C2 = product over t of 1 + s lam_Delta / (lambda_min(Phi_lam / s) - lam_Delta)

    lam_Delta = lam_[t-s+1, t] - lam_[t-s, t-1], Phi_lam of the window [t-s+1, t]. The theorem in
    the appendix has a plus instead of the minus (E11); neither version of it is the derivation.

    Does not hold in general: it is a first-order expansion. Its inequality is certain only for
    lam_Delta <= 0, where a factor can be negative. ``exact`` is the sum over t of
    log det Phi_lam - log det(Phi_lam - lam_Delta I), which always holds.

    >>> drift = penalty_drift([[1.0], [1.0], [1.0], [1.0]], 2, penalties=[2.0, 2.0, 4.0])
    >>> round(drift.derived.log, 4), round(drift.printed.log, 4), round(drift.exact, 4)
    (0.4055, 1.6094, 0.4055)
    """
    stack = spectra(sliding_windows(X, s))
    return _drift(stack, as_penalties(penalties, len(stack.values)))


def _drift(stack: WindowSpectrum, penalties: Array) -> PenaltyDrift:
    changes = np.diff(penalties)
    # Phi_lam - lam_Delta I is Phi plus the penalty of the previous window.
    values = stack.values[1:] + penalties[:-1, np.newaxis]
    printed = (stack.values[1:, -1] + penalties[1:]) / stack.n - changes
    ratios = _relative(changes[:, np.newaxis], values)
    with np.errstate(divide="ignore"):
        exact = float(np.log1p(ratios).sum())
    return PenaltyDrift(
        derived=_product(1 + stack.d * ratios[:, -1]),
        printed=_product(1 + stack.n * _relative(changes, printed)),
        exact=exact,
    )


def _relative(changes: Array, values: Array) -> Array:
    """changes / values, 0 where nothing changes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(changes == 0, 0.0, changes / values))


def _product(factors: Array) -> DriftProduct:
    with np.errstate(divide="ignore"):
        log_abs = float(np.log(np.abs(factors)).sum())
    return DriftProduct(int(np.prod(np.sign(factors))), log_abs, float(factors.min()))


@dataclass(frozen=True)
class RepresentationBound:
    """The cumulative representation term of a replay, Lemma 2's bound on it, and a valid bound.

    ``representation`` = sum ||x_t||^2, ``frt`` = sum FRT_t, ``eta`` as in Lemma 2, ``bound`` =
    2 eta + frt. ``outside`` counts the steps at which the lemma's log(1 + z) > z / 2 is false.
    ``telescoped`` is the bound with the determinant of the first window, which the lemma omits.
    """

    representation: float
    eta: float
    frt: float
    bound: float
    telescoped: float
    valid_bound: float
    steps: int
    outside: int

    @property
    def holds(self) -> bool:
        """Whether the inequality of Lemma 2 is true on this stream."""
        return self.representation <= self.bound


def representation_bound(
    X: ArrayLike, s: int, *, penalties: float | ArrayLike = 0.0
) -> RepresentationBound:
    """The cumulative representation term and Lemma 2's bound on it.

    sum ||x_t||^2 <= 2 eta + sum FRT_t, in Phi_lam^-1 of the window before t   (Lemma 2, App. E)

    eta = log det Phi_lam of the last window (minus infinity if it is singular) minus log C2.

    Does not hold in general (E6). The proof needs log(1 + z_t) > z_t / 2 for z_t = ||x_t||^2 -
    FRT_t, which is true only for 0 <= z_t <= 2.51; z_t is negative at about every second step. The
    proof also omits log det of the first window, so the lemma fails for small contexts. In a
    stationary stream the sum of z_t grows with T and eta does not: for any d and s the lemma fails
    when T is large enough.

    ``valid_bound`` always holds: with h_t the leverage of the deleted row in the window with x_t
    added and U = max ||x_t||^2, it is U / log(1 + U) * (log det Phi_lam last - log det Phi_lam
    first - exact penalty drift - sum log(1 - h_t)). It is infinite if a window is singular.

    >>> X = [[1.0], [2.0], [1.0], [2.0], [1.0]]
    >>> result = representation_bound(X, s=2)
    >>> round(result.representation, 3), round(result.bound, 3), round(result.valid_bound, 3)
    (1.2, 4.419, 1.296)
    """
    windows = sliding_windows(X, s)
    stack, lam = spectra(windows), as_penalties(penalties, len(windows))
    arrived, frt_terms, kept = _slide_terms(windows, lam)
    drift, z = _drift(stack, lam), arrived - frt_terms
    log_dets = stack.log_det(lam)
    first, last = float(log_dets[0]), float(log_dets[-1])
    eta, frt = last - drift.derived.log, float(frt_terms.sum())
    singular = bool(np.isneginf(log_dets).any())
    gain = math.inf if singular else last - first - drift.exact - float(kept.sum())
    return RepresentationBound(
        representation=float(arrived.sum()),
        eta=eta,
        frt=frt,
        bound=2 * eta + frt,
        telescoped=math.nan if singular else 2 * (eta - first) + frt,
        valid_bound=gain * _stretch(float(arrived.max())),
        steps=len(windows) - 1,
        outside=int(np.count_nonzero((z < 0) | (z > HALF_LOG_ROOT))),
    )


def _slide_terms(windows: Array, penalties: Array) -> tuple[Array, Array, Array]:
    """Per step: ||x_t||^2, FRT_t and log(1 - h_t), with the leverage h_t of the row that leaves."""
    rows = []
    for before, after, penalty in zip(windows[:-1], windows[1:], penalties[:-1], strict=True):
        old, new = whiten(before, np.stack([before[0], after[-1]]), penalty=float(penalty))
        frt, deleted, _ = forgetting_terms(old, new)
        arrived = new @ new
        leverage = deleted - (old @ new) ** 2 / (1 + arrived)
        rows.append((arrived, frt, min(leverage, 1.0)))
    new, frt, leverages = np.array(rows).T
    with np.errstate(divide="ignore"):
        return new, frt, np.log1p(-leverages)


def _stretch(largest: float) -> float:
    """U / log(1 + U), the largest ratio of u to log(1 + u) for 0 <= u <= U."""
    return largest / math.log1p(largest) if largest > 0 else 1.0
