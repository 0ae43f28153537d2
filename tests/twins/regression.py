"""Slow, simple reference versions of the models: every call refits plain lists of live rows.

Nothing is imported from the package. Systems are solved in exact fractions. Weights None means 1
each. A row of weight k counts as k equal rows, a row of weight 0 as none.
"""

from __future__ import annotations

import numpy as np
from flint import fmpq, fmpq_mat

TINY = np.finfo(float).tiny


def fractions(numbers):
    """Numbers as exact fractions."""
    return [fmpq(*float(v).as_integer_ratio()) for v in numbers]


def exact(A):
    """A matrix as exact fractions."""
    return fmpq_mat(*A.shape, fractions(A.ravel()))


def weighed(A, weights):
    """Each row of a matrix of fractions multiplied by its weight."""
    return fmpq_mat(
        A.nrows(),
        A.ncols(),
        [v * w for row, w in zip(A.tolist(), weights, strict=True) for v in row],
    )


def diagonal(values):
    """A diagonal matrix of fractions."""
    matrix = fmpq_mat(len(values), len(values))
    for i, value in enumerate(fractions(values)):
        matrix[i, i] = value
    return matrix


def nearest(fraction):
    """The float nearest to a fraction."""
    return int(fraction.p) / int(fraction.q)


def weighted_rows(X, y, weights):
    """The rows with a positive weight, and their weights."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return X[weights > 0], y[weights > 0], weights[weights > 0]


def weight_of(weights):
    """The sum of the weights, newest first: near a limit the order of summation decides."""
    total = 0.0
    for weight in reversed(weights):
        total += weight
    return total


def deviation(y, weights):
    """The sample standard deviation, with weights as counts."""
    around = centred(y[:, np.newaxis], weights)[:, 0]
    return np.sqrt((weights * around**2).sum() / (weights.sum() - 1))


def adaptive_penalty(X, y, delta, theta_max, intercept, weights=None):
    """Lemma 3: sqrt(2 n log(2d / delta)) sd(y) max|x| / theta_max."""
    X, y, weights = weighted_rows(X, y, weights)
    n, d = weight_of(weights), X.shape[1]
    if n < 2:
        return 0.0
    deviations = centred(X, weights) if intercept else X
    scale = deviation(y, weights) * np.abs(deviations).max()
    return float(np.sqrt(2 * n * np.log(2 * d / delta)) * scale / theta_max)


def penalty(X, y, rule, intercept, weights=None):
    """The penalty of a model: ``rule`` is its name and its parameters."""
    name, parameters = rule
    if name == "OLS":
        return 0.0
    if name == "Ridge":
        return float(parameters["alpha"])
    n = weight_of(np.ones(len(y)) if weights is None else weights)
    if name == "SwitchingRidge" and n > parameters["switch_at"] * X.shape[1]:
        return 0.0
    given = parameters["delta"], parameters["theta_max"]
    return adaptive_penalty(X, y, *given, intercept, weights)


def regress(X, y, lam, intercept, weights=None):
    """Coefficients, intercept and rank of one window.

    Exact if the rows determine the solution, interpolate, or if there is a penalty; otherwise the
    least-squares solution of minimum norm by NumPy.
    """
    X, y, weights = weighted_rows(X, y, weights)
    n, d = X.shape
    if n == 0:
        return np.zeros(d), 0.0, 0
    roots = np.sqrt(weights)
    deviations = roots[:, np.newaxis] * (centred(X, weights) if intercept else X)
    rank = rank_of(deviations, intercept)
    if rank == d or lam > 0:
        coef, level = solve_exactly(X, y, lam, intercept, weights)
    elif rank == n - intercept:
        coef, level = interpolate_exactly(X, y, intercept)
    else:
        mean = np.average(y, weights=weights) if intercept else 0.0
        coef = np.linalg.lstsq(deviations, roots * (y - mean), rcond=None)[0]
        level = mean - np.average(X, axis=0, weights=weights) @ coef if intercept else 0.0
    return coef, float(level), rank


def rank_of(A, intercept):
    """By NumPy's rule; for more rows than unknowns, full rank does not depend on the units."""
    lengths = np.sqrt(np.square(A / (np.abs(A).max(axis=0) + TINY)).sum(axis=0))
    if len(A) - intercept > A.shape[1] and lengths.all():
        units = A / (np.abs(A).max(axis=0) + TINY) / lengths
        if np.linalg.matrix_rank(units) == A.shape[1]:
            return A.shape[1]
    return int(np.linalg.matrix_rank(A))


