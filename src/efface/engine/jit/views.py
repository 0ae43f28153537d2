"""Array views for compiled code: a pointer and a shape.

Numba's own array type has nine fields, counts references and accepts negative indices; most of the
compile time went into these. A ``View`` has two fields for a vector (pointer, size) and four for a
matrix with contiguous rows (pointer, rows, columns, stride). The arrays that Python passes to a
kernel become views on entry (see ``compilation``); a kernel makes further views with ``take``,
``part`` and ``block``. Bounds are not checked, and the caller must keep the array alive.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import BaseNamedTuple, BaseTuple, NamedTuple, UniTuple
from numba.core.types.misc import CPointer
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_getattr,
    models,
    register_model,
    type_callable,
)
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

# The response of each row: its value, the square root of the row's weight, and the weight. Kernels
# multiply a row by the root; a weight of 1 changes no bit.
Responses = NDArray[np.float64]  # (n, 3)
VALUE, ROOT, WEIGHT = range(3)


def weighed(y: Vector, weights: Vector | None = None) -> Responses:
    """Responses with their weights, which are 1 by default.

    >>> weighed(np.array([5.0, 6.0]), np.array([4.0, 0.0]))
    array([[5., 2., 4.],
           [6., 0., 0.]])
    """
    responses = np.ones((y.size, 3))
    responses[:, VALUE] = y
    if weights is not None:
        responses[:, ROOT], responses[:, WEIGHT] = np.sqrt(weights), weights
    return responses


# Functions that make views: in Python they are slices. What they are in compiled code is below.
def as_views(array: Any) -> Any:
    """The array itself, or a named tuple of arrays; in compiled code, views of them."""
    return array


def take(array: Any, at: int, rows: int, columns: int) -> Any:
    """A matrix stored in a contiguous array, from its ``at``-th number on."""
    return array.reshape(-1)[at : at + rows * columns].reshape((rows, columns))


def part(array: Any, start: int, stop: int) -> Any:
    """array[start:stop] of a contiguous array."""
    return array[start:stop]


def block(a: Matrix, top: int, bottom: int, left: int, right: int) -> Matrix:
    """a[top:bottom, left:right] of a matrix whose rows are contiguous."""
    return a[top:bottom, left:right]


def stride(a: Matrix) -> int:
    """The distance between the starts of two rows, in numbers."""
    return a.strides[0] // a.itemsize


def address(array: Any) -> int:
    """The address of the first number."""
    return int(array.ctypes.data)


def make_intrinsic(typing: Callable[..., Any], names: Iterable[str]) -> Callable[..., Any]:
    """A function whose code is generated: ``typing(*kinds)`` gives its signature and code."""

    def typed(typingctx: Any, *kinds: Any) -> Any:
        return typing(*kinds)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in ("typingctx", *names)]
    typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic(typed)


class View(types.Type):
    """The type of a view, of one or two dimensions."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"View({dtype}, {ndim})")


_FIELDS = ("data", "rows", "columns", "stride")


@register_model(View)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, view: View) -> None:
        kinds = (CPointer(view.dtype), *[types.intp] * (3 if view.ndim == 2 else 1))
        super().__init__(manager, view, list(zip(_FIELDS, kinds, strict=False)))


class ViewFields:
    """The fields of a view, or of a Numba array as a view, by name, during code generation."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.is_matrix, self._builder = kind.ndim == 2, builder
        self._value = (
            value if isinstance(kind, View) else _from_array(context, builder, kind, value)
        )

    def __getattr__(self, name: str) -> Any:
        return self._builder.extract_value(self._value, _FIELDS.index(name))


def _make(context: Any, builder: Any, kind: View, *members: Any) -> Any:
    view = ir.Constant(context.get_value_type(kind), ir.Undefined)
    for place, member in enumerate(members):
        view = builder.insert_value(view, member, place)
    return view


def _from_array(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A view of a Numba array, whose rows must be contiguous."""
    array = make_array(kind)(context, builder, value=value)
    sizes = cgutils.unpack_tuple(builder, array.shape)
    if kind.ndim == 2:
        apart, *_ = cgutils.unpack_tuple(builder, array.strides)
        sizes.append(builder.sdiv(apart, array.itemsize))
    return _make(context, builder, View(kind.dtype, kind.ndim), array.data, *sizes)


def view_of(array: Any) -> Any:
    """The type of what ``as_views`` returns: views of contiguous arrays, all else unchanged."""
    if isinstance(array, types.Array) and array.ndim <= 2 and array.layout == "C":
        return View(array.dtype, array.ndim)
    if isinstance(array, BaseNamedTuple):
        return NamedTuple([view_of(member) for member in array.types], array.instance_class)
    return array


