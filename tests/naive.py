"""Slow and obvious twins: everything is refitted on plain lists of live rows, every time.

Nothing here is imported from the package.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np

DIGITS = 50


def adaptive_penalty(X, y, delta, theta_max, intercept):
    """Lemma 3: sqrt(2 n log(2d / delta)) sd(y) max|x| / theta_max."""
    n, d = X.shape
    if n < 2:
        return 0.0
    deviations = centred(X) if intercept else X
    scale = np.std(y, ddof=1) * np.abs(deviations).max()
    return float(np.sqrt(2 * n * np.log(2 * d / delta)) * scale / theta_max)


def penalty(X, y, rule, intercept):
    """The penalty of a model: ``rule`` is its name and its parameters."""
    name, parameters = rule
    if name == "OLS":
        return 0.0
    if name == "Ridge":
        return float(parameters["alpha"])
    if name == "SwitchingRidge" and len(X) > parameters["switch_at"] * X.shape[1]:
        return 0.0
    theta_max, noise = parameters["theta_max"], parameters.get("noise", "response")
    if noise == "response" and theta_max != "auto":
        return adaptive_penalty(X, y, parameters["delta"], theta_max, intercept)
    return plugged_penalty(X, y, parameters["delta"], noise, theta_max, intercept)


def plugged_penalty(X, y, delta, noise, theta_max, intercept):
    """Lemma 3 with the residual deviation or the largest coefficient of a pilot fit, or both."""
    n, d = X.shape
    if n < 2:
        return 0.0
    deviations = centred(X) if intercept else X
    trace = float((deviations**2).sum())
    responses = centred(y[:, np.newaxis])[:, 0] if intercept else y
    if trace == 0 or not responses.any():
        return 0.0
    lam = 1e-3 * 2.0 ** np.round(np.log2(trace / n))
    coef, _ = solve_exactly(X, y, lam, intercept)
    sigma = residual_deviation(deviations, responses, lam, n - intercept)
    sigma = sigma if noise == "residual" else np.std(y, ddof=1)
    theta = max(np.abs(coef).max(), sigma / np.sqrt(trace)) if theta_max == "auto" else theta_max
    if sigma == 0:
        return 0.0
    scale = np.sqrt(2 * n * np.log(2 * d / delta)) * np.abs(deviations).max()
    return float(scale * sigma / theta)


def residual_deviation(A, b, lam, rows):
    """sqrt(b'(I - H)b / (rows - tr(H))), H = A (A'A + lam I)^-1 A', in 50 digits."""
    d = A.shape[1]
    with mp.workdps(DIGITS):
        columns = [[mp.mpf(float(v)) for v in column] for column in A.T]
        response = [mp.mpf(float(v)) for v in b]
        gram = mp.matrix(d, d)
        for i in range(d):
            for j in range(d):
                gram[i, j] = mp.fdot(columns[i], columns[j])
        inverse = (gram + mp.mpf(float(lam)) * mp.eye(d)) ** -1
        moment = mp.matrix([mp.fdot(column, response) for column in columns])
        unexplained = mp.fdot(response, response) - (moment.T * inverse * moment)[0]
        trace = mp.fsum((inverse * gram)[i, i] for i in range(d))
        return float(mp.sqrt(unexplained / (rows - trace)))


def regress(X, y, lam, intercept):
    """Coefficients, intercept and rank of one window.

    In 50 digits where the rows are independent or the penalty decides, else least squares of
    minimum norm by NumPy.
    """
    n, d = X.shape
    if n == 0:
        return np.zeros(d), 0.0, 0
    deviations = centred(X) if intercept else X
    rank = int(np.linalg.matrix_rank(deviations))
    if rank == d or lam > 0:
        coef, level = solve_exactly(X, y, lam, intercept)
    elif rank == n - intercept:
        coef, level = interpolate_exactly(X, y, intercept)
    else:
        coef = np.linalg.lstsq(deviations, y - y.mean() if intercept else y, rcond=None)[0]
        level = y.mean() - X.mean(axis=0) @ coef if intercept else 0.0
    return coef, float(level), rank


def centred(X):
    """X less its mean, rounded once: rounding in the mean must not look like rank."""
    with mp.workdps(DIGITS):
        columns = [[mp.mpf(float(v)) for v in column] for column in X.T]
        means = [mp.fsum(column) / len(X) for column in columns]
        return np.array(
            [[float(v - mean) for v in column] for column, mean in zip(columns, means, strict=True)]
        ).T


def interpolate_exactly(X, y, intercept):
    """The smallest coefficients that fit every row: A' (AA')^-1 b, A and b less their first row."""
    with mp.workdps(DIGITS):
        rows = [[mp.mpf(float(v)) for v in row] for row in np.column_stack([X, y])]
        first = rows[0] if intercept else [mp.mpf(0)] * len(rows[0])
        rest = [[v - w for v, w in zip(row, first, strict=True)] for row in rows[intercept:]]
        m, d = len(rest), X.shape[1]
        gram = mp.matrix(m, m)
        for i in range(m):
            for j in range(m):
                gram[i, j] = mp.fdot(rest[i][:d], rest[j][:d])
        weights = mp.lu_solve(gram, mp.matrix([row[d] for row in rest])) if m else []
        coef = [mp.fsum(weights[i] * rest[i][j] for i in range(m)) for j in range(d)]
        level = first[d] - mp.fdot(first[:d], coef)
        return np.array([float(v) for v in coef]), float(level)


