"""One model per key on Spark: backfills of whole tables, and streams that forget.

Spark moves, sorts and restores rows; the models are those of the library. Spark is imported when a
function is called, and on executors.
"""

from efface.spark.backfill import replay, rolling
from efface.spark.checkpoints import CHECKPOINT_SETTINGS, readable_remains
from efface.spark.event_stream import stream, to_keys

__all__ = [
    "CHECKPOINT_SETTINGS",
    "readable_remains",
    "replay",
    "rolling",
    "stream",
    "to_keys",
]
