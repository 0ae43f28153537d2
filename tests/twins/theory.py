"""Slow and simple implementations of the theory: the definitions, in 50 digits where it matters.

Nothing here imports the package.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np

DIGITS = 50


def gram(X, penalty=0.0):
    """Phi_lam = sum of x x' + lam I, as an mpmath matrix."""
    rows = [[mp.mpf(float(value)) for value in row] for row in np.asarray(X, dtype=float)]
    d = len(rows[0])
    phi = mp.matrix(d, d)
    for row in rows:
        for i in range(d):
            for j in range(d):
                phi[i, j] += row[i] * row[j]
    for i in range(d):
        phi[i, i] += mp.mpf(float(penalty))
    return phi


def smallest_eigenvalue(X, penalty=0.0):
    with mp.workdps(DIGITS):
        return min(mp.eigsy(gram(X, penalty), eigvals_only=True))


def log_det(X, penalty=0.0):
    with mp.workdps(DIGITS):
        return mp.log(mp.det(gram(X, penalty)))


def inner(X, u, v, penalty=0.0):
    """<u, v> in the geometry of Phi_lam^-1."""
    with mp.workdps(DIGITS):
        left, right = (mp.matrix([mp.mpf(float(value)) for value in w]) for w in (u, v))
        return (left.T * mp.lu_solve(gram(X, penalty), right))[0]


def x_max(X):
    return max(abs(float(value)) for row in np.asarray(X) for value in row)


def adaptive_penalty(n, d, y_sd, x_max, delta, theta_max):
    with mp.workdps(DIGITS):
        return mp.sqrt(2 * n) * y_sd * x_max * mp.sqrt(mp.log(2 * d / mp.mpf(delta))) / theta_max


def q(X, penalty=0.0):
    with mp.workdps(DIGITS):
        return x_max(X) / (smallest_eigenvalue(X, penalty) / len(X))


def forgetting_regret_term(X, old, new, penalty=0.0):
    """Definition 2 with the cosine; needs a nonsingular Phi_lam and two nonzero rows."""
    with mp.workdps(DIGITS):
        deleted, arrived = inner(X, old, old, penalty), inner(X, new, new, penalty)
        cosine = inner(X, new, old, penalty) / mp.sqrt(arrived * deleted)
        dissimilarity = arrived * (1 - cosine**2)
        return deleted, dissimilarity, deleted * (dissimilarity + 1)


def forgetting_regret_term_pinv(X, old, new):
    """Definition 2 with the Moore-Penrose inverse of Phi, dense."""
    inverse = np.linalg.pinv(X.T @ X, rcond=1e-10)
    deleted, arrived, cross = old @ inverse @ old, new @ inverse @ new, new @ inverse @ old
    dissimilarity = arrived - cross**2 / deleted if deleted > 1e-14 else arrived
    return deleted, dissimilarity, deleted * (dissimilarity + 1)


def exact_rank(rows):
    """The rank by Gaussian elimination over the rationals."""
    matrix = [[Fraction(float(value)) for value in row] for row in rows]
    rank = 0
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((i for i in range(rank, len(matrix)) if matrix[i][column] != 0), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        for i in range(rank + 1, len(matrix)):
            factor = matrix[i][column] / matrix[rank][column]
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[rank], strict=True)]
        rank += 1
    return rank


def wpssr_limit(n, d, positives, delta):
    """Assumption 1 as printed."""
    with mp.workdps(DIGITS):
        level = mp.mpf(delta)
        a, b = mp.log(2 * d / level), mp.log(12 * positives / level)
        c3 = mp.log(6 * d / level) * a
        return (-mp.sqrt(c3) + mp.sqrt(c3 + n**2 * a * b)) / (n * a)


def ols_radius(X, sigma, delta):
    n, d = X.shape
    with mp.workdps(DIGITS):
        return sigma * q(X) * mp.sqrt(mp.mpf(2 * d) / n * mp.log(2 * d / mp.mpf(delta)))


def euclidean_radius(X, sigma, delta, penalty, theta_norm):
    n, d = X.shape
    with mp.workdps(DIGITS):
        noise = mp.sqrt(mp.mpf(2 * d) * n * mp.log(2 * d / mp.mpf(delta))) * sigma * x_max(X)
        return (noise + penalty * theta_norm) / smallest_eigenvalue(X, penalty)


def ridge_radius(X, penalty, sigma, theta, delta):
    n, d = X.shape
    positives = [value for value in theta if value > 0]
    with mp.workdps(DIGITS):
        log_term = mp.log(6 * len(positives) / mp.mpf(delta))
        kappa = mp.sqrt(log_term**2 / mp.log(2 * d / mp.mpf(delta)))
        nu = max(abs(value) for value in theta) / min(positives)
        return sigma * kappa * nu * q(X, penalty) * mp.sqrt(mp.mpf(d) / (2 * n))


def self_normalized_radius(X, penalty, sigma, theta_norm, delta):
    d = X.shape[1]
    with mp.workdps(DIGITS):
        root = mp.sqrt(mp.det(gram(X, penalty))) / mp.sqrt(mp.mpf(penalty) ** d) / mp.mpf(delta)
        return sigma * mp.sqrt(2 * mp.log(root)) + mp.sqrt(penalty) * theta_norm


