"""Settings under which a checkpoint keeps nothing of a forgotten row, and a check of a session.

Spark keeps the state of the last 100 batches by default, in files that are merged now and then: a
row that left the state stays readable for long. With these settings it is gone from the checkpoint
once ``BATCHES`` more batches are committed and the next maintenance has run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STORE = "spark.sql.streaming.stateStore"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

BATCHES = 2  # more batches, after which a forgotten row is in no file
CHECKPOINT_SETTINGS: dict[str, str] = {
    f"{_STORE}.providerClass": _ROCKS,
    f"{_STORE}.rocksdb.compactOnCommit": "true",  # a commit merges files: no older value stays
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "false",  # a log repeats what was written
    f"{_STORE}.maintenanceInterval": "10s",  # deletes the files of older batches
    "spark.sql.streaming.minBatchesToRetain": str(BATCHES),
    "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint": "0",  # deletes them without delay
}


def apply_settings(spark: SparkSession) -> None:
    """Set ``CHECKPOINT_SETTINGS`` for the queries that this session starts."""
    for name, value in CHECKPOINT_SETTINGS.items():
        spark.conf.set(name, value)


def readable_remains(spark: SparkSession) -> list[str]:
    """Why a forgotten row would stay readable in checkpoints of this session; empty if none.

    A query has the settings that its session had when it started.
    """
    return findings(lambda name: spark.conf.get(name, None))


def findings(setting: Callable[[str], Any]) -> list[str]:
    """The settings that keep forgotten rows readable, each with the reason.

    >>> findings({**CHECKPOINT_SETTINGS, "spark.sql.streaming.minBatchesToRetain": "100"}.get)
    ["'spark.sql.streaming.minBatchesToRetain' is '100': 100 batches stay readable; set it to '2'."]
    """
    found = []
    for name, wanted in CHECKPOINT_SETTINGS.items():
        value = setting(name)
        reason = _reason(name, value, wanted)
        if reason:
            found.append(f"'{name}' is {value!r}: {reason}; set it to {wanted!r}.")
    return found


def _reason(name: str, value: Any, wanted: str) -> str | None:
    """What goes wrong with a value; None if nothing does."""
    if str(value).lower() == wanted.lower():
        return None
    match name.rsplit(".", 1)[-1]:
        case "providerClass":
            return "this store keeps every change of the last batches in files"
        case "compactOnCommit":
            return "older values stay in files until they happen to be merged"
        case "enabled":
            return "the changelog repeats what was written"
        case "minBatchesToRetain":
            few = str(value).isdigit() and int(value) <= BATCHES
            return None if few else f"{value} batches stay readable"
        case "maintenanceInterval":
            return None if _seconds(value) <= 60 else "files of older batches stay so long"
        case _:
            return "files of older batches are deleted later"


def _seconds(text: Any) -> float:
    """A duration of Spark, such as "500ms", "60s", "1min" or plain milliseconds, in seconds."""
    units = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
    digits = str(text).rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = str(text)[len(digits) :].strip() or "ms"
    return float(digits) * units[unit] if digits.isdigit() and unit in units else float("inf")
