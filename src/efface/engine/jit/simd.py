"""Eight small systems side by side: one lane of a vector register each.

All that a set of systems needs is in one array (entries, LANES). A compiler cannot know that two of
its entries do not overlap, so it would not use whole registers; the few operations below say it.
The matrix of m rows (m a multiple of TILE) is followed by TILE rows of right-hand sides, each row
``step`` entries after the one before. It is factorised a tile of TILE by TILE entries at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.views import Matrix, Opened, Vector

LANES, TILE = 8, 4
_FLAGS = ("reassoc", "contract", "nsz", "arcp")
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


class _Emitter:
    """Loads and stores whole entries of the array; arithmetic between them."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        arrays = [
            Opened(context, builder, kind, arg).data
            for kind, arg in zip(signature.args, args, strict=True)
            if not isinstance(kind, types.Number)
        ]
        self.builder, self.base = builder, builder.bitcast(arrays[0], _VECTOR.as_pointer())
        self.numbers, self.source = arrays[0], arrays[-1]

    def load(self, at: Any) -> Any:
        return self.builder.load(self.builder.gep(self.base, [at]), align=8)

    def load_from_source(self, at: Any) -> Any:
        pointer = self.builder.bitcast(self.builder.gep(self.source, [at]), _VECTOR.as_pointer())
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

    def add_product(self, c: Any, a: Any, b: Any) -> Any:
        return self.builder.fadd(c, self.builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)

    def subtract_product(self, c: Any, a: Any, b: Any) -> Any:
        return self.builder.fsub(c, self.builder.fmul(a, b, flags=_FLAGS), flags=_FLAGS)


