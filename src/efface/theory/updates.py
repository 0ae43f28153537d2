"""The incremental update of the inverse Gram matrix, App. F, as printed and corrected (E1).

The package does not use it: rounding accumulates, and what a departed row left in the inverse stays
there. Coefficients are a refit on the live rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from efface.theory.geometry import Array


def slide_inverse(
    inverse: ArrayLike, x_old: ArrayLike, x_new: ArrayLike, *, printed: bool = False
) -> Array:
    """The inverse Gram matrix after ``x_new`` has arrived and ``x_old`` has left.

    Gamma = A - A x x' A / (x' A x + 1),  f = Gamma - Gamma z z' Gamma / (z' Gamma z - 1)   (App. F)

    with A the inverse, x = x_new, z = x_old. The paper prints z' Gamma - 1 for the last divisor,
    which is a number only for one column; ``printed`` returns nan otherwise.

    Holds: as corrected, while both Gram matrices have full rank.

    >>> slide_inverse(np.diag([1.0, 0.5]), x_old=[0.0, 1.0], x_new=[1.0, 0.0])
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    A = np.asarray(inverse, dtype=np.float64)
    x, z = np.asarray(x_new, dtype=np.float64), np.asarray(x_old, dtype=np.float64)
    gamma = with_row(A, x)
    if not printed:
        return without_row(gamma, z)
    behind = gamma @ z
    divisor = behind[0] - 1 if len(z) == 1 else np.nan
    return np.asarray(gamma - np.outer(behind, behind) / divisor)


def with_row(inverse: Array, x: Array) -> Array:
    """Gamma, the inverse Gram matrix after x has arrived (App. F, Step 01), for any kind of number.

    >>> with_row(np.array([[1.0]]), np.array([1.0]))
    array([[0.5]])
    """
    ahead = inverse @ x
    return np.asarray(inverse - np.outer(ahead, ahead) / (x @ ahead + 1))


def without_row(gamma: Array, z: Array) -> Array:
    """The inverse Gram matrix after z has left (App. F, Step 02, corrected).

    >>> without_row(np.array([[0.5]]), np.array([1.0]))
    array([[1.]])
    """
    behind = gamma @ z
    return np.asarray(gamma - np.outer(behind, behind) / (z @ behind - 1))


def update_multiplications(d: int) -> int:
    """The multiplications and divisions of ``slide_inverse`` with d columns, whatever the window.

    Two products of a matrix and a vector, two inner products, two outer products and their
    division: 2 (3 d^2 + d). The paper says O(s^2 d); it is O(d^2) (E17).

    >>> update_multiplications(10)
    620
    """
    return 2 * (3 * d**2 + d)