def centred(X, weights=None):
    """X minus its mean, rounded once: a rounded mean could change the rank."""
    w = fractions(np.ones(len(X)) if weights is None else weights)
    columns = [fractions(column) for column in X.T]
    means = [sum(v * u for v, u in zip(column, w, strict=True)) / sum(w) for column in columns]
    return np.array(
        [[nearest(v - mean) for v in column] for column, mean in zip(columns, means, strict=True)]
    ).T


def interpolate_exactly(X, y, intercept):
    """The minimum-norm interpolation A' (AA')^-1 b, A and b minus their first row."""
    rows = exact(np.column_stack([X, y])).tolist()
    first = rows[0] if intercept else [fmpq(0)] * len(rows[0])
    rest = [[v - w for v, w in zip(row, first, strict=True)] for row in rows[intercept:]]
    m, d = len(rest), X.shape[1]
    A, b = fmpq_mat(m, d, [v for row in rest for v in row[:d]]), [row[d] for row in rest]
    coef = (A.transpose() * (A * A.transpose()).solve(fmpq_mat(m, 1, b))).entries()
    level = first[d] - sum(v * c for v, c in zip(first[:d], coef, strict=True))
    return np.array([nearest(v) for v in coef]), nearest(level)


def solve_exactly(X, y, lam, intercept, weights=None):
    """Coefficients and intercept from (A'WA + P) theta = A'Wy.

    A is X, with a column of 1 for the intercept; P is lam, and 0 for the intercept.
    """
    n, d = X.shape
    w = fractions(np.ones(n) if weights is None else weights)
    A = exact(np.column_stack([X, np.ones((n, int(intercept)))]))
    gram = A.transpose() * weighed(A, w) + diagonal([lam] * d + [0.0] * intercept)
    theta = gram.solve(A.transpose() * weighed(exact(y[:, np.newaxis]), w)).entries()
    coef = np.array([nearest(v) for v in theta[:d]])
    return coef, nearest(theta[d]) if intercept else 0.0


def minimum_norm(X, y, intercept, weights=None):
    """Coefficients, intercept and rank of least squares, of minimum norm, in exact fractions.

    With Z the centred rows and R the first rows of the echelon form of Z'WZ, Z = C R, where C are
    the pivot columns. So R theta is the least-squares solution for C, and theta = R'(RR')^-1 of it.
    """
    X, y, weights = weighted_rows(X, y, weights)
    d, w = X.shape[1], fractions(weights)
    means = [
        sum(u * v for u, v in zip(w, column, strict=True)) / sum(w) if intercept else fmpq(0)
        for column in exact(np.column_stack([X, y]).T).tolist()
    ]
    rows = exact(np.column_stack([X, y])).tolist()
    rows = [[v - m for v, m in zip(row, means, strict=True)] for row in rows]
    Z = fmpq_mat(len(rows), d, [v for row in rows for v in row[:d]])
    gram = Z.transpose() * weighed(Z, w)
    target = Z.transpose() * weighed(fmpq_mat(len(rows), 1, [row[d] for row in rows]), w)
    echelon, rank = gram.rref()
    first = [row for row in echelon.tolist() if any(v != 0 for v in row)]
    pivots = [next(j for j in range(d) if row[j] != 0) for row in first]
    R = fmpq_mat(rank, d, [v for row in first for v in row])
    inner = fmpq_mat(rank, rank, [gram[i, j] for i in pivots for j in pivots])
    inside = inner.solve(fmpq_mat(rank, 1, [target[i, 0] for i in pivots])) if rank else None
    coef = (R.transpose() * (R * R.transpose()).solve(inside)).entries() if rank else [fmpq(0)] * d
    level = means[d] - sum(c * m for c, m in zip(coef, means[:d], strict=True))
    return np.array([nearest(v) for v in coef]), nearest(level) if intercept else 0.0, rank