def _emit_views(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if view_of(kind) == kind:
        return value
    if isinstance(kind, types.Array):
        return _from_array(context, builder, kind, value)
    members = [
        _emit_views(context, builder, member, builder.extract_value(value, place))
        for place, member in enumerate(kind.types)
    ]
    return context.make_tuple(builder, view_of(kind), members)


def _item(view: View, index: Any) -> tuple[Any, Any]:
    """The types of an item and of its index."""
    if isinstance(index, BaseTuple):
        return view.dtype, UniTuple(types.intp, 2)
    return view.dtype if view.ndim == 1 else View(view.dtype, 1), types.intp


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        view, index = args
        if not isinstance(view, View):
            return None
        kind, index = _item(view, index)
        return signature(kind, view, index)


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        view, index, _ = args
        if not isinstance(view, View):
            return None
        kind, index = _item(view, index)
        return signature(types.none, view, index, kind)


def _pointer(builder: Any, view: ViewFields, index_kind: Any, index: Any) -> Any:
    """The address of the item at an index."""
    if isinstance(index_kind, BaseTuple):
        row, column = cgutils.unpack_tuple(builder, index)
        index = builder.add(builder.mul(row, view.stride), column)
    elif view.is_matrix:
        index = builder.mul(index, view.stride)
    return builder.gep(view.data, [index])


def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    view = ViewFields(context, builder, sig.args[0], args[0])
    pointer = _pointer(builder, view, sig.args[1], args[1])
    if isinstance(sig.return_type, View):
        return _make(context, builder, sig.return_type, pointer, view.columns)
    return context.unpack_value(builder, sig.return_type, pointer)


def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    view = ViewFields(context, builder, sig.args[0], args[0])
    pointer = _pointer(builder, view, sig.args[1], args[1])
    context.pack_value(builder, sig.args[2], args[2], pointer)
    return context.get_dummy_value()


for _index in (types.Integer, BaseTuple):
    lower_builtin(operator.getitem, View, _index)(_get)
    lower_builtin(operator.setitem, View, _index, types.Any)(_set)


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = View

    def resolve_shape(self, view: View) -> Any:
        return UniTuple(types.intp, view.ndim)

    def resolve_size(self, view: View) -> Any:
        return types.intp


@lower_getattr(View, "shape")
def _shape(context: Any, builder: Any, kind: View, value: Any) -> Any:
    view = ViewFields(context, builder, kind, value)
    return cgutils.pack_array(builder, [view.rows] + [view.columns] * view.is_matrix)


@lower_getattr(View, "size")
def _size(context: Any, builder: Any, kind: View, value: Any) -> Any:
    view = ViewFields(context, builder, kind, value)
    return builder.mul(view.rows, view.columns) if view.is_matrix else view.rows


def _implement(
    function: Callable[..., Any], kind: Callable[[Any], Any], emit: Callable[..., Any]
) -> None:
    """Set what a function of an array and integers is in compiled code.

    ``kind`` gives the type of its result. ``emit`` gives the result, or, where that is a view, its
    offset and its sizes.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        base = ViewFields(context, builder, sig.args[0], args[0])
        rest = [
            context.cast(builder, arg, given, types.intp)
            for arg, given in zip(args[1:], sig.args[1:], strict=True)
        ]
        made = emit(builder, base, *rest)
        if not isinstance(sig.return_type, View):
            return made
        at, *sizes = made
        return _make(context, builder, sig.return_type, builder.gep(base.data, [at]), *sizes)

    def typing(array: Any, *rest: Any) -> Any:
        return kind(array)

    given = inspect.signature(function)
    typing.__signature__ = given  # type: ignore[attr-defined]
    integers = [types.Integer] * (len(given.parameters) - 1)
    type_callable(function)(lambda _: typing)
    for array in (types.Array, View):
        lower_builtin(function, array, *integers)(codegen)


def _matrix_of(array: Any) -> View:
    return View(array.dtype, 2)


def _emit_take(builder: Any, base: ViewFields, at: Any, rows: Any, columns: Any) -> Any:
    return at, rows, columns, columns


def _emit_part(builder: Any, base: ViewFields, start: Any, stop: Any) -> Any:
    rows = builder.sub(stop, start)
    if not base.is_matrix:
        return start, rows
    return builder.mul(start, base.stride), rows, base.columns, base.stride


def _emit_block(
    builder: Any, base: ViewFields, top: Any, bottom: Any, left: Any, right: Any
) -> Any:
    at = builder.add(builder.mul(top, base.stride), left)
    return at, builder.sub(bottom, top), builder.sub(right, left), base.stride


def _emit_address(builder: Any, base: ViewFields) -> Any:
    return builder.ptrtoint(base.data, base.rows.type)


_implement(take, _matrix_of, _emit_take)
_implement(part, lambda array: View(array.dtype, array.ndim), _emit_part)
_implement(block, _matrix_of, _emit_block)
_implement(stride, lambda _: types.intp, lambda _, base: base.stride)
_implement(address, lambda _: types.uintp, _emit_address)


type_callable(as_views)(lambda _: view_of)


@lower_builtin(as_views, types.Any)
def _as_views(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _emit_views(context, builder, sig.args[0], args[0])
