"""What memory holds: all values and texts that can be reached from an object."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator

import numpy as np

SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)
COMPILED = ("numba", "llvmlite")  # code, not data


def reachable(root: object) -> Iterator[object]:
    """All objects that can be reached from one, except code, classes and modules."""
    seen: dict[int, object] = {}
    pending = [root]
    while pending:
        found = pending.pop()
        if id(found) in seen or isinstance(found, SHARED):
            continue
        if type(found).__module__.partition(".")[0] in COMPILED:
            continue
        seen[id(found)] = found
        yield found
        pending += gc.get_referents(found)
        if type(found).__name__ == "Window":  # the core's: its memory is offered read-only
            pending += found.memory()
        if isinstance(found, np.ndarray) and found.base is not None:
            pending.append(found.base)


def held_values(root: object) -> tuple[np.ndarray, set[str]]:
    """All numbers of eight bytes, and all texts, that can be reached from an object."""
    numbers, texts = [np.zeros(0)], set()
    for each in reachable(root):
        if isinstance(each, np.ndarray) and each.dtype.itemsize == 8 and each.dtype.kind in "fiu":
            numbers.append(np.ascontiguousarray(each).ravel().view(np.float64))
        elif isinstance(each, float):
            numbers.append(np.array([each]))
        elif isinstance(each, str):
            texts.add(each)
        elif isinstance(each, bytes | bytearray) and len(each) % 8 == 0 and len(each) < 1 << 20:
            numbers.append(np.frombuffer(bytes(each), dtype=np.float64))
    return np.concatenate(numbers), texts


def distinctive(values: np.ndarray) -> np.ndarray:
    """Values that no calculation gives by chance: more than 30 significant bits."""
    mantissas = np.frexp(values)[0] * 2.0**30
    return values[(mantissas != np.round(mantissas)) & np.isfinite(values)]
