"""Linear algebra of windows: eigenvalues, rank, norms and the windows of a stream.

A window is an array X with one row per observation. Phi = X'X is its Gram matrix,
Phi_lam = Phi + lam I, and ||v||_A^2 = v'Av. No function forms Phi: all results come from the
singular values of X, which keep twice as many digits as the eigenvalues of X'X would.

``efface.core`` has functions for the same quantities. These here are independent of it on
purpose: ``efface.audit`` uses them to check the engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import InvalidValue, unusable
from efface.inputs.arrays import as_matrix, refuse_no_row

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)


def as_window(X: ArrayLike) -> Array:
    """X as a finite float64 matrix with at least one row and one column."""
    window = as_matrix(X)
    refuse_no_row(window)
    return window


def sliding_windows(X: ArrayLike, s: int) -> Array:
    """The T-s+1 windows of s consecutive rows of a stream of T rows, as a view (windows, s, d)."""
    stream = as_window(X)
    if not 1 <= s < len(stream):
        expected = f"a window of 1 to {len(stream) - 1} rows"
        raise InvalidValue(unusable("s", s, expected, "leave at least one row to predict"))
    return np.lib.stride_tricks.sliding_window_view(stream, s, axis=0).swapaxes(1, 2)


def as_penalties(penalties: float | ArrayLike, count: int) -> Array:
    """One penalty for each of ``count`` windows."""
    values = np.asarray(penalties, dtype=np.float64)
    if values.shape not in ((), (count,)):
        expected, advice = f"one number or {count} numbers", "pass one number per window"
        raise InvalidValue(unusable("penalties", values.shape, expected, advice))
    if not (np.isfinite(values) & (values >= 0)).all():
        expected = "finite numbers of at least 0"
        raise InvalidValue(unusable("penalties", values, expected, "check their signs"))
    return np.broadcast_to(values, (count,))


@dataclass(frozen=True, eq=False)
class WindowSpectrum:
    """The eigenvalues of Phi for one window, or for a stack of windows of the same shape.

    ``values`` holds the d eigenvalues, largest first, with exact zeros beyond the rank. ``x_max``
    is max|x_ij|. Leading axes, if any, run over the stack.
    """

    n: int
    d: int
    x_max: Array
    values: Array

    def __getitem__(self, part: slice) -> WindowSpectrum:
        """Some of the windows of a stack."""
        return WindowSpectrum(self.n, self.d, self.x_max[part], self.values[part])

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
        singular = phi2 <= 0
        return np.asarray(np.where(singular, np.inf, self.x_max / np.where(singular, 1.0, phi2)))

    def log_det(self, penalty: float | Array = 0.0) -> Array:
        """log det Phi_lam, minus infinity where Phi_lam is singular."""
        shifted = self.values + np.asarray(penalty)[..., np.newaxis]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shifted).sum(axis=-1))


def spectrum(X: ArrayLike) -> WindowSpectrum:
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
    return WindowSpectrum(n, d, np.asarray(np.abs(stack).max(axis=(-2, -1))), values)


def spectra(windows: Array) -> WindowSpectrum:
    """The spectra of overlapping windows, one window at a time.

    ``spectrum`` would copy the whole view that ``sliding_windows`` returns.
    """
    parts = [spectrum(window) for window in windows]
    values = np.array([part.values for part in parts])
    return WindowSpectrum(parts[0].n, parts[0].d, np.array([part.x_max for part in parts]), values)


def _cutoff(singular: Array, n: int, d: int) -> Array:
    """Smaller singular values count as rounding, as in ``numpy.linalg.matrix_rank``."""
    return np.asarray(_EPS * max(n, d) * singular[..., :1])


def nonzero_singular(X: Array) -> tuple[Array, Array]:
    """The singular values of X that are not rounding, and their right singular vectors as rows.

    >>> nonzero_singular(np.array([[0.0, 2.0], [0.0, 1.0]]))[0] ** 2
    array([5.])
    """
    _, singular, basis = np.linalg.svd(X, full_matrices=False)
    nonzero = singular > _cutoff(singular, *X.shape)
    return np.asarray(singular[nonzero]), np.asarray(basis[nonzero])


def whiten(X: Array, vectors: Array, *, penalty: float = 0.0) -> Array:
    """Coordinates in which the Euclidean norm of a row is its Phi_lam^-1 norm.

    With ``penalty = 0`` the inverse is the Moore-Penrose one: components outside the span of the
    rows of X are ignored.

    >>> whiten(np.diag([2.0, 4.0]), np.array([[2.0, 0.0], [0.0, 4.0]])) ** 2 @ [1.0, 1.0]
    array([1., 1.])
    """
    singular, basis = nonzero_singular(X)
    inside = vectors @ basis.T
    scaled = inside / np.sqrt(singular**2 + penalty)
    if penalty == 0 or len(basis) == X.shape[1]:
        return np.asarray(scaled)
    outside = vectors - inside @ basis
    rounding = 8 * _EPS * max(X.shape) * np.linalg.norm(vectors, axis=-1, keepdims=True)
    outside[np.abs(outside) <= rounding] = 0.0  # dividing by a small penalty would amplify it
    return np.concatenate([scaled, outside / math.sqrt(penalty)], axis=-1)


def perpendicular(v: Array, axis: Array) -> float:
    """The squared length of the component of ``v`` perpendicular to ``axis``, without cancellation.

    >>> perpendicular(np.array([3.0, 4.0]), np.array([2.0, 0.0]))
    16.0
    """
    length = float(np.linalg.norm(axis))
    if length == 0:
        return float(v @ v)
    unit = axis / length
    rest = v - (v @ unit) * unit
    return float(rest @ rest)


def directions(X: Array) -> Array:
    """The rows of X scaled to unit length; a zero row stays zero.

    The rank does not change, and one very large row no longer masks the others.
    """
    largest = np.abs(X).max(axis=-1, keepdims=True)
    scaled = X / np.where(largest > 0, largest, 1.0)  # squares of tiny rows would underflow
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0))


def rank_of(unit_rows: Array, *, rows: int) -> int:
    """The rank of rows of unit length, at the tolerance of a window of ``rows`` rows.

    Windows that differ by one row share the tolerance. Their ranks then differ by at most one,
    because singular values interlace.
    """
    if unit_rows.shape[0] == 0:
        return 0
    singular = np.linalg.svd(unit_rows, compute_uv=False)
    tolerance = _EPS * max(rows, unit_rows.shape[1]) * math.sqrt(rows)
    return int(np.count_nonzero(singular > tolerance))
