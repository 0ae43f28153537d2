"""SIMD operations on eight small systems at once, one lane of a vector register per system.

All numbers of the systems are in one array f (entries, LANES); an *entry* is one number of each
system. The compiler cannot know that two entries do not overlap, so it would not use whole vector
registers by itself: each operation below is written twice, as the Python body that says what it
does (and that runs with NUMBA_DISABLE_JIT=1) and as the LLVM code that an ``_emit`` function makes.
A tile is TILE x TILE entries of a matrix whose rows begin ``step`` entries apart.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from efface.engine.jit.views import Matrix, Vector, ViewFields, make_intrinsic

LANES, TILE = 8, 4
BLOCKS = 4  # vectors of LANES columns that are computed side by side
_FLAGS = ("reassoc", "contract", "nsz", "arcp")
VECTOR = ir.VectorType(ir.DoubleType(), LANES)


class Emitter:
    """Makes the LLVM code for loads, stores and arithmetic of whole entries."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        arrays = [
            ViewFields(context, builder, kind, arg).data
            for kind, arg in zip(signature.args, args, strict=True)
            if not isinstance(kind, types.Number)
        ]
        self.builder, self.base = builder, builder.bitcast(arrays[0], VECTOR.as_pointer())
        self.numbers, self.source = arrays[0], arrays[-1]

    def load(self, at: Any) -> Any:
        return self.builder.load(self.builder.gep(self.base, [at]), align=8)

    def load_eight(self, array: Any, at: Any) -> Any:
        pointer = self.builder.bitcast(self.builder.gep(array, [at]), VECTOR.as_pointer())
        return self.builder.load(pointer, align=8)

    def store(self, value: Any, at: Any) -> None:
        self.builder.store(value, self.builder.gep(self.base, [at]), align=8)

    def after(self, at: Any, count: int, step: Any) -> Any:
        return self.builder.add(at, self.builder.mul(step, ir.Constant(at.type, count)))

    def spread(self, number: Any) -> Any:
        empty = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
        first = self.builder.insert_element(empty, number, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, empty, zeros)

    def lanes_up_to(self, last: Any) -> Any:
        lane = ir.Constant(ir.VectorType(last.type, LANES), list(range(LANES)))
        return self.builder.icmp_signed("<=", lane, self.spread(last))

    def inverse_root(self, value: Any) -> Any:
        one, kind = ir.Constant(VECTOR, [1.0] * LANES), ir.FunctionType(VECTOR, [VECTOR])
        root = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return self.builder.fdiv(one, self.builder.call(root, [value]))

    def add_product(self, c: Any, a: Any, b: Any) -> Any:
        return self.builder.fadd(c, self.builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)

    def subtract_product(self, c: Any, a: Any, b: Any) -> Any:
        return self.builder.fsub(c, self.builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)

    def tile(self, at: Any, step: Any, lower: bool = False) -> list[list[Any]]:
        """A tile in registers, or its lower triangle."""
        return [
            [
                self.load(self.after(self.after(at, i, step), j, at.type(1)))
                for j in range(i + 1 if lower else TILE)
            ]
            for i in range(TILE)
        ]

    def set_tile(self, at: Any, step: Any, tile: list[list[Any]]) -> None:
        for i, row in enumerate(tile):
            for j, value in enumerate(row):
                self.store(value, self.after(self.after(at, i, step), j, at.type(1)))


_KINDS = {"int": types.intp, "float": types.float64}  # arrays are passed as they are


