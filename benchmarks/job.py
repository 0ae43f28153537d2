"""A file through `efface replay`: rows a second, where the time goes, how much memory it takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import status
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings

FEATURES, WINDOW = 20, 1_000
LENGTHS = (250_000, 1_000_000)
CHUNK = 50_000
GROWTH = 1.1
PARTS = ("read", "engine", "log", "write", "report")
COLUMNS = ("rows", "rows/s", *PARTS, "peak MB", "above start")
NOTE = (
    f"CSV with {FEATURES} features, adaptive ridge, window {WINDOW}, diagnostics and 95 % intervals"
    " at every row, Parquet out, compiled beforehand. Rows/s by the wall; the parts in µs of "
    "processor time a row: reading, `replay` alone, the log that the report is drawn from, "
    "writing, the report. Each length in a process of its own."
)


def run(settings: Settings) -> Report:
    """Both lengths, written to disk first."""
    report = Report("job")
    lengths = [rows // 10 for rows in LENGTHS] if settings.quick else LENGTHS
    with tempfile.TemporaryDirectory() as place:
        for rows in lengths:
            path = Path(place) / f"{rows}.csv"
            write(path, rows)
            report.measurements.append({"rows": rows, **probe(path)})
            path.unlink()
    lines = [line(entry) for entry in report.measurements]
    report.tables.append(Table("A file through efface replay", COLUMNS, lines, NOTE))
    short, long = (entry["peak"] for entry in report.measurements)
    report.goals += [
        Goal(
            f"peak memory, {lengths[1]:,} rows over {lengths[0]:,}", long / short, "at most", GROWTH
        ),
        Goal(
            "reading and writing over the engine", bound(report.measurements[-1]), "at least", 1.0
        ),
    ]
    return report


def bound(entry: dict[str, Any]) -> float:
    """Above 1, files and not the engine bound the job."""
    return float((entry["read"] + entry["write"]) / entry["engine"])


def write(path: Path, rows: int) -> None:
    """A stream of Gaussian rows as CSV."""
    import pyarrow as pa
    import pyarrow.csv

    rng, writer = np.random.default_rng(20), None
    theta = rng.normal(size=FEATURES)
    for start in range(0, rows, CHUNK):
        X = rng.normal(size=(min(CHUNK, rows - start), FEATURES)).round(6)
        y = (X @ theta + rng.normal(size=len(X))).round(6)
        names = [*(f"x{j}" for j in range(FEATURES)), "y"]
        batch = pa.record_batch([*X.T, y], names=names)
        writer = writer or pyarrow.csv.CSVWriter(str(path), batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def probe(path: Path) -> dict[str, Any]:
    """Run `child` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.job", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def line(entry: dict[str, Any]) -> tuple[str, ...]:
    """A length's line."""
    rows = entry["rows"]
    parts = [figure(1e6 * entry[part] / rows) for part in PARTS]
    memory = [figure(entry[name] / 1e6) for name in ("peak", "above")]
    return (f"{rows:,}", f"{rows / entry['wall']:,.0f}", *parts, *memory)


class Clock:
    """Processor seconds of each part of the job: other processes do not count."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def time(self, part: str, work: Callable[[], Any]) -> Any:
        """Do something, and book its time."""
        start = time.process_time()
        result = work()
        self.seconds[part] += time.process_time() - start
        return result


def child(path: Path) -> dict[str, Any]:
    """The job as `efface.files.job` does it, with a clock between its parts."""
    from threadpoolctl import threadpool_limits

    from efface import AdaptiveRidge
    from efface.files import streaming
    from efface.files.output import Predictions, write_summary
    from efface.files.readers import open_table
    from efface.files.report import write_report
    from efface.files.row_batches import read_rows
    from efface.files.schema import ColumnRoles, resolve_schema
    from efface.files.summary import summarise

    clock, replay = Clock(), streaming.replay

    def timed(*arguments: Any, **options: Any) -> Any:
        return clock.time("engine", lambda: replay(*arguments, **options))

    def through(rows: Iterator[Any], way: Any, predictions: Any) -> None:
        while (chunk := clock.time("read", lambda: next(rows, None))) is not None:
            steps = clock.time("log", lambda chunk=chunk: way.advance(chunk))
            clock.time("write", lambda steps=steps: predictions.write(steps))
        clock.time("write", lambda: predictions.__exit__())

    with threadpool_limits(limits=1, user_api="blas"), tempfile.TemporaryDirectory() as place:
        warm_up(AdaptiveRidge, replay)
        before, start = status("VmRSS"), time.perf_counter()
        streaming.replay = timed
        table = open_table(str(path))
        schema = resolve_schema(table, ColumnRoles("y"))
        way = streaming.StreamRun(
            lambda: AdaptiveRidge(WINDOW), "AdaptiveRidge", warm_up=FEATURES + 1
        )
        through(read_rows(table, schema), way, Predictions(Path(place), "parquet", schema))
        clock.seconds["log"] -= clock.seconds["engine"]
        model = {"name": "AdaptiveRidge", "window": WINDOW, "keep": None, "alpha": None}
        model["standardize"] = False
        interval = {"level": 0.95, "method": "gaussian"}

        def conclude() -> None:
            summary = summarise(
                way,
                file=path.name,
                schema=schema,
                model=model,
                interval=interval,
                compiling=0.0,
                seconds=1.0,
            )
            write_summary(Path(place), summary)
            write_report(Path(place) / "report.html", summary, way.log.history)

        clock.time("report", conclude)
        wall = time.perf_counter() - start
    peak = status("VmHWM")
    return {**clock.seconds, "wall": wall, "peak": peak, "above": peak - before}


def warm_up(model: Any, replay: Any) -> None:
    """Compile what the job will call."""
    from efface.live.batches import LONG

    rng, once = np.random.default_rng(0), model(WINDOW)
    for rows in (WINDOW, WINDOW, LONG):  # a model that is new, one that goes on, a long stream
        X = rng.normal(size=(rows, FEATURES))
        replay(once, X, X.sum(axis=1) + rng.normal(size=rows), diagnostics=True, interval=0.95)


if __name__ == "__main__":
    print(json.dumps(child(Path(sys.argv[1]))))