def chi_square_cdf(x, k):
    return mp.gammainc(mp.mpf(k) / 2, 0, mp.mpf(x) / 2, regularized=True)


def f_cdf(x, k, m):
    ratio = k * mp.mpf(x) / (k * mp.mpf(x) + m)
    return mp.betainc(mp.mpf(k) / 2, mp.mpf(m) / 2, 0, ratio, regularized=True)


def dense_q(window, penalty):
    phi = window.T @ window + penalty * np.eye(window.shape[1])
    return np.abs(window).max() / (np.linalg.eigvalsh(phi)[0] / len(window))


def zeta(X, s, penalties):
    return max(dense_q(X[t - s : t], penalties[t - s]) for t in range(s, len(X)))


def ols_bound(X, s, sigma, delta):
    T, d = X.shape
    length = max(np.linalg.norm(x) for x in X)
    inside = (T - s) * (d * np.log(s * length**2 / d) + T - s)
    largest = zeta(X, s, np.zeros(T - s + 1))
    return 2 * sigma * largest * np.sqrt(d / s * np.log(2 * d / delta) * inside)


def c2(X, s, penalties):
    """The factors of C2 as derived in App. E, with lambda_min(Phi_lam) for phi^2 and d."""
    T, d = X.shape
    factors = []
    for t in range(s, T):
        window, new, old = X[t - s + 1 : t + 1], penalties[t - s + 1], penalties[t - s]
        smallest = np.linalg.eigvalsh(window.T @ window + new * np.eye(d))[0]
        factors.append(1 + d / (smallest - (new - old)) * (new - old))
    return factors


def printed_c2(X, s, penalties):
    """The factors of C2 as Theorem 2 prints them: s, and lambda_min(Phi_lam / s)."""
    T, d = X.shape
    factors = []
    for t in range(s, T):
        window, new, old = X[t - s + 1 : t + 1], penalties[t - s + 1], penalties[t - s]
        smallest = np.linalg.eigvalsh(window.T @ window / s + new / s * np.eye(d))[0]
        factors.append(1 + s / (smallest - (new - old)) * (new - old))
    return factors


def noise_limit(X, sigma, delta):
    n, d = X.shape
    with mp.workdps(DIGITS):
        return sigma * x_max(X) * mp.sqrt(2 * n * mp.log(2 * d / mp.mpf(delta)))


def ball_radius(X, sigma, delta, penalty):
    """The ball of Lemma 3."""
    n, d = X.shape
    with mp.workdps(DIGITS):
        return sigma * q(X, penalty) * mp.sqrt(mp.mpf(2 * d) / n * mp.log(2 * d / mp.mpf(delta)))


def bayes_regret(X, sigma, theta_norm, second_moment):
    """sigma^2 m tr(Phi + lam I)^-1 in 50 digits."""
    d = len(X[0])
    with mp.workdps(DIGITS):
        lam = d * mp.mpf(sigma) ** 2 / mp.mpf(theta_norm) ** 2
        inverse = gram(X, lam) ** -1
        return mp.mpf(second_moment) * mp.mpf(sigma) ** 2 * mp.fsum(inverse[i, i] for i in range(d))


def ridge_bound(X, s, penalties, sigma, theta, delta, factors=c2):
    T, d = X.shape
    length = max(np.linalg.norm(x) for x in X)
    product = np.prod(factors(X, s, penalties))
    log_c2 = np.log(product) if product > 0 else np.nan
    eta = d * np.log(s * length**2 / d + penalties[T - s - 1]) - log_c2
    positives = theta[theta > 0]
    kappa = np.sqrt(np.log(6 * len(positives) / delta) ** 2 / np.log(2 * d / delta))
    nu = np.abs(theta).max() / positives.min()
    inside = d / s * (T - s) * (eta + T - s)
    root = np.sqrt(inside) if inside >= 0 else np.nan
    return sigma * kappa * nu * zeta(X, s, penalties) * root


def representation(X, s, penalties):
    """sum ||x_t||^2, sum FRT_t, sum log(1 + ||x_t||^2), with one inverse per step."""
    T, d = X.shape
    total = frt = gain = 0.0
    for t in range(s, T):
        window, old, new = X[t - s : t], X[t - s], X[t]
        inverse = np.linalg.inv(window.T @ window + penalties[t - s] * np.eye(d))
        deleted, arrived, cross = old @ inverse @ old, new @ inverse @ new, new @ inverse @ old
        total += arrived
        frt += deleted * (arrived - cross**2 / deleted + 1)
        gain += np.log(1 + arrived)
    return total, frt, gain


def ridge_fit(X, y, penalty=0.0):
    """Ridge as least squares on the window with the rows sqrt(lam) I appended."""
    d = X.shape[1]
    below = np.sqrt(penalty) * np.eye(d)
    return np.linalg.lstsq(np.vstack([X, below]), np.append(y, np.zeros(d)), rcond=None)[0]


def replay(X, y, s, penalties):
    """One-step predictions of a window of s rows."""
    steps = range(s, len(X))
    return np.array([X[t] @ ridge_fit(X[t - s : t], y[t - s : t], penalties[t - s]) for t in steps])
