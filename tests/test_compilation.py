"""Functions for kernels and for Python, and what compiling leaves behind."""

import gc

import numba
import numpy as np

from efface.kernels.compilation import INNER, KERNEL, carving, shared


@shared()
def twice(values):
    """Each value, doubled in place."""
    for i in range(values.size):
        values[i] *= 2.0


@carving
def first_half(values):
    return values[: values.size // 2]


@numba.njit(**INNER)
def _thrice(value):
    return 3.0 * value


@numba.njit(**{**KERNEL, "cache": False})
def kernel(values):
    twice(values)
    return _thrice(values[0])


def test_a_shared_function_serves_kernels_and_python():
    values = np.ones(3)
    assert kernel(values) == 6.0
    twice(values)
    assert values.tolist() == [4.0, 4.0, 4.0]
    assert twice.__doc__ == "Each value, doubled in place."


def test_a_view_from_python_is_numpys_own():
    values = np.arange(4.0)
    assert np.shares_memory(first_half(values), values)


def test_compiling_leaves_the_collector_as_it_was():
    for collects in (True, False):
        (gc.enable if collects else gc.disable)()
        try:
            numba.njit(**{**KERNEL, "cache": False})(lambda value: value + 1.0)(1.0)
            assert gc.isenabled() is collects
        finally:
            gc.enable()
