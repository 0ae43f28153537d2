"""The right answer for a set of live rows, by code that shares nothing with efface.

Sums of rows, rank, minimum norm and coefficients are exact: integers and fractions of python-flint.
What is not rational (fading weights, Lemma 3, AutoRidge's rule) is computed in balls of Arb, with
more digits until the ball is small. The answer also has the condition number of the problem, from
which the allowed error follows: 1e-9 up to 1e4, and in proportion beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpz_mat

PROMISED = 1e-9  # relative error up to a condition number of MILD
MILD = 1e4
DECIDABLE = 1e12  # beyond this condition number double-double sums cannot tell the rank
EXPONENTS = range(-30, 11, 2)  # of AutoRidge's grid
EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Spec:
    """A model: its penalty rule and its options."""

    kind: str = "OLS"
    alpha: float = 1.0
    delta: float = 0.05
    theta_max: float = 1.0
    switch_at: float = 2.0
    intercept: bool = True
    standardize: bool = False
    halflife: float | None = None  # in rows, or in the unit of times

    @property
    def power(self) -> float:
        """Features are penalised after division by this power of their standard deviation."""
        return 1.0 if self.standardize else 0.5 if self.kind == "AutoRidge" else 0.0

    @property
    def centred(self) -> bool:
        return self.intercept or self.standardize


@dataclass(frozen=True)
class Answer:
    """Coefficients, and all that is needed to judge those of a model."""

    coef: np.ndarray
    intercept: float
    penalty: float
    rank: int
    condition: float
    mean: np.ndarray  # of the features; zeros if the regression is not centred
    level: float  # the prediction at the mean
    units: np.ndarray  # |error of coef_j| * units_j is compared with ``size``
    size: float
    rules: str  # the kind of the model
    weight: float  # of all rows

    @property
    def tolerance(self) -> float:
        """The allowed relative error."""
        return PROMISED * max(1.0, self.condition / MILD)

    @property
    def decidable(self) -> bool:
        return self.condition <= DECIDABLE and bool(np.isfinite(self.coef).all())

    def coefficient_error(self, coef: np.ndarray) -> float:
        """The largest error in units of the features, over what is allowed."""
        if not np.isfinite(coef).all():
            return float("inf")
        away = np.abs(np.asarray(coef) - self.coef)
        worst = (away * self.units).max(initial=0.0) / self.size if self.size else away.max()
        unused = self.units == 0.0  # features without spread: their coefficient is 0
        largest = np.abs(self.coef).max(initial=0.0) or 1.0
        return float(max(worst, away[unused].max(initial=0.0) / largest) / self.tolerance)

    def intercept_error(self, intercept: float) -> float:
        size = max(self.size, abs(self.level), np.abs(self.mean * self.coef).max(initial=0.0))
        return abs(intercept - self.intercept) / (self.tolerance * (size or 1.0))

    def penalty_error(self, penalty: float) -> float:
        allowed = PROMISED
        if self.rules == "AutoRidge":  # its log weights are n times a logarithm of sums
            allowed = 1e-6 * max(1.0, self.weight / 1e6)
        return abs(penalty - self.penalty) / max(allowed * self.penalty, TINY)

    def prediction(self, x: np.ndarray) -> float:
        return self.level + float((x - self.mean) @ self.coef)

    def prediction_error(self, x: np.ndarray, prediction: float) -> float:
        """The error at a row, over what the errors of the coefficients and rounding allow."""
        terms = np.append(np.abs(x * self.coef), abs(self.intercept))
        reach = np.abs(x - self.mean)
        lengths = np.where(self.units > 0, reach / np.where(self.units > 0, self.units, 1.0), 0.0)
        allowed = self.tolerance * self.size * (1.0 + lengths.sum())
        allowed += 64 * terms.size * EPS * max(terms.max(), abs(self.level))
        return abs(prediction - self.prediction(x)) / (allowed or 1.0)


def solve(
    X: np.ndarray,
    y: np.ndarray,
    spec: Spec,
    weights: np.ndarray | None = None,
    times: Sequence[float] | None = None,
) -> Answer:
    """The regression on live rows, oldest first; with a half-life, rows fade by their age."""
    n, d = X.shape
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    counted = given > 0
    if not counted.any():
        return _nothing(d, spec)
    faded = _faded(given, spec.halflife, times)
    rows = _Rows(X[counted], y[counted], [w for w, c in zip(faded, counted, strict=True) if c])
    sums = _Sums.of(rows, spec)
    return _solved(rows, sums, spec)


def _nothing(d: int, spec: Spec) -> Answer:
    penalty = spec.alpha if spec.kind == "Ridge" else 0.0
    zeros = np.zeros(d)
    return Answer(zeros, 0.0, penalty, 0, 1.0, zeros, 0.0, np.ones(d), 1.0, spec.kind, 0.0)


def _faded(weights: np.ndarray, halflife: float | None, times: Sequence[float] | None) -> list:
    """Weights times 2^(-age / halflife), as fractions; the age is in rows, or in time."""
    exact = [fraction(w) for w in weights]
    if halflife is None:
        return exact
    n = len(exact)
    ages = [n - 1 - i for i in range(n)] if times is None else [times[-1] - t for t in times]
    ctx.prec = 300
    halvings = [(arb(2) ** (-_ball(fraction(a)) / _ball(fraction(halflife)))).mid() for a in ages]
    return [w * _dyadic(h) for w, h in zip(exact, halvings, strict=True)]


# -- numbers -------------------------------------------------------------------------------------


def fraction(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def _dyadic(value: arb) -> fmpq:
    mantissa, exponent = value.man_exp()
    mantissa, exponent = int(mantissa), int(exponent)
    return fmpq(mantissa << exponent) if exponent >= 0 else fmpq(mantissa, 1 << -exponent)


def _ball(value: fmpq) -> arb:
    return arb(value.p) / arb(value.q)


def nearest(value: fmpq) -> float:
    """The float nearest to a fraction; infinite beyond the range of floats."""
    try:
        return int(value.p) / int(value.q)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _integers(values: np.ndarray) -> tuple[list[int], int]:
    """(integers, e) with values = integers * 2^e."""
    mantissas, exponents = np.frexp(np.asarray(values, dtype=float).ravel())
    whole = (mantissas * 2.0**53).astype(np.int64).tolist()
    lowest = int(exponents[mantissas != 0].min(initial=10**6))
    shifts = np.where(mantissas != 0, exponents - lowest, 0).tolist()
    return [m << s for m, s in zip(whole, shifts, strict=True)], (
        lowest if lowest < 10**6 else 0
    ) - 53


def _power(exponent: int) -> fmpq:
    return fmpq(1 << exponent) if exponent >= 0 else fmpq(1, 1 << -exponent)


# -- sums ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """Rows of positive weight."""

    X: np.ndarray
    y: np.ndarray
    weights: list  # fractions

    @cached_property
    def floats(self) -> np.ndarray:
        return np.array([nearest(w) for w in self.weights])


@dataclass(frozen=True)
class _Sums:
    """Exact sums of weighted rows, around their mean if the regression is centred."""

    n: fmpq  # the sum of the weights
    mean: list
    response: fmpq  # the mean of y
    gram: fmpq_mat
    moment: list  # sums of feature times response
    square: fmpq  # of the responses, around their mean if there is an intercept
    scatter: fmpq  # of the responses around their mean

    @classmethod
    def of(cls, rows: _Rows, spec: Spec) -> _Sums:
        m, d = rows.X.shape
        x, ex = _integers(rows.X)
        z, ez = _integers(rows.y)
        common = lcm(*(int(w.q) for w in rows.weights))
        w = [int((each * common).p) for each in rows.weights]

        def columns(i: int) -> tuple[int, ...]:
            return (*x[i * d : i * d + d], z[i], 1)

        A = fmpz_mat(m, d + 2, [v for i in range(m) for v in columns(i)])
        B = fmpz_mat(m, d + 2, [v * w[i] for i in range(m) for v in columns(i)])
        S = A.transpose() * B
        scale = [_power(ex)] * d + [_power(ez), fmpq(1)]
        total = fmpq(S[d + 1, d + 1])

        def entry(i: int, j: int, centred: bool) -> fmpq:
            value = fmpq(S[i, j])
            if centred:
                value -= fmpq(S[i, d + 1]) * fmpq(S[j, d + 1]) / total
            return value * scale[i] * scale[j] / common

        c = spec.centred
        gram = fmpq_mat(d, d, [entry(i, j, c) for i in range(d) for j in range(d)])
        means = [fmpq(S[j, d + 1]) * scale[j] / total for j in range(d + 1)]
        return cls(
            total / common,
            means[:d] if c else [fmpq(0)] * d,
            means[d],
            gram,
            [entry(j, d, c) for j in range(d)],
            entry(d, d, spec.intercept),
            entry(d, d, True),
        )

    @cached_property
    def variances(self) -> list:
        return [self.gram[j, j] / self.n for j in range(self.gram.nrows())]

    @cached_property
    def rank(self) -> int:
        return int(self.gram.rank())


# -- penalties -----------------------------------------------------------------------------------


def _penalty(rows: _Rows, sums: _Sums, spec: Spec) -> fmpq:
    """The penalty of every rule but AutoRidge's, as a fraction."""
    d = rows.X.shape[1]
    if spec.kind == "OLS" or (
        spec.kind == "SwitchingRidge" and sums.n > fraction(spec.switch_at) * d
    ):
        return fmpq(0)
    if spec.kind == "Ridge":
        return fraction(spec.alpha)
    if sums.n < 2:
        return fmpq(0)
    ctx.prec = 300
    largest = max(_largest(rows.X[:, j], sums, j, spec) for j in range(d))
    noise = (_ball(sums.scatter / (sums.n - 1))).sqrt()
    factor = (2 * _ball(sums.n) * (2 * d / _ball(fraction(spec.delta))).log()).sqrt()
    return _dyadic((factor * noise * largest / _ball(fraction(spec.theta_max))).mid())


