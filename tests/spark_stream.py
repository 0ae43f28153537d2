"""A stream for tests: events in files, one file per batch, results in a sink that is exactly once.

Run as a script, it is the process that a test kills: ``python spark_stream.py FOLDER``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

SCHEMA = (
    "shop string, kind string, id string, person string, at timestamp, x double, z double, y double"
)
COLUMNS = {"key": "shop", "y": "y", "x": ["x", "z"], "id": "id", "at": "at", "owner": "person"}


def write_batch(folder, number, events):
    """One file of events, which a stream reads as one batch; files are read in their order."""
    inbox = Path(folder) / "in"
    inbox.mkdir(parents=True, exist_ok=True)
    hidden, shown = inbox / f".{number}.json", inbox / f"{number:04}.json"
    hidden.write_text("\n".join(json.dumps(event) for event in events), "utf-8")
    os.utime(hidden, (1_000_000 + number, 1_000_000 + number))
    hidden.rename(shown)


def results(spark, folder, model, **options):
    """The stream of results for the events of a folder."""
    import efface.spark

    (Path(folder) / "in").mkdir(parents=True, exist_ok=True)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    events = source.json(str(Path(folder) / "in"))
    found = efface.spark.stream(events, model=model, kind="kind", **COLUMNS, **options)
    spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "200ms")
    return found


def start(found, folder, **trigger):
    """Start the query that writes results to files, each once."""
    sink = found.writeStream.format("parquet").option("path", str(Path(folder) / "out"))
    place = str(Path(folder) / "checkpoint")
    return sink.option("checkpointLocation", place).trigger(**trigger).start()


def batches(folder, log="commits"):
    """The numbers of the batches in a log of the checkpoint."""
    place = Path(folder) / "checkpoint" / log
    return sorted(int(path.name) for path in place.glob("[0-9]*"))


def read(spark, folder):
    """All results, as sorted tuples of text."""
    rows = spark.read.parquet(str(Path(folder) / "out")).collect()
    return sorted(tuple(map(str, row)) for row in rows)


def main(folder):
    """Run the stream of a folder to its end."""
    from spark_sessions import local_session

    from efface import Ridge

    found = results(local_session(), folder, Ridge(window=5), timers=False, interval=0.9)
    start(found, folder, availableNow=True).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1])
