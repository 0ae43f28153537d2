"""BLAS products for compiled code, on row-major matrices, in place.

NumPy's ``dot`` would allocate its result. These call the BLAS routines of SciPy by address. Only
the lower triangle of a symmetric matrix is written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import get_cython_function_address

from efface.engine.jit.compilation import INNER, shared
from efface.engine.jit.views import Matrix, address, make_intrinsic, stride

_CTYPES: dict[str, Any] = {"c": ctypes.c_int8, "i": ctypes.c_int, "d": ctypes.c_double}
_LLVM = {"c": ir.IntType(8), "i": ir.IntType(32), "d": ir.DoubleType()}
_NUMBA = {"c": types.int8, "i": types.int32, "d": types.float64, "p": types.uintp}


def _routine(module: str, name: str, spec: str) -> Callable[..., None]:
    """A Fortran routine; ``spec`` has the kinds of its arguments: char, int, double, pointer."""
    address = get_cython_function_address(module, name)
    if numba.config.DISABLE_JIT:
        return _interpreted(address, spec)
    symbol = f"efface_{name}"
    # Compiled code refers to the routine by name, so that it can be cached on disk.
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

    return make_intrinsic(lambda *_: (signature, codegen), [f"a{i}" for i in range(len(spec))])


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


_BLAS = "scipy.linalg.cython_blas"
_dgemm = _routine(_BLAS, "dgemm", "cciiidpipidpi")
_dsyrk = _routine(_BLAS, "dsyrk", "cciidpidpi")
_PLAIN, _TRANSPOSED, _UPPER = np.int8(ord("N")), np.int8(ord("T")), np.int8(ord("U"))


@numba.njit(**INNER)
def _ld(a: Matrix) -> np.int32:
    return np.int32(max(stride(a), a.shape[1], 1))


@shared()
def multiply(a: Matrix, b: Matrix, out: Matrix, alpha: float, beta: float) -> None:
    """out = alpha a b + beta out, for a (m, k) and b (k, n)."""
    (m, k), n = a.shape, b.shape[1]
    if m > 0 and n > 0:
        _dgemm(
            _PLAIN, _PLAIN, np.int32(n), np.int32(m), np.int32(k), alpha,
            address(b), _ld(b), address(a), _ld(a), beta, address(out), _ld(out),
        )  # fmt: skip


@shared()
def multiply_transposed(a: Matrix, b: Matrix, out: Matrix, alpha: float, beta: float) -> None:
    """out = alpha a b' + beta out, for a (m, k) and b (n, k): the products of all pairs of rows."""
    (m, k), n = a.shape, b.shape[0]
    if m > 0 and n > 0:
        _dgemm(
            _TRANSPOSED, _PLAIN, np.int32(n), np.int32(m), np.int32(k), alpha,
            address(b), _ld(b), address(a), _ld(a), beta, address(out), _ld(out),
        )  # fmt: skip


@shared()
def subtract_products(a: Matrix, out: Matrix) -> None:
    """out -= a a', the lower triangle only."""
    n, k = a.shape
    if k > 0 and n > 0:
        _dsyrk(
            _UPPER, _TRANSPOSED, np.int32(n), np.int32(k), -1.0,
            address(a), _ld(a), 1.0, address(out), _ld(out),
        )  # fmt: skip


@shared()
def add_gram(rows: Matrix, out: Matrix) -> None:
    """out += rows' rows, the lower triangle only."""
    k, n = rows.shape
    if k > 0 and n > 0:
        _dsyrk(
            _UPPER, _PLAIN, np.int32(n), np.int32(k), 1.0,
            address(rows), _ld(rows), 1.0, address(out), _ld(out),
        )  # fmt: skip
