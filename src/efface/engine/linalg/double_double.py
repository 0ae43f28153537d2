"""Double-double arithmetic: a number is the sum of two float64, about 32 digits.

>>> plus(1.0, 0.0, 1e-20, 0.0)
(1.0, 1e-20)
"""

from __future__ import annotations

from efface.engine.jit.compilation import shared

_SPLITTER = 134217729.0  # 2^27 + 1 (Dekker): splits a float64 into two halves


@shared()
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@shared()
def two_product(a: float, b: float) -> tuple[float, float]:
    """a b and its rounding error (Dekker)."""
    product = a * b
    c, e = _SPLITTER * a, _SPLITTER * b
    a_high, b_high = c - (c - a), e - (e - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


@shared()
def plus(high: float, low: float, other: float, rest: float) -> tuple[float, float]:
    """(high + low) + (other + rest)."""
    total, lost = two_sum(high, other)
    return two_sum(total, lost + (low + rest))


@shared()
def times(high: float, low: float, other: float, rest: float) -> tuple[float, float]:
    """(high + low) (other + rest)."""
    product, error = two_product(high, other)
    return two_sum(product, error + (high * rest + low * other))


@shared()
def over(high: float, low: float, n: float) -> tuple[float, float]:
    """(high + low) / n."""
    quotient = high / n
    product, error = two_product(quotient, n)
    return two_sum(quotient, (((high - product) - error) + low) / n)
