"""Gram matrices in double-double arithmetic, eight columns at a time.

A matrix is kept as two lower triangles, one behind the other in a flat array: the sums, and what
they lack because of rounding. A row of a triangle is padded to a multiple of LANES numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from efface.engine.jit.compilation import carving, shared
from efface.engine.jit.simd import LANES, VECTOR, Emitter, compiled_by
from efface.engine.jit.views import Matrix, Vector
from efface.engine.linalg.double_double import two_product, two_sum


@carving
def padded_columns(columns: int) -> int:
    """The length of a row: a multiple of LANES."""
    return (columns + LANES - 1) // LANES * LANES


@carving
def row_start(i: int) -> int:
    """Where row i of a triangle begins; for i rows, the length of the triangle."""
    blocks = i // LANES
    return (blocks + 1) * (LANES * LANES * blocks // 2 + LANES * (i - LANES * blocks))


def _fused(v: Emitter, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    fused = cgutils.get_or_insert_function(v.builder.module, kind, f"llvm.fma.v{LANES}f64")
    return v.builder.call(fused, [a, b, c])


def _emit_added(v: Emitter, left: Any, right: Any, sums: list[Any], more: Any = None) -> None:
    """sums += left right, exactly; what the product lacks besides is ``more``."""
    builder = v.builder
    before, low = map(builder.load, sums)
    product = builder.fmul(left, right)
    error = _fused(v, left, right, builder.fneg(product))
    total = builder.fadd(before, product)  # two_sum
    added = builder.fsub(total, before)
    kept = builder.fsub(before, builder.fsub(total, added))
    lost = builder.fadd(builder.fadd(kept, builder.fsub(product, added)), error)
    builder.store(total, sums[0])
    lost = lost if more is None else builder.fadd(lost, more)
    builder.store(builder.fadd(low, lost), sums[1])


def _emit_stored(v: Emitter, sums: list[Any], places: tuple[Any, Any]) -> None:
    builder = v.builder
    high, low = map(builder.load, sums)
    total = builder.fadd(high, low)  # so that what a sum lacks stays small beside it
    values = total, builder.fsub(low, builder.fsub(total, high))
    for value, place in zip(values, places, strict=True):
        pointer = builder.bitcast(builder.gep(v.source, [place]), VECTOR.as_pointer())
        builder.store(value, pointer, align=8)


def _emit(
    v: Emitter, _: Any, at: Any, rest: Any, column: Any, row: Any, step: Any, count: Any
) -> None:
    builder, places = v.builder, (at, rest)
    sums = [cgutils.alloca_once_value(builder, v.load_eight(v.source, place)) for place in places]
    with cgutils.for_range(builder, count) as loop:
        start = builder.gep(v.numbers, [builder.mul(loop.index, step)])
        left = v.spread(builder.load(builder.gep(start, [row])))
        _emit_added(v, left, v.load_eight(start, column), sums)
    _emit_stored(v, sums, places)


@compiled_by(_emit)
def add_exact_products(
    rows: Matrix, out: Vector, at: int, rest: int, column: int, row: int, step: int, count: int
) -> None:
    """Products of column ``row`` with eight columns, from ``column`` on, of the first rows.

    They are added to the sums from the ``at``-th number of ``out`` on; what these lack lies from
    the ``rest``-th on. ``step`` is the length of a row.
    """
    flat = out.reshape(-1)
    high, low = flat[at : at + LANES], flat[rest : rest + LANES]
    for numbers in rows.reshape(-1)[: count * step].reshape(count, step):
        product, error = two_product(numbers[row], numbers[column : column + LANES])
        high[:], lost = two_sum(high.copy(), product)
        low += lost + error
    total = high + low
    low -= total - high
    high[:] = total


def _emit_precise(
    v: Emitter,
    at: Any,
    column: Any,
    lag: Any,
    step: Any,
    factor: Any,
    less: Any,
    apart: Any,
    count: Any,
) -> None:
    builder, places = v.builder, (at, v.builder.add(at, lag))
    sums = [cgutils.alloca_once_value(builder, v.load_eight(v.source, place)) for place in places]
    with cgutils.for_range(builder, count) as loop:
        start = builder.add(column, builder.mul(loop.index, step))
        pair = builder.mul(loop.index, apart)
        left, lack = (
            v.spread(builder.load(builder.gep(v.source, [builder.add(place, pair)])))
            for place in (factor, less)
        )
        right, low = v.load_eight(v.source, start), v.load_eight(v.source, builder.add(start, lag))
        _emit_added(v, left, right, sums, _fused(v, left, low, builder.fmul(lack, right)))
    _emit_stored(v, sums, places)


@compiled_by(_emit_precise)
def add_precise_products(
    f: Vector,
    at: int,
    column: int,
    lag: int,
    step: int,
    factor: int,
    less: int,
    apart: int,
    count: int,
) -> None:
    """Products of numbers with eight columns of as many rows, both in double-double precision.

    They are added to the numbers from ``at`` on. The columns of the first row begin at ``column``,
    rows are ``step`` apart, and what numbers lack lies ``lag`` behind them. The factors are
    ``apart`` from each other, from ``factor`` on, and what they lack from ``less`` on.
    """
    high, low = f[at : at + LANES], f[at + lag : at + lag + LANES]
    for k in range(count):
        start, left, lack = column + k * step, f[factor + k * apart], f[less + k * apart]
        right, rest = f[start : start + LANES], f[start + lag : start + lag + LANES]
        product, error = two_product(left, right)
        high[:], lost = two_sum(high.copy(), product)
        low += lost + error + (left * rest + lack * right)
    total = high + low
    low -= total - high
    high[:] = total


@shared()
def add_exact_gram(rows: Matrix, count: int, q: int, out: Vector) -> None:
    """out += the Gram matrix of the first ``count`` rows of q columns, as two triangles."""
    step, rest = rows.shape[1], row_start(q)
    for i in range(q):
        for j in range(0, i + 1, LANES):
            at = row_start(i) + j
            add_exact_products(rows, out, at, rest + at, j, i, step, count)


def unpacked(triangles: Vector, q: int) -> tuple[Matrix, Matrix]:
    """The lower triangle of the sums and of what they lack, as q x q matrices.

    >>> [part.shape for part in unpacked(np.zeros(2 * row_start(3)), 3)]
    [(3, 3), (3, 3)]
    """
    high, low = np.zeros((q, q)), np.zeros((q, q))
    for i in range(q):
        at = row_start(i)
        high[i, : i + 1] = triangles[at : at + i + 1]
        low[i, : i + 1] = triangles[row_start(q) + at : row_start(q) + at + i + 1]
    return high, low