def _largest(column: np.ndarray, sums: _Sums, j: int, spec: Spec) -> arb:
    """The largest absolute value of a feature, around its mean and in its deviation if so asked."""
    ends = [abs(fraction(v) - sums.mean[j]) for v in (column.min(), column.max())]
    reach = _ball(max(ends))
    variance = sums.variances[j]
    if spec.standardize:
        return reach / _ball(variance).sqrt() if variance else arb(0)
    return reach


def _selected(sums: _Sums, spec: Spec) -> tuple[arb, list]:
    """AutoRidge's penalty and coefficients, in balls of the present precision."""
    d = sums.gram.nrows()
    scales = [_ball(v) ** (-arb(spec.power) / 2) if v else arb(0) for v in sums.variances]
    phi = arb_mat(
        d, d, [_ball(sums.gram[i, j]) * scales[i] * scales[j] for i in range(d) for j in range(d)]
    )
    pull = arb_mat(d, 1, [_ball(b) * s for b, s in zip(sums.moment, scales, strict=True)])
    base = sum((phi[j, j] for j in range(d)), arb(0)) / d
    n = _ball(sums.n)
    logs = [_log_weight(base * arb(2) ** k, phi, pull, base, n, sums, spec) for k in EXPONENTS]
    top = max(float(log.mid()) for log in logs)
    shares = [(log - top).exp() for log in logs]
    mean = sum((s * k for s, k in zip(shares, EXPONENTS, strict=True)), arb(0)) / sum(
        shares, arb(0)
    )
    penalty = base * arb(2) ** mean
    theta = _shrunk(phi, penalty) * pull
    return penalty, [theta[j, 0] * scales[j] for j in range(d)]


