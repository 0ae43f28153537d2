"""The geometry of a window of rows: its spectrum, its rank and the norms it induces.

A window is an array X with one row per observation. Phi = X'X is its Gram matrix,
Phi_lam = Phi + lam I, and ||v||_A^2 = v'Av. Nothing here forms Phi: everything comes from the
singular values of X, which keep twice as many digits as the eigenvalues of X'X would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import InvalidValue, unusable

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)


def invalid(subject: str, value: object, expected: str, advice: str) -> InvalidValue:
    """The error for an argument that cannot be used: what it is, what it should be, what to do."""
    return InvalidValue(unusable(subject, value, expected, advice))


def as_window(X: ArrayLike) -> Array:
    """X as a finite two-dimensional float64 array with at least one row and one column."""
    window = np.asarray(X, dtype=np.float64)
    if window.ndim != 2 or window.size == 0:
        raise invalid("X", window.shape, "the shape (rows, columns), both at least 1", "reshape it")
    if not np.isfinite(window).all():
        raise invalid("X", "not finite", "finite numbers", "remove NaN and infinite rows")
    return window


def as_vector(subject: str, v: ArrayLike, size: int) -> Array:
    """``v`` as a finite float64 vector of ``size`` entries."""
    vector = np.asarray(v, dtype=np.float64)
    if vector.shape != (size,):
        raise invalid(subject, vector.shape, f"the shape ({size},)", "pass one number a column")
    if not np.isfinite(vector).all():
        raise invalid(subject, "not finite", "finite numbers", "remove NaN and infinite entries")
    return vector


def non_negative(subject: str, value: float) -> float:
    """``value`` if it is finite and at least zero."""
    if not (math.isfinite(value) and value >= 0):
        raise invalid(subject, value, "a finite number of at least 0", "check its sign")
    return float(value)


def positive(subject: str, value: float) -> float:
    """``value`` if it is finite and above zero."""
    if not (math.isfinite(value) and value > 0):
        raise invalid(subject, value, "a finite number above 0", "check its sign and scale")
    return float(value)


def probability(subject: str, value: float) -> float:
    """``value`` if it lies strictly between zero and one."""
    if not 0 < value < 1:
        raise invalid(subject, value, "a number between 0 and 1", "use 0.05 for 95 % confidence")
    return float(value)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What the radii need of one window, or of a stack of windows of the same shape.

    ``values`` holds the d eigenvalues of Phi, largest first, with exact zeros where the rank says
    zero; ``x_max`` is max|x_ij|. Leading axes, if any, run over the stack.
    """

    n: int
    d: int
    x_max: Array
    values: Array

    def __getitem__(self, part: slice) -> Spectrum:
        """Some of the windows of a stack."""
        return Spectrum(self.n, self.d, self.x_max[part], self.values[part])

    @property
    def rank(self) -> NDArray[np.intp]:
        """The number of eigenvalues that are not zero."""
        return np.asarray(np.count_nonzero(self.values, axis=-1))

    def phi2(self, penalty: float | Array = 0.0) -> Array:
        """lambda_min(Phi_lam / n)."""
        return np.asarray((self.values[..., -1] + penalty) / self.n)

    def q(self, penalty: float | Array = 0.0) -> Array:
        """max|x_ij| / lambda_min(Phi_lam / n), infinite where Phi_lam is singular."""
        phi2 = self.phi2(penalty)
        flat = phi2 <= 0
        return np.asarray(np.where(flat, np.inf, self.x_max / np.where(flat, 1.0, phi2)))

    def log_det(self, penalty: float | Array = 0.0) -> Array:
        """log det Phi_lam, minus infinity where Phi_lam is singular."""
        shifted = self.values + np.asarray(penalty)[..., np.newaxis]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shifted).sum(axis=-1))


def spectrum(X: ArrayLike) -> Spectrum:
    """The spectrum of a window, or of a stack of windows of shape (..., n, d).

    >>> spectrum([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]]).values
    array([9., 4.])
    """
    stack = np.asarray(X, dtype=np.float64)
    n, d = stack.shape[-2:]
    singular = np.asarray(np.linalg.svd(stack, compute_uv=False), dtype=np.float64)
    kept = np.where(singular > _cutoff(singular, n, d), singular, 0.0)
    values = np.zeros((*stack.shape[:-2], d))
    values[..., : kept.shape[-1]] = kept**2
    return Spectrum(n, d, np.asarray(np.abs(stack).max(axis=(-2, -1))), values)


def spectra(windows: Array) -> Spectrum:
    """The spectra of overlapping windows, one at a time: a view of them would be copied whole."""
    parts = [spectrum(window) for window in windows]
    values = np.array([part.values for part in parts])
    return Spectrum(parts[0].n, parts[0].d, np.array([part.x_max for part in parts]), values)


def _cutoff(singular: Array, n: int, d: int) -> Array:
    """The size below which a singular value is rounding, as in ``numpy.linalg.matrix_rank``."""
    return np.asarray(_EPS * max(n, d) * singular[..., :1])


