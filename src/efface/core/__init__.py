"""The compiled core: the module of the best CPU level that this machine has, and nothing else.

``EFFACE_LEVEL`` (v2, v3 or v4) names another one, for tests.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from efface.core import _cpu

if TYPE_CHECKING:
    core: Any
else:
    core = importlib.import_module(
        "efface.core._core_" + os.environ.get("EFFACE_LEVEL", _cpu.level)
    )