def _shrunk(phi: arb_mat, penalty: arb) -> arb_mat:
    d = phi.nrows()
    ridge = arb_mat(d, d, [penalty if i == j else arb(0) for i in range(d) for j in range(d)])
    return (phi + ridge).inv()


def _log_weight(
    penalty: arb, phi: arb_mat, pull: arb_mat, base: arb, n: arb, sums: _Sums, spec: Spec
) -> arb:
    """docs/penalty.md, steps 2 to 4."""
    d = phi.nrows()
    inverse = _shrunk(phi, penalty)
    theta = inverse * pull
    explained = sum((pull[j, 0] * theta[j, 0] for j in range(d)), arb(0))
    left = _ball(sums.square) - explained if sums.square else arb(1)
    freedom = max(fmpq(0), sums.n - int(spec.intercept))
    N = _ball(freedom)
    evidence = N * left.log() - inverse.det().log() - d * penalty.log()
    blend = max(fmpq(0), 1 - d / freedom) if freedom else fmpq(0)
    if blend > 0:
        trace = d - penalty * sum((inverse[j, j] for j in range(d)), arb(0))
        norm = sum((theta[j, 0] ** 2 for j in range(d)), arb(0))
        crossed = N * ((left - penalty * norm).log() - 2 * (N - trace).log())
        evidence = (1 - _ball(blend)) * evidence + _ball(blend) * crossed
    u = n * penalty / (d * base)
    return -(evidence + (1 + u).log() + (1 + 1 / u).log()) / 2


