"""What memory holds: all values and texts that can be reached from an object.

An object of a compiled class is closed to Python. So that it can be looked into, it must offer its
memory: by the buffer protocol, or by a method ``memory`` that returns what has it.
"""

from __future__ import annotations

import gc
import inspect
import types
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from conformance.tally import Disagreement

SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)
TRAVERSED = 1 << 14  # the flag of classes whose referents Python knows (Py_TPFLAGS_HAVE_GC)
WORD = 8  # bytes


def reachable(root: object) -> Iterator[object]:
    """All objects that can be reached from one, except code, classes and modules."""
    seen: dict[int, object] = {}
    pending = [root]
    while pending:
        found = pending.pop()
        if id(found) in seen or isinstance(found, SHARED):
            continue
        seen[id(found)] = found
        yield found
        pending += gc.get_referents(found)
        if isinstance(found, np.ndarray) and found.base is not None:
            pending.append(found.base)
        if closed(found):
            pending.append(offered(found))


def closed(each: object) -> bool:
    """Is it of a compiled class of efface, whose memory Python cannot follow?"""
    ours = [base for base in type(each).__mro__ if base.__module__.partition(".")[0] == "efface"]
    followed = type(each).__flags__ & TRAVERSED or any("__slots__" in vars(base) for base in ours)
    return bool(ours) and not (followed and all(map(written, ours)))


@cache
def written(kind: type) -> bool:
    """Is a class written in Python?"""
    try:
        return bool(inspect.getsource(kind))
    except (OSError, TypeError):
        return False


def offered(each: Any) -> object:
    """The memory that an object of a compiled class offers."""
    if hasattr(each, "memory"):
        return each.memory()
    try:
        return np.frombuffer(each, dtype=np.uint8)
    except TypeError:
        text = f"{type(each)!r} offers no memory: no buffer, and no method 'memory'"
        raise Disagreement("trace", text) from None


def held_values(root: object) -> tuple[np.ndarray, set[str]]:
    """All numbers of eight bytes, and all texts, that can be reached from an object."""
    numbers, texts = [np.zeros(0)], set()
    for each in reachable(root):
        if isinstance(each, np.ndarray):
            numbers.append(words(each))
        elif isinstance(each, float):
            numbers.append(np.array([each]))
        elif isinstance(each, str):
            texts.add(each)
        elif isinstance(each, bytes | bytearray | memoryview) and len(each) < 1 << 20:
            numbers.append(words(np.frombuffer(each, dtype=np.uint8)))
    return np.concatenate(numbers), texts


def words(array: np.ndarray) -> np.ndarray:
    """The numbers of eight bytes that an array holds."""
    whole = array.dtype.kind in "fiu" and array.dtype.itemsize == WORD
    if not whole and not (array.dtype == np.uint8 and array.size % WORD == 0):
        return np.zeros(0)
    return np.ascontiguousarray(array).ravel().view(np.float64)


def distinctive(values: np.ndarray) -> np.ndarray:
    """Values that no calculation gives by chance: more than 30 significant bits."""
    mantissas = np.frexp(values)[0] * 2.0**30
    return values[(mantissas != np.round(mantissas)) & np.isfinite(values)]