def solve_exactly(X, y, lam, intercept):
    """Coefficients and intercept from (A'A + lam I) theta = A'b, A and b centred."""
    n, d = X.shape
    with mp.workdps(DIGITS):
        rows = [[mp.mpf(float(v)) for v in row] for row in np.column_stack([X, y])]
        means = [
            mp.fsum(column) / n if intercept else mp.mpf(0) for column in zip(*rows, strict=True)
        ]
        rows = [[v - mean for v, mean in zip(row, means, strict=True)] for row in rows]
        columns = list(zip(*rows, strict=True))
        gram = mp.matrix(d, d)
        for i in range(d):
            for j in range(d):
                gram[i, j] = mp.fdot(columns[i], columns[j]) + (lam if i == j else 0)
        moment = mp.matrix([mp.fdot(columns[i], columns[d]) for i in range(d)])
        theta = mp.lu_solve(gram, moment)
        level = means[d] - mp.fdot(means[:d], theta)
        return np.array([float(v) for v in theta]), float(level)


def refit(X, y, rule, intercept):
    """Coefficients, intercept, penalty and rank of a model on its live rows."""
    lam = penalty(X, y, rule, intercept)
    coef, level, rank = regress(X, y, lam, intercept)
    return coef, level, lam, rank


def windows(complete, window=None, groups=None, at=None, duration=None):
    """For each row, the rows of the window that ends before it and of the one that ends at it.

    Of the last ``window`` rows, of those younger than ``duration`` at the time of the row, or of
    all; rows that are not complete are in none, and leave all windows as they are.
    """
    found, memories = [], {}
    for t, whole in enumerate(complete):
        memory = memories.setdefault(None if groups is None else groups[t], [])
        before = list(memory)
        if whole:
            memory.append(t)
            if duration is not None:
                memory[:] = [i for i in memory if at[t] - at[i] < duration]
            elif window is not None:
                del memory[:-window]
        found.append((before, list(memory)))
    return found


def rolling(
    X,
    y,
    window=None,
    alpha=0.0,
    intercept=False,
    min_rows=None,
    groups=None,
    at=None,
    duration=None,
):
    """coef, intercept, rank, fitted and prediction, one window after the other; NaN is skipped."""
    n, d = X.shape
    least = min_rows or window or d + intercept

    def fit(rows):
        if len(rows) < least:
            return np.full(d, np.nan), np.nan, -1
        return regress(X[rows], y[rows], alpha, intercept)

    complete = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    found = windows(complete, window, groups, at, duration)
    ahead = [fit(before) for before, _ in found]
    here = [fit(now) for _, now in found]
    coef = np.array([c for c, _, _ in here]).reshape(n, d)
    fitted = np.array([X[t] @ c + b for t, (c, b, _) in enumerate(here)])
    prediction = np.array([X[t] @ c + b for t, (c, b, _) in enumerate(ahead)])
    level, rank = np.array([b for _, b, _ in here]), np.array([r for _, _, r in here])
    return coef, level, rank, fitted, prediction


class NaiveModel:
    """A model as plain lists.

    ``policy`` is a tuple: ("rows", s), ("age", length), ("add", k, drop, start) or ("all",).
    """

    def __init__(self, rule, policy, intercept, width):
        self.rule, self.policy, self.intercept, self.width = rule, policy, intercept, width
        self.rows = []  # (time, id, x, y), oldest first
        self.arrived = 0

    @property
    def ids(self):
        return [row[1] for row in self.rows]

    @property
    def X(self):  # noqa: N802
        return np.array([row[2] for row in self.rows]).reshape(-1, self.width)

    @property
    def y(self):
        return np.array([row[3] for row in self.rows], dtype=float)

    def next_id(self):
        return max([id for id in self.ids if isinstance(id, int)] + [-1]) + 1

    def learn(self, x, y, id=None, at=None):
        id = self.next_id() if id is None else id
        if self.policy[0] == "age":
            self.expire(max([at] + [row[0] for row in self.rows]))
            if self.rows and at <= self.rows[-1][0] - self.policy[1]:
                return
        self.arrived += 1
        self.rows.append((at, id, np.array(x, dtype=float), float(y)))
        if at is not None:
            self.rows.sort(key=lambda row: row[0])  # stable: the same time in order of arrival
        if self.policy[0] == "rows":
            del self.rows[: -self.policy[1]]
        if self.policy[0] == "add":
            _, add, drop, start = self.policy
            if self.arrived > start and (self.arrived - start) % add == 0:
                del self.rows[:drop]

    def forget(self, ids):
        self.rows = [row for row in self.rows if row[1] not in ids]

    def expire(self, now):
        self.rows = [row for row in self.rows if row[0] > now - self.policy[1]]

    def refit(self):
        """Coefficients, intercept, penalty and rank."""
        return refit(self.X, self.y, self.rule, self.intercept)

    def predict(self, x):
        coef, level, _, _ = self.refit()
        return float(np.asarray(x) @ coef + level)


def replay(model, X, y, ids=None, at=None):
    """prediction, penalty, rank, n_rows and coef of the state that predicted each row."""
    states = []
    for t in range(len(y)):
        now = None if at is None else at[t]
        id = model.next_id() if ids is None else ids[t]
        if model.policy[0] == "age":
            model.expire(max([now] + [row[0] for row in model.rows]))
        coef, level, lam, rank = model.refit()
        states.append((X[t] @ coef + level, lam, rank, len(model.rows), coef))
        model.learn(X[t], y[t], id=id, at=now)
    return tuple(np.array(column) for column in zip(*states, strict=True))
