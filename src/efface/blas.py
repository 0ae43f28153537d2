"""BLAS for compiled code, on row-major arrays.

NumPy's ``dot`` and ``linalg`` allocate their results; a kernel that slides a window wants them in
place. These are SciPy's own routines, called by address, in the shape the kernels think in:
matrices are C-ordered, a factor is the lower triangle, and a block of vectors has one vector a row.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba._dynfunc import make_function
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import (
    get_cython_function_address,
    intrinsic,
    lower_builtin,
    type_callable,
)
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Cube = NDArray[np.float64]
Ints = NDArray[np.int64]

# Reductions may be reordered so that they vectorise; NaN and infinity keep their meaning.
# Inner loops start at 0, over a slice where need be: from elsewhere Numba must allow for negative
# indices at every step, and nothing vectorises.
FAST = {"reassoc", "contract", "nsz", "arcp"}

_CTYPES: dict[str, Any] = {"c": ctypes.c_int8, "i": ctypes.c_int, "d": ctypes.c_double}
_LLVM = {"c": ir.IntType(8), "i": ir.IntType(32), "d": ir.DoubleType()}
_NUMBA = {"c": types.int8, "i": types.int32, "d": types.float64, "p": types.uintp}


def _routine(module: str, name: str, spec: str) -> Callable[..., None]:
    """A Fortran routine whose arguments are chars, ints, doubles and pointers, as ``spec`` says."""
    address = get_cython_function_address(module, name)
    if numba.config.DISABLE_JIT:
        return _interpreted(address, spec)
    symbol = f"efface_{name}"
    # A name, not an address, goes into the compiled code: so it can be cached on disk.
    llvmlite.binding.add_symbol(symbol, address)
    signature = types.void(*(_NUMBA[kind] for kind in spec))

    def codegen(context: Any, builder: Any, _: Any, args: Any) -> Any:
        pointers = []
        for kind, arg in zip(spec, args, strict=True):
            if kind == "p":
                pointers.append(builder.inttoptr(arg, ir.IntType(8).as_pointer()))
            else:
                slot = cgutils.alloca_once(builder, _LLVM[kind])
                builder.store(arg, slot)
                pointers.append(builder.bitcast(slot, ir.IntType(8).as_pointer()))
        kind_ = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()] * len(spec))
        builder.call(cgutils.get_or_insert_function(builder.module, kind_, symbol), pointers)
        return context.get_dummy_value()

    names = ", ".join(f"a{i}" for i in range(len(spec)))
    namespace: dict[str, Any] = {"signature": signature, "codegen": codegen}
    exec(f"def {name}(typingctx, {names}): return signature, codegen", namespace)
    return intrinsic(namespace[name])


def _interpreted(address: int, spec: str) -> Callable[..., None]:
    """The same routine for NUMBA_DISABLE_JIT=1."""
    function: Any = ctypes.CFUNCTYPE(None)(address)

    def call(*args: Any) -> None:
        slots = [
            ctypes.c_void_p(int(arg)) if kind == "p" else ctypes.byref(_CTYPES[kind](arg))
            for kind, arg in zip(spec, args, strict=True)
        ]
        function(*slots)

    return call


class _KernelCompiler(Compiler):  # type: ignore[misc]
    """Collects no garbage meanwhile: that takes an eighth of the time, and there is hardly any."""

    def compile_extra(self, func: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Code of a function that only kernels call: optimised and turned to machine code in them."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    def compile_extra(self, func: Any) -> Any:
        context = self.state.targetctx  # this function's own
        self.state.library = _Part(context.codegen(), func.__qualname__)
        context.get_executable = _no_way_in
        return super().compile_extra(func)


def _no_way_in(library: _Part, descriptor: Any, env: Any) -> Any:
    name = descriptor.qualname
    return make_function(descriptor.lookup_module(), name, name, 0, env, (library,))


# How kernels are compiled. They allocate nothing, so they count no references, and they divide like
# NumPy: less code to compile.
KERNEL: dict[str, Any] = {
    "cache": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "error_model": "numpy",
    "pipeline_class": _KernelCompiler,
}
# Those that only kernels call. Python must not: there is no way in. Nor on disk: what is cached
# there are the kernels.
INNER: dict[str, Any] = {
    **KERNEL,
    "cache": False,
    "no_cpython_wrapper": True,
    "pipeline_class": _PartCompiler,
}


class Shared:
    """A function that kernels call, and another that Python calls in its place."""

    def __init__(self, function: Any, outer: Callable[..., Any], options: dict[str, Any]) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._outer = outer
        if not numba.config.DISABLE_JIT:
            self._inner = numba.njit(**INNER, **options)(function)  # its type holds it weakly
            self._numba_type_ = self._inner._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self._outer(*args)


def shared(**options: Any) -> Callable[[Callable[..., Any]], Shared]:
    """Python can call it too, and only then is its way in compiled."""
    return lambda function: Shared(function, numba.njit(**KERNEL, **options)(function), options)


def carving(function: Callable[..., Any]) -> Shared:
    """Views into a store: plain in Python, for a view that is not counted cannot cross."""
    return Shared(function, function, {})


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


def _data(array: Any) -> int:
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
_compiled(_data, lambda _: types.uintp, _emit_borrow)


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


_BLAS = "scipy.linalg.cython_blas"
_dgemm = _routine(_BLAS, "dgemm", "cciiidpipidpi")
_dsyrk = _routine(_BLAS, "dsyrk", "cciidpidpi")
_PLAIN, _TRANSPOSED, _UPPER = np.int8(ord("N")), np.int8(ord("T")), np.int8(ord("U"))


@numba.njit(**INNER)
def _ld(a: Matrix) -> np.int32:
    return np.int32(max(a.strides[0] // 8, a.shape[1], 1))


@shared()
def multiply(a: Matrix, b: Matrix, out: Matrix, alpha: float, beta: float) -> None:
    """out = alpha a b + beta out, for a (m, k) and b (k, n)."""
    (m, k), n = a.shape, b.shape[1]
    if m > 0 and n > 0:
        _dgemm(
            _PLAIN, _PLAIN, np.int32(n), np.int32(m), np.int32(k), alpha,
            _data(b), _ld(b), _data(a), _ld(a), beta, _data(out), _ld(out),
        )  # fmt: skip


@shared()
def multiply_transposed(a: Matrix, b: Matrix, out: Matrix, alpha: float, beta: float) -> None:
    """out = alpha a b' + beta out, for a (m, k) and b (n, k): all products of two sets of rows."""
    (m, k), n = a.shape, b.shape[0]
    if m > 0 and n > 0:
        _dgemm(
            _TRANSPOSED, _PLAIN, np.int32(n), np.int32(m), np.int32(k), alpha,
            _data(b), _ld(b), _data(a), _ld(a), beta, _data(out), _ld(out),
        )  # fmt: skip


@shared()
def subtract_products(a: Matrix, out: Matrix) -> None:
    """out -= a a', the lower triangle only."""
    n, k = a.shape
    if k > 0 and n > 0:
        _dsyrk(
            _UPPER, _TRANSPOSED, np.int32(n), np.int32(k), -1.0,
            _data(a), _ld(a), 1.0, _data(out), _ld(out),
        )  # fmt: skip


@shared()
def add_gram(rows: Matrix, out: Matrix) -> None:
    """out += rows' rows, the lower triangle only."""
    k, n = rows.shape
    if k > 0 and n > 0:
        _dsyrk(
            _UPPER, _PLAIN, np.int32(n), np.int32(k), 1.0,
            _data(rows), _ld(rows), 1.0, _data(out), _ld(out),
        )  # fmt: skip
