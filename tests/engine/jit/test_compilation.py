"""Functions that kernels and Python both call, and side effects of compiling."""

import gc

import numba
import numpy as np

from efface.engine.jit.compilation import APART, INNER, KERNEL, carving, shared


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


def test_a_shared_function_can_be_called_by_kernels_and_by_python():
    values = np.ones(3)
    assert kernel(values) == 6.0
    twice(values)
    assert values.tolist() == [4.0, 4.0, 4.0]
    assert twice.__doc__ == "Each value, doubled in place."


def test_a_layout_function_returns_numpy_views_in_python():
    values = np.arange(4.0)
    assert np.shares_memory(first_half(values), values)


def test_compiling_restores_garbage_collection():
    for collects in (True, False):
        (gc.enable if collects else gc.disable)()
        try:
            numba.njit(**{**KERNEL, "cache": False})(lambda value: value + 1.0)(1.0)
            assert gc.isenabled() is collects
        finally:
            gc.enable()


def mixed(value, count):
    """The same operators on several types of numbers."""
    return value * count + count / 2, count // 2 + count * count, value < count, count == count


def test_operators_have_the_types_of_python():
    compiled = numba.njit(**{**KERNEL, "cache": False})(mixed)
    for numbers in ((1.5, 3), (2, 3), (True, 3), (1.5, 2.5), (2, 2.5)):
        given, expected = compiled(*numbers), mixed(*numbers)
        assert given == expected
        assert [type(answer) for answer in given] == [type(answer) for answer in expected]


def scaled_sum(a, b, out):
    for i in range(out.size):
        out[i] = 2.0 * a[i] + b[i]


def test_loops_over_arrays_that_are_apart_have_no_checks_for_overlap():
    """LLVM's name of the check is ``vector.memcheck``."""
    checks = {}
    for name, options in (("inner", INNER), ("apart", APART)):
        inner = numba.njit(**options)(scaled_sum)

        @numba.njit(**{**KERNEL, "cache": False})
        def outer(a, b, out, inner=inner):
            inner(a, b, out)

        a, b, out = np.arange(9.0), np.ones(9), np.zeros(9)
        outer(a, b, out)
        assert out.tolist() == (2.0 * a + b).tolist()
        if not numba.config.DISABLE_JIT:
            (code,) = outer.inspect_llvm().values()
            checks[name] = "memcheck" in code
    assert numba.config.DISABLE_JIT or checks == {"inner": True, "apart": False}