# -- solutions -----------------------------------------------------------------------------------


def _solved(rows: _Rows, sums: _Sums, spec: Spec) -> Answer:
    d = rows.X.shape[1]
    flat = [j for j in range(d) if not sums.gram[j, j]]
    if spec.kind == "AutoRidge":
        penalty, coef = _auto(sums, spec, len(flat) == d)
    else:
        exact = _penalty(rows, sums, spec)
        coef, penalty = _coefficients(sums, exact, spec), nearest(exact)
    mean = np.array([nearest(m) for m in sums.mean])
    level = sums.response if spec.intercept else fmpq(0)
    away = sum((m * c for m, c in zip(sums.mean, coef, strict=True)), fmpq(0))
    found = np.array([nearest(c) for c in coef])
    condition, units, size = _judge(rows, sums, spec, penalty, found)
    intercept, rank = nearest(level - away), sums.rank
    place, scale = (mean, nearest(level)), (units, size)
    rules = spec.kind, nearest(sums.n)
    return Answer(found, intercept, penalty, rank, condition, *place, *scale, *rules)


def _auto(sums: _Sums, spec: Spec, nothing_varies: bool) -> tuple[float, list]:
    """AutoRidge's rule, with more digits until the balls are small."""
    d = sums.gram.nrows()
    if nothing_varies:
        return 0.0, [fmpq(0)] * d
    for precision in (320, 640, 1280, 2560, 5120, 10240):
        ctx.prec = precision
        penalty, coef = _selected(sums, spec)
        if penalty.rel_accuracy_bits() > 64 and all(
            c.rel_accuracy_bits() > 64 or (c.contains(0) and float(c.rad()) < 1e-300) for c in coef
        ):
            break
    return float(penalty.mid()), [_dyadic(c.mid()) for c in coef]


def _coefficients(sums: _Sums, penalty: fmpq, spec: Spec) -> list:
    """(G + penalty D) theta = b, D the variances to the power; the minimum norm if singular."""
    d = sums.gram.nrows()
    lengths = [v if spec.standardize else fmpq(1) for v in sums.variances]  # power 1 or 0
    if not penalty and sums.rank < d:
        return _minimum_norm(sums, lengths)
    system = fmpq_mat(sums.gram)
    for j in range(d):
        system[j, j] += penalty * lengths[j] if lengths[j] else fmpq(1)
    return system.solve(fmpq_mat(d, 1, sums.moment)).entries()


