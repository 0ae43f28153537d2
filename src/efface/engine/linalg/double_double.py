"""Double-double arithmetic: a number is the sum of two float64, about 32 digits.

>>> plus(1.0, 0.0, 1e-20, 0.0)
(1.0, 1e-20)
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types

from efface.engine.jit.compilation import shared
from efface.engine.jit.views import make_intrinsic

_SPLITTER = 134217729.0  # 2^27 + 1 (Dekker): splits a float64 into two halves


def _product_error(a: float, b: float, product: float) -> float:
    """a b - product, exactly; in compiled code one instruction (Dekker)."""
    c, e = _SPLITTER * a, _SPLITTER * b
    a_high, b_high = c - (c - a), e - (e - b)
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _emit_fused(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    number = ir.DoubleType()
    kind = ir.FunctionType(number, [number] * 3)
    fused = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.f64")
    return builder.call(fused, [args[0], args[1], builder.fneg(args[2])])


if not numba.config.DISABLE_JIT:
    _product_error = make_intrinsic(
        lambda *_: (types.float64(*[types.float64] * 3), _emit_fused), ("a", "b", "product")
    )


@shared()
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@shared()
def two_product(a: float, b: float) -> tuple[float, float]:
    """a b and its rounding error."""
    product = a * b
    return product, _product_error(a, b, product)


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
