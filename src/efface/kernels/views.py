"""Parts of arrays for compiled code, without a reference count and without a check."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

from efface.kernels.compilation import INNER

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Cube = NDArray[np.float64]
Ints = NDArray[np.int64]

# Responses, one a row: the number itself, the root of the row's weight, the weight. Kernels
# multiply a row by the root: a weight of 1 changes no bit.
Responses = NDArray[np.float64]  # (n, 3)
VALUE, ROOT, WEIGHT = range(3)


def weighed(y: Vector, weights: Vector | None = None) -> Responses:
    """Responses with their weights, by default 1.

    >>> weighed(np.array([5.0, 6.0]), np.array([4.0, 0.0]))
    array([[5., 2., 4.],
           [6., 0., 0.]])
    """
    responses = np.ones((y.size, 3))
    responses[:, VALUE] = y
    if weights is not None:
        responses[:, ROOT], responses[:, WEIGHT] = np.sqrt(weights), weights
    return responses


# Views without a reference count and without a check of their bounds. Counting is atomic, reshaping
# goes through a general routine, and a slice allows for negative and too large bounds: that would
# cost more than the arithmetic, and most of the time to compile. The caller must hold the array for
# as long as the views are used, and know its bounds. Below, what they are in compiled code.
def borrow(array: Any) -> Any:
    """The array itself."""
    return array


def take(array: Any, at: int, rows: int, columns: int) -> Any:
    """A matrix that lies in a contiguous array, from its ``at``-th number on."""
    return array.reshape(-1)[at : at + rows * columns].reshape((rows, columns))


def part(array: Any, start: int, stop: int) -> Any:
    """array[start:stop] of a contiguous array."""
    return array[start:stop]


def block(a: Matrix, top: int, bottom: int, left: int, right: int) -> Matrix:
    """a[top:bottom, left:right] of a matrix whose rows are contiguous."""
    return a[top:bottom, left:right]


def address(array: Any) -> int:
    """The address of the first number."""
    return int(array.ctypes.data)


def _compiled(
    function: Callable[..., Any], kind: Callable[[Any], Any], emit: Callable[..., Any]
) -> None:
    """What a function of an array and integers is in compiled code."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = make_array(signature.args[0])(context, builder, value=args[0])
        rest = [
            context.cast(builder, arg, given, types.intp)
            for arg, given in zip(args[1:], signature.args[1:], strict=True)
        ]
        if signature.return_type is types.uintp:
            return builder.ptrtoint(base.data, context.get_value_type(types.uintp))
        view = make_array(signature.return_type)(context, builder)
        at, shape, strides = emit(builder, base, *rest)
        start = builder.add(builder.ptrtoint(base.data, at.type), at)
        pointer = builder.inttoptr(start, base.data.type)
        populate_array(view, pointer, shape, strides, at.type(8), None)
        view.parent = view.parent.type(None)
        return view._getvalue()

    def typing(array: Any, *rest: Any) -> Any:
        return kind(array)

    signature = inspect.signature(function)
    typing.__signature__ = signature  # type: ignore[attr-defined]
    integers = [types.Integer] * (len(signature.parameters) - 1)
    type_callable(function)(lambda _: typing)
    lower_builtin(function, types.Array, *integers)(codegen)


def _contiguous(builder: Any, shape: list[Any]) -> list[Any]:
    strides = [shape[0].type(8)]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    return strides


def _emit_borrow(builder: Any, base: Any) -> Any:
    shape, strides = (cgutils.unpack_tuple(builder, t) for t in (base.shape, base.strides))
    return shape[0].type(0), shape, strides


def _emit_take(builder: Any, base: Any, at: Any, rows: Any, columns: Any) -> Any:
    strides = _contiguous(builder, [rows, columns])
    return builder.mul(at, strides[-1]), [rows, columns], strides


def _emit_part(builder: Any, base: Any, start: Any, stop: Any) -> Any:
    shape = [builder.sub(stop, start), *cgutils.unpack_tuple(builder, base.shape)[1:]]
    strides = _contiguous(builder, shape)
    return builder.mul(start, strides[0]), shape, strides


def _emit_block(builder: Any, base: Any, top: Any, bottom: Any, left: Any, right: Any) -> Any:
    strides = [cgutils.unpack_tuple(builder, base.strides)[0], top.type(8)]
    at = builder.add(
        *(builder.mul(i, stride) for i, stride in zip((top, left), strides, strict=True))
    )
    return at, [builder.sub(bottom, top), builder.sub(right, left)], strides


_compiled(borrow, lambda array: array, _emit_borrow)
_compiled(take, lambda array: types.Array(array.dtype, 2, "C"), _emit_take)
_compiled(part, lambda array: types.Array(array.dtype, array.ndim, "C"), _emit_part)
_compiled(block, lambda array: types.Array(array.dtype, 2, "A"), _emit_block)
_compiled(address, lambda _: types.uintp, _emit_borrow)


@numba.njit(**INNER)
def fill(array: Any, value: float) -> None:
    """Set all of a contiguous array; an assignment to a slice takes long to compile."""
    flat = take(array, 0, 1, array.size)[0]
    for i in range(flat.size):
        flat[i] = value


@numba.njit(**INNER)
def copy(source: Vector, out: Vector) -> None:
    for i in range(out.size):
        out[i] = source[i]