def _minimum_norm(sums: _Sums, lengths: list) -> list:
    """The solution of G theta = b with the least sum of lengths_j theta_j^2.

    With P the pivots of G, its columns C = G_P span its range, and C' theta = b_P are all the
    equations that count. So theta = D^-1 C (C' D^-1 C)^-1 b_P.
    """
    d, r = sums.gram.nrows(), sums.rank
    if not r:
        return [fmpq(0)] * d
    echelon = sums.gram.rref()[0].tolist()
    pivots = [next(j for j, v in enumerate(row) if v) for row in echelon[:r]]
    inverse = [1 / length if length else fmpq(0) for length in lengths]
    C = fmpq_mat(d, r, [sums.gram[i, j] for i in range(d) for j in pivots])
    scaled = fmpq_mat(d, r, [sums.gram[i, j] * inverse[i] for i in range(d) for j in pivots])
    z = (C.transpose() * scaled).solve(fmpq_mat(r, 1, [sums.moment[j] for j in pivots]))
    return (scaled * z).entries()


# -- the condition of the problem ------------------------------------------------------------------


def _judge(
    rows: _Rows, sums: _Sums, spec: Spec, penalty: float, coef: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Condition number, units of the coefficients, and the size that errors are relative to."""
    d = rows.X.shape[1]
    n = nearest(sums.n)
    spread = np.sqrt([nearest(v) for v in sums.variances])
    power = spec.power
    scales = np.array([s**-power if s else 0.0 for s in spread]) if power else np.ones(d)
    Z = _deviations(rows, sums) if spec.centred else rows.X.astype(np.longdouble)
    A = (np.sqrt(rows.floats)[:, np.newaxis] * Z * scales).astype(float)
    responses = np.sqrt(nearest(sums.square) / n)
    determined = penalty > 0 or sums.rank == d
    if determined:
        A = np.vstack([A, np.sqrt(penalty) * np.eye(d)]) if penalty else A
        units = spread
        condition = _condition(_unit_columns(A), d if penalty else sums.rank)
    else:
        units = np.array([1 / s if s else 0.0 for s in scales])
        interpolated = sums.rank == len(rows.y) - int(spec.centred)
        condition = _condition(A, sums.rank)
        if interpolated:  # weights do not matter
            plain = (Z - (Z.mean(axis=0) if spec.centred else 0)).astype(float) * scales
            condition = min(condition, _condition(_unit_columns(plain.T).T, sums.rank))
    largest = (spread * scales).max(initial=0.0)
    floor = responses if determined or not largest else responses / largest
    return condition, units, float(max(np.abs(coef * units).max(initial=0.0), floor))


def _deviations(rows: _Rows, sums: _Sums) -> np.ndarray:
    """X minus its mean in extended precision, through the first row: values may be far from 0."""
    first = rows.X[0]
    shift = [nearest(m - fraction(v)) for m, v in zip(sums.mean, first, strict=True)]
    return rows.X.astype(np.longdouble) - first - np.array(shift, dtype=np.longdouble)


def _unit_columns(A: np.ndarray) -> np.ndarray:
    largest = np.abs(A).max(axis=0)
    A = A[:, largest > 0] / largest[largest > 0]
    return A / np.sqrt((A * A).sum(axis=0))


def _condition(A: np.ndarray, rank: int) -> float:
    if not rank or not A.size:
        return 1.0
    largest = np.abs(A).max()
    sigma = np.linalg.svd(A / largest, compute_uv=False)
    smallest = sigma[min(rank, len(sigma)) - 1]
    return float(sigma[0] / smallest) if smallest > 0 else float("inf")
