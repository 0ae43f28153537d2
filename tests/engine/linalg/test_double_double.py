"""Double-double arithmetic, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from efface.engine.linalg.double_double import over, plus, times, two_product, two_sum

NUMBERS = np.random.default_rng(0).normal(size=(50, 2)) * 10.0 ** np.arange(-25, 25)[:, np.newaxis]


def exact(pair):
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


@pytest.mark.parametrize(("a", "b"), NUMBERS.tolist())
def test_sums_and_products_are_exact(a, b):
    assert exact(two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert exact(two_product(a, b)) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize(("a", "b"), NUMBERS.tolist())
def test_pairs_have_thirty_digits(a, b):
    one, other = (a, a * 1e-17), (b, -b * 1e-17)
    x, y = exact(one), exact(other)
    bound = Fraction(2) ** -100
    assert abs(exact(plus(*one, *other)) - (x + y)) <= bound * (abs(x) + abs(y))
    assert abs(exact(times(*one, *other)) - x * y) <= bound * abs(x * y)
    assert abs(exact(over(*one, 7.0)) - x / 7) <= bound * abs(x)