def whiten(X: Array, vectors: Array, *, penalty: float = 0.0) -> Array:
    """Coordinates in which the Euclidean norm of a row is its Phi_lam^-1 norm.

    With ``penalty = 0`` the inverse is the Moore-Penrose one: what sticks out of the span of the
    rows of X counts for nothing.

    >>> whiten(np.diag([2.0, 4.0]), np.array([[2.0, 0.0], [0.0, 4.0]])) ** 2 @ [1.0, 1.0]
    array([1., 1.])
    """
    _, singular, basis = np.linalg.svd(X, full_matrices=False)
    live = singular > _cutoff(singular, *X.shape)
    basis = basis[live]
    inside = vectors @ basis.T
    scaled = inside / np.sqrt(singular[live] ** 2 + penalty)
    if penalty == 0 or len(basis) == X.shape[1]:
        return np.asarray(scaled)
    outside = vectors - inside @ basis
    rounding = 8 * _EPS * max(X.shape) * np.linalg.norm(vectors, axis=-1, keepdims=True)
    outside[np.abs(outside) <= rounding] = 0.0  # a small penalty would make much of it
    return np.concatenate([scaled, outside / math.sqrt(penalty)], axis=-1)


def binary_unit(values: Array) -> int:
    """The exponent of the power of two just above some numbers; dividing by that is exact.

    >>> binary_unit(np.array([3.0, -9.0]))
    4
    """
    return math.frexp(float(np.abs(values).max(initial=0.0)))[1]


def deviations(X: Array, *others: Array, weights: Array | None = None) -> tuple[Array, ...]:
    """The rows of X around their mean, and other rows around the same mean, rounded once.

    With ``weights``, all above 0, it is the weighted mean. A column that is constant but for
    rounding is zero: what rounding leaves of a large mean would look like one more rank.

    >>> deviations(np.array([[0.1, 1.0], [0.1, 3.0]]), np.array([0.1, 6.0]))
    (array([[ 0., -1.],
           [ 0.,  1.]]), array([0., 4.]))
    """
    origin = X[0].astype(np.longdouble)
    shifted = X - origin  # exactly zero where a column is constant
    centre = np.average(shifted, axis=0, weights=weights)
    centre += np.average(shifted - centre, axis=0, weights=weights)
    rows = (shifted - centre).astype(np.float64)
    rows[:, dust(rows, origin + centre)] = 0.0
    return rows, *((other - origin - centre).astype(np.float64) for other in others)


class Scores(NamedTuple):
    """Rows as z = (x - mean) / deviation; the deviation is 1, and z 0, where there is no spread."""

    rows: Array
    deviation: Array
    source: Array
    weights: Array | None

    @property
    def mean(self) -> Array:
        source = self.source.astype(np.longdouble)
        return np.asarray(np.average(source, axis=0, weights=self.weights), dtype=np.float64)

    def of(self, row: Array) -> Array:
        """Another row by the same mean and deviation."""
        away = deviations(self.source, row, weights=self.weights)[1]
        return np.asarray(away / self.deviation)


def standardized(X: Array, weights: Array | None = None) -> Scores:
    """The rows of X, at least one, standardised; constant but for rounding as in scikit-learn.

    Weights are all above 0.

    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).rows
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    rows, n = deviations(X, weights=weights)[0], len(X)
    units = np.ldexp(1.0, np.frexp(np.abs(rows).max(axis=0))[1])
    variance = np.average((rows / units) ** 2, axis=0, weights=weights)
    with np.errstate(over="ignore"):
        rounding = n * _EPS * np.abs(X.mean(axis=0)) / units
        flat = variance <= n * _EPS * variance + rounding**2
    deviation = np.where(flat, 1.0, units * np.sqrt(variance))
    return Scores(np.where(flat, 0.0, rows / deviation), deviation, X, weights)


def dust(rows: Array, mean: NDArray[np.floating]) -> NDArray[np.bool]:
    """Which columns of deviations are no more than the rounding of the mean that they are around.

    >>> dust(np.array([[1e-16, 1.0], [-1e-16, -1.0]]), np.array([0.1, 0.1]))
    array([ True, False])
    """
    return np.asarray((np.abs(rows) <= 16 * _EPS * np.abs(mean)).all(axis=0))


def gram_norm(X: ArrayLike, v: ArrayLike, *, penalty: float = 0.0) -> float:
    """The norm in which the ellipsoids are stated.

    ||v||_{Phi_lam} = sqrt(||X v||^2 + lam ||v||^2).

    Holds: always.

    >>> gram_norm([[1.0, 0.0], [0.0, 2.0]], [3.0, 2.0], penalty=0.0)
    5.0
    """
    window = as_window(X)
    vector = as_vector("v", v, window.shape[1])
    root = math.sqrt(non_negative("penalty", penalty))
    return math.hypot(float(np.linalg.norm(window @ vector)), root * float(np.linalg.norm(vector)))


def directions(X: Array) -> Array:
    """The rows of X at unit length; a zero row stays zero.

    The rank does not change, and one huge row can no longer hide the others.
    """
    largest = np.abs(X).max(axis=-1, keepdims=True)
    scaled = X / np.where(largest > 0, largest, 1.0)  # squares of tiny rows would underflow
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))


def rank_of(unit_rows: Array, *, rows: int) -> int:
    """The rank of rows of unit length, at the tolerance of a window of ``rows`` rows.

    Sharing the tolerance between windows that differ by one row makes their ranks differ by at
    most one, because singular values interlace.
    """
    if unit_rows.shape[0] == 0:
        return 0
    singular = np.linalg.svd(unit_rows, compute_uv=False)
    tolerance = _EPS * max(rows, unit_rows.shape[1]) * math.sqrt(rows)
    return int(np.count_nonzero(singular > tolerance))
