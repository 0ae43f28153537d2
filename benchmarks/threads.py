"""Limit the process to a number of cores. This module imports nothing that starts threads."""

from __future__ import annotations

import os
import sys

VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)
STARTED_BY = ("numpy", "polars", "scipy")


def confine(count: int) -> None:
    """Give this process and its children `count` threads and as many cores."""
    loaded = [name for name in STARTED_BY if name in sys.modules]
    if loaded:
        raise RuntimeError(f"'{loaded[0]}' is already imported: thread counts can no longer be set")
    os.environ.update(dict.fromkeys(VARIABLES, str(count)))
    pin_cores(count)


def pin_cores(count: int) -> None:
    """Allow `count` cores, because moving work between cores slows some libraries down.

    Without it polars-ols (Woodbury) wakes a thread per row and takes three times as long.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[-count:])
