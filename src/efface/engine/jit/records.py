"""Named fields and integers that lie in a flat array of float64.

The whole state of a solver is one such array: one array crosses from Python to compiled code
faster than thirty. A record gives names to its first words, so that compiled code writes
``state.rank`` where it would otherwise index by a constant. All fields take 8 bytes.

A layout function takes the array and an offset, and returns its views and the next offset. Called
with a ``Ruler`` in place of the array it measures how many words the layout needs, so that sizes
and offsets are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.types.misc import CPointer
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import lower_builtin, models, register_model, type_callable

from efface.engine.jit.views import Vector, View, ViewFields

Layout = Callable[..., tuple[Any, int]]
Record = Any  # a value with named fields, as ``record`` gives it


class Ruler:
    """Stands for an array while a layout is measured: every view of it is the ruler itself."""

    def reshape(self, *shape: Any) -> Ruler:
        return self

    def view(self, kind: Any) -> Ruler:
        return self

    def __getitem__(self, place: Any) -> Ruler:
        return self


def words(layout: Layout, *shape: int) -> int:
    """How many words a layout function needs."""
    return int(layout(Ruler(), 0, *shape)[1])


class Fields(types.Type):
    """The type of a record in compiled code: a pointer, and the names of the words behind it."""

    def __init__(self, ints: Sequence[str], floats: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate((*ints, *floats))}
        self.ints = len(ints)
        super().__init__(f"Fields({', '.join(ints)}; {', '.join(floats)})")

    def kind(self, name: str) -> Any:
        """The type of a field."""
        return types.int64 if self.places[name] < self.ints else types.float64


@register_model(Fields)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fields: Fields) -> None:
        super().__init__(manager, fields, [("data", CPointer(types.float64))])


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = Fields

    def generic_resolve(self, fields: Fields, name: str) -> Any:
        return fields.kind(name) if name in fields.places else None


def _pointer(context: Any, builder: Any, fields: Fields, value: Any, name: str) -> Any:
    data = builder.gep(
        builder.extract_value(value, 0), [context.get_constant(types.intp, fields.places[name])]
    )
    return builder.bitcast(data, context.get_value_type(CPointer(fields.kind(name))))


@lower_getattr_generic(Fields)
def _get(context: Any, builder: Any, fields: Fields, value: Any, name: str) -> Any:
    return builder.load(_pointer(context, builder, fields, value, name))


@lower_setattr_generic(Fields)
def _set(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    builder.store(args[1], _pointer(context, builder, sig.args[0], args[0], name))


def record(
    floats: Sequence[str] = (), ints: Sequence[str] = ()
) -> tuple[Callable[..., Record], int]:
    """A function that reads a record from the start of an array, and the record's words.

    A name must not be one of a NumPy scalar's own attributes, such as ``size``.

    >>> read, size = record(floats=["level"], ints=["rank"])
    >>> store = np.zeros(size)
    >>> read(store).rank = 3
    >>> int(read(store).rank), float(read(store).level)
    (3, 0.0)
    """
    kinds = [np.int64] * len(ints) + [np.float64] * len(floats)
    dtype = np.dtype(list(zip((*ints, *floats), kinds, strict=True)))
    size, kind = len(kinds), Fields(ints, floats)

    def read(array: Any) -> Any:
        return array[:size].view(dtype).view(np.recarray)[0]

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = cgutils.create_struct_proxy(kind)(context, builder)
        data = ViewFields(context, builder, sig.args[0], args[0]).data
        made.data = builder.bitcast(data, context.get_value_type(CPointer(types.float64)))
        return made._getvalue()

    type_callable(read)(lambda _: lambda array: kind)
    for array in (types.Array, View):
        lower_builtin(read, array)(emit)
    return read, size


_INTS = View(types.int64, 1)


def as_ints(array: Vector) -> Any:
    """The words of an array, read as integers."""
    return array.view(np.int64)


type_callable(as_ints)(lambda _: lambda array: _INTS)


def _emit_ints(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    given = ViewFields(context, builder, sig.args[0], args[0])
    made = cgutils.create_struct_proxy(_INTS)(context, builder)
    made.data = builder.bitcast(given.data, context.get_value_type(CPointer(types.int64)))
    made.rows = given.rows
    return made._getvalue()


for _array in (types.Array, View):
    lower_builtin(as_ints, _array)(_emit_ints)