def compiled_by(emit: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """In compiled code, the decorated operation is what ``emit`` makes; its body is for Python."""

    def decorate(operation: Callable[..., None]) -> Callable[..., None]:
        if numba.config.DISABLE_JIT:
            return operation
        parameters = inspect.signature(operation).parameters

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emit(Emitter(context, builder, signature, args), *args[1:])
            return context.get_dummy_value()

        def typing(*given: Any) -> Any:
            annotated = zip(parameters.values(), given, strict=True)
            return types.void(*(_KINDS.get(p.annotation, kind) for p, kind in annotated)), codegen

        return make_intrinsic(typing, parameters)

    return decorate


def _emit_tile_products(combine: Callable[..., Any]) -> Callable[..., None]:
    def emit(
        v: Emitter, out: Any, start: Any, step: Any, a: Any, b: Any, apart: Any, count: Any
    ) -> None:
        builder, tile = v.builder, range(TILE)
        values = [value for row in v.tile(start, step) for value in row]
        sums = [cgutils.alloca_once_value(builder, value) for value in values]
        left, right = ([v.after(at, i, apart) for i in tile] for at in (a, b))
        with cgutils.for_range(builder, count) as loop:
            columns = [v.load(builder.add(at, loop.index)) for at in right]
            for i in tile:
                value = v.load(builder.add(left[i], loop.index))
                for total, column in zip(sums[i * TILE :], columns, strict=False):
                    builder.store(combine(v, builder.load(total), value, column), total)
        found = [builder.load(total) for total in sums]
        v.set_tile(out, step, [found[i * TILE : i * TILE + TILE] for i in tile])

    return emit


@compiled_by(_emit_tile_products(Emitter.add_product))
def add_tile_products(
    f: Matrix, out: int, start: int, step: int, a: int, b: int, apart: int, count: int
) -> None:
    """The tile at ``out`` = that at ``start`` + the products of TILE rows a with TILE rows b.

    A row has ``count`` entries and begins ``apart`` entries after the one before.
    """
    for i, j in np.ndindex(TILE, TILE):
        left, right = a + i * apart, b + j * apart
        total = (f[left : left + count] * f[right : right + count]).sum(axis=0)
        f[out + i * step + j] = f[start + i * step + j] + total


@compiled_by(_emit_tile_products(Emitter.subtract_product))
def subtract_tile_products(
    f: Matrix, out: int, start: int, step: int, a: int, b: int, apart: int, count: int
) -> None:
    """``add_tile_products`` with a minus."""
    for i, j in np.ndindex(TILE, TILE):
        left, right = a + i * apart, b + j * apart
        total = (f[left : left + count] * f[right : right + count]).sum(axis=0)
        f[out + i * step + j] = f[start + i * step + j] - total


def _emit_dot(v: Emitter, out: Any, a: Any, b: Any, count: Any) -> None:
    builder, total = v.builder, cgutils.alloca_once_value(v.builder, v.load(out))
    with cgutils.for_range(builder, count) as loop:
        left, right = (v.load(builder.add(at, loop.index)) for at in (a, b))
        builder.store(v.add_product(builder.load(total), left, right), total)
    v.store(builder.load(total), out)


@compiled_by(_emit_dot)
def add_dot(f: Matrix, out: int, a: int, b: int, count: int) -> None:
    """Add the inner product of ``count`` entries from a and from b on."""
    f[out] += (f[a : a + count] * f[b : b + count]).sum(axis=0)


@compiled_by(lambda v, out, a, b: v.store(v.subtract_product(*map(v.load, (out, a, b))), out))
def subtract_product(f: Matrix, out: int, a: int, b: int) -> None:
    f[out] -= f[a] * f[b]


@compiled_by(
    lambda v, out, number, a: v.store(
        v.subtract_product(v.load(out), v.spread(number), v.load(a)), out
    )
)
def subtract_scaled(f: Matrix, out: int, number: float, a: int) -> None:
    f[out] -= number * f[a]


@compiled_by(lambda v, out, a, b: v.store(v.builder.fadd(v.load(a), v.load(b), flags=_FLAGS), out))
def set_sum(f: Matrix, out: int, a: int, b: int) -> None:
    f[out] = f[a] + f[b]


@compiled_by(lambda v, out, a, b: v.store(v.builder.fsub(v.load(a), v.load(b), flags=_FLAGS), out))
def set_difference(f: Matrix, out: int, a: int, b: int) -> None:
    f[out] = f[a] - f[b]


@compiled_by(lambda v, out, a: v.store(v.builder.fmul(v.load(out), v.load(a), flags=_FLAGS), out))
def multiply_by(f: Matrix, out: int, a: int) -> None:
    f[out] *= f[a]


def _emit_inverse(v: Emitter, out: Any, a: Any) -> None:
    one = ir.Constant(VECTOR, [1.0] * LANES)
    v.store(v.builder.fdiv(one, v.load(a), flags=_FLAGS), out)


@compiled_by(_emit_inverse)
def set_inverse(f: Matrix, out: int, a: int) -> None:
    f[out] = 1.0 / f[a]


@compiled_by(lambda v, out, a: v.store(v.inverse_root(v.load(a)), out))
def set_inverse_root(f: Matrix, out: int, a: int) -> None:
    f[out] = 1.0 / np.sqrt(f[a])


def _emit_extreme(sign: str) -> Callable[..., None]:
    def emit(v: Emitter, out: Any, a: Any) -> None:
        before, value = v.load(out), v.load(a)
        further = v.builder.fcmp_ordered(sign, value, before)
        v.store(v.builder.select(further, value, before), out)

    return emit


@compiled_by(_emit_extreme(">"))
def take_higher(f: Matrix, out: int, a: int) -> None:
    f[out] = np.where(f[a] > f[out], f[a], f[out])


@compiled_by(_emit_extreme("<"))
def take_lower(f: Matrix, out: int, a: int) -> None:
    f[out] = np.where(f[a] < f[out], f[a], f[out])


@compiled_by(lambda v, at, number: v.store(v.spread(number), at))
def set_all(f: Matrix, at: int, number: float) -> None:
    """The same number in every lane."""
    f[at] = number


def _emit_split(v: Emitter, at: Any, before: Any, after: Any, last: Any) -> None:
    v.store(v.builder.select(v.lanes_up_to(last), v.spread(before), v.spread(after)), at)


@compiled_by(_emit_split)
def set_split(f: Matrix, at: int, before: float, after: float, last: int) -> None:
    """One number in the lanes up to ``last``, another in those after."""
    f[at] = np.where(np.arange(LANES) <= last, before, after)


@compiled_by(lambda v, at, _, place: v.store(v.load_eight(v.source, place), at))
def set_from(f: Matrix, at: int, source: Vector, place: int) -> None:
    """Eight consecutive numbers of a contiguous array."""
    f[at] = source.reshape(-1)[place : place + LANES]


def _emit_gram(v: Emitter, _: Any, at: Any, column: Any, row: Any, step: Any, count: Any) -> None:
    builder, flag, align = v.builder, ir.VectorType(ir.IntType(1), LANES), ir.IntType(32)
    place = builder.bitcast(builder.gep(v.source, [at]), VECTOR.as_pointer())
    below = v.lanes_up_to(builder.sub(row, column))
    load, store = (
        cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.{name}.v{LANES}f64.p0")
        for name, kind in (
            ("load", ir.FunctionType(VECTOR, [place.type, align, flag, VECTOR])),
            ("store", ir.FunctionType(ir.VoidType(), [VECTOR, place.type, align, flag])),
        )
    )
    none = ir.Constant(VECTOR, [0.0] * LANES)
    before = builder.call(load, [place, align(8), below, none])
    totals = [cgutils.alloca_once_value(builder, each) for each in (before, none, none, none)]

    def add_row(total: Any, index: Any) -> None:
        start = builder.gep(v.numbers, [builder.mul(index, step)])
        left = v.spread(builder.load(builder.gep(start, [row])))
        right = v.load_eight(start, column)
        builder.store(v.add_product(builder.load(total), left, right), total)

    # Four sums side by side: a product does not wait for the one before it.
    fours = builder.and_(count, count.type(-4))
    with cgutils.for_range_slice(builder, count.type(0), fours, count.type(4)) as (index, _):
        for k, total in enumerate(totals):
            add_row(total, builder.add(index, index.type(k)))
    with cgutils.for_range_slice(builder, fours, count, count.type(1)) as (index, _):
        add_row(totals[0], index)
    first, second, third, fourth = (builder.load(total) for total in totals)
    pairs = (builder.fadd(first, second, flags=_FLAGS), builder.fadd(third, fourth, flags=_FLAGS))
    builder.call(store, [builder.fadd(*pairs, flags=_FLAGS), place, align(8), below])


@compiled_by(_emit_gram)
def add_products(
    rows: Matrix, out: Matrix, at: int, column: int, row: int, step: int, count: int
) -> None:
    """Part of a Gram matrix's lower triangle, added to ``out`` from its ``at``-th number on.

    The products of column ``row`` of the first ``count`` rows with up to eight columns from
    ``column`` to ``row``. ``step`` is the number of columns. Here a lane is a column, not a system.
    """
    last = min(column + LANES, row + 1)
    out.reshape(-1)[at : at + last - column] += rows[:count, row] @ rows[:count, column:last]


def _emit_column_forms(v: Emitter, _: Any, at: Any, step: Any, count: Any) -> None:
    builder, one = v.builder, at.type(1)
    zero = ir.Constant(VECTOR, [0.0] * LANES)
    forms, linear, *sums = (
        [cgutils.alloca_once_value(builder, zero) for _ in range(BLOCKS)] for _ in range(4)
    )
    starts = [builder.add(at, at.type(LANES * i)) for i in range(BLOCKS)]

    def eight(row: Any, i: int) -> Any:
        return v.load_eight(v.numbers, builder.add(builder.mul(row, step), starts[i]))

    def weight(row: Any, column: Any) -> Any:
        place = builder.add(builder.mul(row, count), column)
        return v.spread(builder.load(builder.gep(v.source, [place])))

    def add(sum_of: Any, factor: Any, value: Any) -> None:
        builder.store(v.add_product(builder.load(sum_of), factor, value), sum_of)

    def take_rows(rows: list[Any]) -> None:
        """Add what rows of W contribute; two rows share the loads of a column."""
        for row, each in zip(rows, sums, strict=False):
            start = weight(builder.add(count, one), row)
            for place in each:
                builder.store(start, place)
        with cgutils.for_range(builder, rows[0]) as inner:
            weights = [weight(row, inner.index) for row in rows]
            for i in range(BLOCKS):
                column = eight(inner.index, i)
                for k, factor in enumerate(weights):
                    add(sums[k][i], factor, column)
        for column in rows:
            slope = weight(count, column)
            weights = [weight(row, column) for row in rows]  # 0 above the diagonal
            for i in range(BLOCKS):
                own = eight(column, i)
                add(linear[i], slope, own)
                for k, factor in enumerate(weights):
                    add(sums[k][i], factor, own)
        for k in range(len(rows)):
            for i in range(BLOCKS):
                add(forms[i], builder.load(sums[k][i]), builder.load(sums[k][i]))

    with cgutils.for_range(builder, builder.lshr(count, one)) as pairs:
        first = builder.shl(pairs.index, one)
        take_rows([first, builder.add(first, one)])
    with builder.if_then(builder.trunc(count, ir.IntType(1))):
        take_rows([builder.sub(count, one)])
    for k, each in enumerate((forms, linear)):
        first = builder.mul(v.after(count, k, one), step)
        for i in range(BLOCKS):
            place = builder.gep(v.numbers, [builder.add(first, starts[i])])
            pointer = builder.bitcast(place, VECTOR.as_pointer())
            builder.store(builder.load(each[i]), pointer, align=8)


@compiled_by(_emit_column_forms)
def column_forms(rows: Matrix, a: Matrix, at: int, step: int, count: int) -> None:
    """Rows ``count`` and ``count`` + 1 of ``rows`` <- |Wu + c|^2 and b'u.

    u is the first ``count`` numbers of a column. For BLOCKS * LANES columns from ``at`` on;
    ``step`` is the number of columns. ``a`` (count + 2, count) has W, a lower triangle with zeros
    above it, then b and c. Here a lane is a column of ``rows``.
    """
    columns = slice(at, at + BLOCKS * LANES)
    u = rows[:count, columns]
    rows[count, columns] = ((a[:count] @ u + a[count + 1, :, None]) ** 2).sum(axis=0)
    rows[count + 1, columns] = a[count] @ u


def _emit_factor(v: Emitter, at: Any, step: Any, weights: Any, margin: Any) -> None:
    tile, lowest = v.tile(at, step, lower=True), v.load(margin)
    for i, row in enumerate(tile):
        for j in range(i):
            for k in range(j):
                row[j] = v.subtract_product(row[j], row[k], tile[j][k])
            row[j] = v.builder.fmul(row[j], tile[j][j], flags=_FLAGS)
            row[i] = v.subtract_product(row[i], row[j], row[j])
        weight = v.load(v.after(weights, i, at.type(1)))
        row[i], lowest = _checked_pivot(v, row[i], weight, lowest)
    v.set_tile(at, step, tile)
    v.store(lowest, margin)


def _checked_pivot(v: Emitter, pivot: Any, weight: Any, lowest: Any) -> tuple[Any, Any]:
    """The inverse root of a pivot, or 0; the lower of ``lowest`` and pivot * weight, 0 for NaN."""
    builder = v.builder
    zero, one = (ir.Constant(VECTOR, [number] * LANES) for number in (0.0, 1.0))
    ratio = builder.fmul(pivot, weight)
    good = builder.fcmp_ordered(">", ratio, zero)
    ratio = builder.select(good, ratio, zero)
    lower = builder.fcmp_ordered("<", ratio, lowest)
    inverse = v.inverse_root(builder.select(good, pivot, one))
    return builder.select(good, inverse, zero), builder.select(lower, ratio, lowest)


@compiled_by(_emit_factor)
def factorise_tile(f: Matrix, at: int, step: int, weights: int, margin: int) -> None:
    """The Cholesky factor of a tile, in place, with the inverse of its diagonal.

    The entry ``margin`` becomes the smallest pivot * weight so far, 0 where a pivot is not
    positive.
    """
    for i in range(TILE):
        row = at + i * step
        for j in range(i):
            f[row + j] -= (f[row : row + j] * f[at + j * step : at + j * step + j]).sum(axis=0)
            f[row + j] *= f[at + j * step + j]
        f[row + i] -= (f[row : row + i] ** 2).sum(axis=0)
        with np.errstate(invalid="ignore"):
            ratio = f[row + i] * f[weights + i]
        good = ratio > 0.0
        f[margin] = np.minimum(f[margin], np.where(good, ratio, 0.0))
        f[row + i] = np.where(good, 1.0 / np.sqrt(np.where(good, f[row + i], 1.0)), 0.0)


def _emit_divide(v: Emitter, at: Any, factor: Any, step: Any) -> None:
    tile, triangle = v.tile(at, step), v.tile(factor, step, lower=True)
    for j, divisor in enumerate(triangle):
        for row in tile:
            for k in range(j):
                row[j] = v.subtract_product(row[j], row[k], divisor[k])
            row[j] = v.builder.fmul(row[j], divisor[j], flags=_FLAGS)
    v.set_tile(at, step, tile)


@compiled_by(_emit_divide)
def divide_tile(f: Matrix, at: int, factor: int, step: int) -> None:
    """A tile times L^-T, for the L of ``factorise_tile`` at ``factor``."""
    for i, j in np.ndindex(TILE, TILE):
        row, divisor = at + i * step, factor + j * step
        f[row + j] -= (f[row : row + j] * f[divisor : divisor + j]).sum(axis=0)
        f[row + j] *= f[divisor + j]


def aligned(size: int) -> Vector:
    """Zeros that begin at a cache line, where entries are read fastest."""
    store = np.zeros(size + LANES)
    ahead = -(store.ctypes.data // 8) % LANES
    return store[ahead : ahead + size]
