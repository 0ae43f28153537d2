"""The compiled core: the module of the best CPU level that this machine has, and nothing else.

``EFFACE_LEVEL`` (v2, v3 or v4) names another level, and ``EFFACE_MODULES`` another folder of
modules, for tests.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if folder := os.environ.get("EFFACE_MODULES"):
    __path__.insert(0, os.path.abspath(folder))

from efface.core import _cpu as _cpu

_LEVELS = ("v2", "v3", "v4")
level: str = os.environ.get("EFFACE_LEVEL", _cpu.level)

if TYPE_CHECKING:
    core: Any
else:
    core = importlib.import_module(f"efface.core._core_{level}")


def other_levels() -> tuple[str, ...]:
    """The levels below the best one that this machine can run.

    >>> level in other_levels()
    False
    """
    return _LEVELS[: _LEVELS.index(_cpu.level)] if _cpu.level in _LEVELS else ()