def refit(X, y, rule, intercept, weights=None):
    """Coefficients, intercept, penalty and rank of a model on its live rows."""
    lam = penalty(X, y, rule, intercept, weights)
    coef, level, rank = regress(X, y, lam, intercept, weights)
    return coef, level, lam, rank


def windows(complete, window=None, groups=None, at=None, duration=None):
    """For each row, the rows of the window that ends before it and of the window that ends at it.

    A window holds the last ``window`` rows, the rows younger than ``duration``, or all rows of its
    group. Incomplete rows are in no window and change none.
    """
    found, live_rows = [], {}
    for t, is_complete in enumerate(complete):
        live = live_rows.setdefault(None if groups is None else groups[t], [])
        before = list(live)
        if is_complete:
            live.append(t)
            if duration is not None:
                live[:] = [i for i in live if at[t] - at[i] < duration]
            elif window is not None:
                del live[:-window]
        found.append((before, list(live)))
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
    weights=None,
):
    """coef, intercept, rank, fitted and prediction of every window; rows with NaN are skipped."""
    n, d = X.shape
    weights = np.ones(n) if weights is None else weights
    least = min_rows or window or d + intercept

    def fit(rows):
        if len(rows) < least:
            return np.full(d, np.nan), np.nan, -1
        return regress(X[rows], y[rows], alpha, intercept, weights[rows])

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
    """A model that keeps its rows in a plain list.

    ``policy`` is a tuple: ("rows", s), ("age", length), ("add", k, drop, start) or ("all",).
    """

    def __init__(self, rule, policy, intercept, width):
        self.rule, self.policy, self.intercept, self.width = rule, policy, intercept, width
        self.rows = []  # (time, id, x, y, weight), oldest first
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

    @property
    def weights(self):
        return np.array([row[4] for row in self.rows], dtype=float)

    def next_id(self):
        return max([id for id in self.ids if isinstance(id, int)] + [-1]) + 1

    def learn(self, x, y, id=None, at=None, weight=1.0):
        id = self.next_id() if id is None else id
        if self.policy[0] == "age":
            self.expire(max([at] + [row[0] for row in self.rows]))
            if self.rows and at <= self.rows[-1][0] - self.policy[1]:
                return
        self.arrived += 1
        self.rows.append((at, id, np.array(x, dtype=float), float(y), float(weight)))
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

    def penalty(self):
        return penalty(self.X, self.y, self.rule, self.intercept, self.weights)

    def regress(self, lam):
        """Coefficients, intercept and rank with a penalty."""
        return regress(self.X, self.y, lam, self.intercept, self.weights)

    def refit(self):
        """Coefficients, intercept, penalty and rank."""
        lam = self.penalty()
        coef, level, rank = self.regress(lam)
        return coef, level, lam, rank

    def predict(self, x):
        coef, level, _, _ = self.refit()
        return float(np.asarray(x) @ coef + level)


def replay(model, X, y, ids=None, at=None, weights=None):
    """prediction, penalty, rank, n_rows and coef of the state before each row is learned."""
    states = []
    for t in range(len(y)):
        now = None if at is None else at[t]
        id = model.next_id() if ids is None else ids[t]
        if model.policy[0] == "age":
            model.expire(max([now] + [row[0] for row in model.rows]))
        coef, level, lam, rank = model.refit()
        states.append((X[t] @ coef + level, lam, rank, len(model.rows), coef))
        model.learn(X[t], y[t], id=id, at=now, weight=1.0 if weights is None else weights[t])
    return tuple(np.array(column) for column in zip(*states, strict=True))