def _operation(spec: str, emit: Callable[..., None]) -> Callable[..., None]:
    """An operation on the array and integers (i), numbers (d) or one more array (a)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit(_Emitter(context, builder, signature, args), *args[1:])
        return context.get_dummy_value()

    def typing(*given: Any) -> Any:
        kinds = {"i": types.intp, "d": types.float64}
        rest = [kinds.get(kind, arg) for kind, arg in zip(spec, given[1:], strict=True)]
        return types.void(given[0], *rest), codegen

    names = ", ".join(f"a{i}" for i in range(len(spec) + 1))
    namespace: dict[str, Any] = {"typing": typing}
    exec(f"def operation(typingctx, {names}): return typing({names})", namespace)
    return intrinsic(namespace["operation"])


def _emit_tile(
    v: _Emitter,
    out: Any,
    start: Any,
    step: Any,
    a: Any,
    b: Any,
    count: Any,
    own_a: Any,
    own_b: Any,
    owned: Any,
) -> None:
    builder, tile = v.builder, range(TILE)
    outs, starts = (
        [[v.after(v.after(at, i, step), j, at.type(1)) for j in tile] for i in tile]
        for at in (out, start)
    )
    sums = [[cgutils.alloca_once_value(builder, v.load(at)) for at in row] for row in starts]

    def loop(combine: Any, a: Any, b: Any, step: Any, count: Any) -> None:
        left, right = ([v.after(at, i, step) for i in tile] for at in (a, b))
        with cgutils.for_range(builder, count) as loop:
            column = [v.load(builder.add(at, loop.index)) for at in right]
            for i in tile:
                value = v.load(builder.add(left[i], loop.index))
                for j in tile:
                    builder.store(combine(builder.load(sums[i][j]), value, column[j]), sums[i][j])

    loop(v.add_product, own_a, own_b, owned, owned)
    loop(v.subtract_product, a, b, step, count)
    for i in tile:
        for j in tile:
            v.store(builder.load(sums[i][j]), outs[i][j])


def _emit_dot(v: _Emitter, out: Any, a: Any, b: Any, count: Any) -> None:
    builder, total = v.builder, cgutils.alloca_once_value(v.builder, v.load(out))
    with cgutils.for_range(builder, count) as loop:
        left, right = (v.load(builder.add(at, loop.index)) for at in (a, b))
        builder.store(v.add_product(builder.load(total), left, right), total)
    v.store(builder.load(total), out)


def _emit_subtract(v: _Emitter, out: Any, a: Any, b: Any) -> None:
    v.store(v.subtract_product(v.load(out), v.load(a), v.load(b)), out)


def _emit_subtract_scaled(v: _Emitter, out: Any, number: Any, a: Any) -> None:
    v.store(v.subtract_product(v.load(out), v.spread(number), v.load(a)), out)


def _emit_sum(v: _Emitter, out: Any, a: Any, b: Any) -> None:
    v.store(v.builder.fadd(v.load(a), v.load(b), flags=_FLAGS), out)


def _emit_difference(v: _Emitter, out: Any, a: Any, b: Any) -> None:
    v.store(v.builder.fsub(v.load(a), v.load(b), flags=_FLAGS), out)


def _emit_extreme(sign: str) -> Callable[..., None]:
    def emit(v: _Emitter, out: Any, a: Any) -> None:
        before, value = v.load(out), v.load(a)
        further = v.builder.fcmp_ordered(sign, value, before)
        v.store(v.builder.select(further, value, before), out)

    return emit


def _emit_multiply(v: _Emitter, out: Any, a: Any) -> None:
    v.store(v.builder.fmul(v.load(out), v.load(a), flags=_FLAGS), out)


def _emit_invert(v: _Emitter, out: Any, a: Any) -> None:
    one = ir.Constant(_VECTOR, [1.0] * LANES)
    v.store(v.builder.fdiv(one, v.load(a), flags=_FLAGS), out)


def _emit_set(v: _Emitter, at: Any, number: Any) -> None:
    v.store(v.spread(number), at)


def _emit_split(v: _Emitter, at: Any, before: Any, after: Any, last: Any) -> None:
    lane = ir.Constant(ir.VectorType(last.type, LANES), list(range(LANES)))
    early = v.builder.icmp_signed("<=", lane, v.spread(last))
    v.store(v.builder.select(early, v.spread(before), v.spread(after)), at)


def _emit_read(v: _Emitter, at: Any, _: Any, place: Any) -> None:
    v.store(v.load_from_source(place), at)


def _emit_gram(v: _Emitter, _: Any, at: Any, column: Any, row: Any, step: Any, count: Any) -> None:
    builder, flag = v.builder, ir.VectorType(ir.IntType(1), LANES)
    place = builder.bitcast(builder.gep(v.source, [at]), _VECTOR.as_pointer())
    align = ir.IntType(32)
    lane = ir.Constant(ir.VectorType(at.type, LANES), list(range(LANES)))
    below = builder.icmp_signed("<=", lane, v.spread(builder.sub(row, column)))
    load, store = (
        cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.{name}.v{LANES}f64.p0")
        for name, kind in (
            ("load", ir.FunctionType(_VECTOR, [place.type, align, flag, _VECTOR])),
            ("store", ir.FunctionType(ir.VoidType(), [_VECTOR, place.type, align, flag])),
        )
    )
    none = ir.Constant(_VECTOR, [0.0] * LANES)
    total = cgutils.alloca_once_value(builder, builder.call(load, [place, align(8), below, none]))
    with cgutils.for_range(builder, count) as loop:
        start = builder.gep(v.numbers, [builder.mul(loop.index, step)])
        left = v.spread(builder.load(builder.gep(start, [row])))
        pointer = builder.bitcast(builder.gep(start, [column]), _VECTOR.as_pointer())
        right = builder.load(pointer, align=8)
        builder.store(v.add_product(builder.load(total), left, right), total)
    builder.call(store, [builder.load(total), place, align(8), below])


def _emit_factor(v: _Emitter, at: Any, step: Any, weights: Any, margin: Any) -> None:
    tile, lowest = _tile(v, at, step, lower=True), v.load(margin)
    for i, row in enumerate(tile):
        for j in range(i):
            for k in range(j):
                row[j] = v.subtract_product(row[j], row[k], tile[j][k])
            row[j] = v.builder.fmul(row[j], tile[j][j], flags=_FLAGS)
            row[i] = v.subtract_product(row[i], row[j], row[j])
        weight = v.load(v.after(weights, i, at.type(1)))
        row[i], lowest = _inverse_root(v, row[i], weight, lowest)
    _set_tile(v, at, step, tile)
    v.store(lowest, margin)


def _inverse_root(v: _Emitter, pivot: Any, weight: Any, lowest: Any) -> tuple[Any, Any]:
    """The inverse root of a pivot, or 0; the lowest margin takes in pivot * weight, 0 for NaN."""
    builder, kind = v.builder, ir.FunctionType(_VECTOR, [_VECTOR])
    zero, one = (ir.Constant(_VECTOR, [number] * LANES) for number in (0.0, 1.0))
    root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
    ratio = builder.fmul(pivot, weight)
    good = builder.fcmp_ordered(">", ratio, zero)
    ratio = builder.select(good, ratio, zero)
    lower = builder.fcmp_ordered("<", ratio, lowest)
    inverse = builder.fdiv(one, builder.call(root, [builder.select(good, pivot, one)]))
    return builder.select(good, inverse, zero), builder.select(lower, ratio, lowest)


def _emit_divide(v: _Emitter, at: Any, factor: Any, step: Any) -> None:
    tile, triangle = _tile(v, at, step), _tile(v, factor, step, lower=True)
    for j, divisor in enumerate(triangle):
        for row in tile:
            for k in range(j):
                row[j] = v.subtract_product(row[j], row[k], divisor[k])
            row[j] = v.builder.fmul(row[j], divisor[j], flags=_FLAGS)
    _set_tile(v, at, step, tile)


def _tile(v: _Emitter, at: Any, step: Any, lower: bool = False) -> list[list[Any]]:
    """A tile in registers, or its lower triangle."""
    return [
        [
            v.load(v.after(v.after(at, i, step), j, at.type(1)))
            for j in range(i + 1 if lower else TILE)
        ]
        for i in range(TILE)
    ]


def _set_tile(v: _Emitter, at: Any, step: Any, tile: list[list[Any]]) -> None:
    for i, row in enumerate(tile):
        for j, value in enumerate(row):
            v.store(value, v.after(v.after(at, i, step), j, at.type(1)))


class _Interpreted:
    """The same operations for NUMBA_DISABLE_JIT=1."""

    @staticmethod
    def tile(
        f: Matrix,
        out: int,
        start: int,
        step: int,
        a: int,
        b: int,
        count: int,
        own_a: int,
        own_b: int,
        own: int,
    ) -> None:
        for i, j in np.ndindex(TILE, TILE):
            left, right = own_a + i * own, own_b + j * own
            total = (f[left : left + own] * f[right : right + own]).sum(axis=0)
            left, right = a + i * step, b + j * step
            total -= (f[left : left + count] * f[right : right + count]).sum(axis=0)
            f[out + i * step + j] = f[start + i * step + j] + total

    @staticmethod
    def dot(f: Matrix, out: int, a: int, b: int, count: int) -> None:
        f[out] += (f[a : a + count] * f[b : b + count]).sum(axis=0)

    @staticmethod
    def subtract(f: Matrix, out: int, a: int, b: int) -> None:
        f[out] -= f[a] * f[b]

    @staticmethod
    def subtract_scaled(f: Matrix, out: int, number: float, a: int) -> None:
        f[out] -= number * f[a]

    @staticmethod
    def sum(f: Matrix, out: int, a: int, b: int) -> None:
        f[out] = f[a] + f[b]

    @staticmethod
    def difference(f: Matrix, out: int, a: int, b: int) -> None:
        f[out] = f[a] - f[b]

    @staticmethod
    def higher(f: Matrix, out: int, a: int) -> None:
        f[out] = np.where(f[a] > f[out], f[a], f[out])

    @staticmethod
    def lower(f: Matrix, out: int, a: int) -> None:
        f[out] = np.where(f[a] < f[out], f[a], f[out])

    @staticmethod
    def multiply(f: Matrix, out: int, a: int) -> None:
        f[out] *= f[a]

    @staticmethod
    def invert(f: Matrix, out: int, a: int) -> None:
        f[out] = 1.0 / f[a]

    @staticmethod
    def set(f: Matrix, at: int, number: float) -> None:
        f[at] = number

    @staticmethod
    def split(f: Matrix, at: int, before: float, after: float, last: int) -> None:
        f[at] = np.where(np.arange(LANES) <= last, before, after)

    @staticmethod
    def read(f: Matrix, at: int, source: Vector, place: int) -> None:
        f[at] = source.reshape(-1)[place : place + LANES]

    @staticmethod
    def gram(f: Matrix, out: Matrix, at: int, column: int, row: int, step: int, count: int) -> None:
        last = min(column + LANES, row + 1)
        out.reshape(-1)[at : at + last - column] += f[:count, row] @ f[:count, column:last]

    @staticmethod
    def factor(f: Matrix, at: int, step: int, weights: int, margin: int) -> None:
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

    @staticmethod
    def divide(f: Matrix, at: int, factor: int, step: int) -> None:
        for i, j in np.ndindex(TILE, TILE):
            row, divisor = at + i * step, factor + j * step
            f[row + j] -= (f[row : row + j] * f[divisor : divisor + j]).sum(axis=0)
            f[row + j] *= f[divisor + j]


_JIT = not numba.config.DISABLE_JIT
# The tile at ``out`` becomes that at ``start`` with the products of TILE rows with TILE rows: those
# of each lane's own rows are added, ``own`` entries of each; those of the factor are subtracted,
# ``count`` of each.
update_tile = _operation("iiiiiiiii", _emit_tile) if _JIT else _Interpreted.tile
add_dot = _operation("iiii", _emit_dot) if _JIT else _Interpreted.dot
subtract_product = _operation("iii", _emit_subtract) if _JIT else _Interpreted.subtract
subtract_scaled = _operation("idi", _emit_subtract_scaled) if _JIT else _Interpreted.subtract_scaled
set_sum = _operation("iii", _emit_sum) if _JIT else _Interpreted.sum
set_difference = _operation("iii", _emit_difference) if _JIT else _Interpreted.difference
take_higher = _operation("ii", _emit_extreme(">")) if _JIT else _Interpreted.higher
take_lower = _operation("ii", _emit_extreme("<")) if _JIT else _Interpreted.lower
multiply_by = _operation("ii", _emit_multiply) if _JIT else _Interpreted.multiply
set_inverse = _operation("ii", _emit_invert) if _JIT else _Interpreted.invert
set_all = _operation("id", _emit_set) if _JIT else _Interpreted.set
# One number in the lanes up to ``last``, another in those after.
set_split = _operation("iddi", _emit_split) if _JIT else _Interpreted.split
# Eight consecutive numbers of a flat array.
set_from = _operation("iai", _emit_read) if _JIT else _Interpreted.read
# Products of one column of some rows with up to eight: those not after it, added to another matrix.
add_products = _operation("aiiiii", _emit_gram) if _JIT else _Interpreted.gram
# The Cholesky factor of a tile, its diagonal inverted; the margin takes in pivot * weight.
factorise_tile = _operation("iiii", _emit_factor) if _JIT else _Interpreted.factor
# A tile by the transpose of such a factor on its right.
divide_tile = _operation("iii", _emit_divide) if _JIT else _Interpreted.divide


@numba.njit(**KERNEL)
def padded(m: int) -> int:
    return (m + TILE - 1) // TILE * TILE


@numba.njit(**KERNEL)
def entries_for(m: int) -> int:
    """Entries of systems of ``m`` rows, padded: matrix, right-hand sides, weights and margin."""
    m = padded(m)
    return (m + TILE) * (m + 1) + m + 1


@shared()
def solve_lanes(f: Matrix, m: int, responses: int, own: int, owned: int) -> None:
    """Solve the systems of m rows, in place; a lane whose pivot fails has margin 0.

    The weights (the inverse of what pivots are measured against) and then the margin follow the
    right-hand sides. The step is m + 1, so that rows do not all fall on the same cache lines.
    To the matrix and right-hand sides are added the products of ``owned`` columns from ``own`` on.
    """
    step = m + 1
    weights = (m + TILE) * step
    set_all(f, weights + m, 1.0)
    for j in range(0, m, TILE):
        at = j * step + j
        for i in range(j, m, TILE):
            left, right = own + i * owned, own + j * owned
            out = i * step + j
            update_tile(f, out, out, step, i * step, j * step, j, left, right, owned)
            if i == j:
                factorise_tile(f, at, step, weights + j, weights + m)
            else:
                divide_tile(f, out, at, step)
    for g in range(responses):
        _substitute(f, m, (m + g) * step, own, own + (m + g) * owned, owned)


@numba.njit(**INNER)
def _substitute(f: Matrix, m: int, at: int, own: int, right: int, owned: int) -> None:
    """Solve for the right-hand side at ``at`` by the factor."""
    step = m + 1
    for i in range(m):
        add_dot(f, at + i, own + i * owned, right, owned)
    for i in range(m):
        multiply_by(f, at + i, i * step + i)
        for j in range(i + 1, m):
            subtract_product(f, at + j, j * step + i, at + i)
    for i in range(m - 1, -1, -1):
        multiply_by(f, at + i, i * step + i)
        for j in range(i):
            subtract_product(f, at + j, i * step + j, at + i)


def aligned(size: int) -> Vector:
    """Zeros that begin a cache line: from there lanes are read fastest."""
    store = np.zeros(size + LANES)
    ahead = -(store.ctypes.data // 8) % LANES
    return store[ahead : ahead + size]
