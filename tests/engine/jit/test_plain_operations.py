"""max, min and squares in kernels: the values of Python, and no functions of Numba."""

from math import inf, nan

import numba
import numpy as np
import pytest

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.plain_operations import larger, smaller

compiled = numba.njit(**{**KERNEL, "cache": False})
NUMBERS = [(1, 2), (2, 1), (1.5, 2), (-0.0, 0.0), (0.0, -0.0), (inf, -inf), (nan, 1.0), (1.0, nan)]


def extremes(a, b):
    return max(a, b), min(a, b)


def of_three(a, b, c):
    return max(a, b, c), min(a, b, c), max(a, 1), min(2.5, b)


def powers(a):
    return a**2, a**3, (a + 1) ** 2


def bits(numbers):
    return [np.float64(number).tobytes() for number in numbers]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_extremes_are_those_of_python_to_the_last_bit(numbers):
    assert bits(compiled(extremes)(*numbers)) == bits(extremes(*numbers))
    assert bits([larger(*numbers), smaller(*numbers)]) == bits(extremes(*numbers))


def test_extremes_of_whole_numbers_are_whole_and_unsigned_numbers_stay_unsigned():
    assert [type(value) for value in compiled(extremes)(1, 2)] == [int, int]
    large = np.uint64(2**64 - 1)
    assert compiled(extremes)(large, np.uint64(1)) == (2**64 - 1, 1)


def test_extremes_of_three_numbers_and_of_mixed_types():
    assert compiled(of_three)(3.0, 1.0, 2.0) == of_three(3.0, 1.0, 2.0)


@pytest.mark.parametrize("number", [3, -2, 1.5, -0.1])
def test_powers_are_those_of_python(number):
    assert compiled(powers)(number) == pytest.approx(powers(number), rel=1e-15)
    assert compiled(powers)(number)[0] == number * number


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_no_function_of_numba_is_compiled_for_them():
    kernel = compiled(of_three)
    kernel(3.0, 1.0, 2.0)
    code = kernel.inspect_llvm(kernel.signatures[0])
    assert "ol_max" not in code
    assert "ol_min" not in code
