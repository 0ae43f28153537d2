"""`efface replay` on a file: rows per second, the time of each part, and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
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
MODULES = (  # imported before the clock starts
    *("efface.files.job", "efface.files.streaming", "efface.files.output"),
    *("efface.files.terminal", "efface.cli.main"),
)
PARTS = ("read", "engine", "log", "write", "report")
COLUMNS = ("rows", "rows/s", *PARTS, "peak MB", "above start")
NOTE = (
    f"CSV with {FEATURES} features, AutoRidge, window {WINDOW}, diagnostics and gaussian 95 % "
    "intervals at every row, Parquet output, kernels compiled beforehand. Rows/s by wall time; the "
    "parts in µs of processor time per row: reading, `replay` alone, the log that the report is "
    "drawn from, writing, the report. Each length runs in its own process."
)


def run(settings: Settings) -> Report:
    """Both lengths; each file is written to disk first."""
    report = Report("job")
    lengths = [rows // 10 for rows in LENGTHS] if settings.quick else LENGTHS
    with tempfile.TemporaryDirectory() as place:
        for rows in lengths:
            path = Path(place) / f"{rows}.csv"
            write(path, rows)
            report.measurements.append({"rows": rows, **probe(path)})
            path.unlink()
    lines = [line(entry) for entry in report.measurements]
    report.tables.append(Table("efface replay on a file", COLUMNS, lines, NOTE))
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
    """The ratio of file access to the engine; above 1, files limit the speed."""
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
    """The table row of a length."""
    rows = entry["rows"]
    parts = [figure(1e6 * entry[part] / rows) for part in PARTS]
    memory = [figure(entry[name] / 1e6) for name in ("peak", "above")]
    return (f"{rows:,}", f"{rows / entry['wall']:,.0f}", *parts, *memory)


class Clock:
    """Processor seconds of each part of the job; other processes do not count."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def wrap(self, part: str, home: Any, name: str) -> None:
        """Replace a function or method by one that adds its time to a part."""
        function = getattr(home, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            return self.time(part, lambda: function(*arguments, **options))

        setattr(home, name, timed)

    def wrap_iterator(self, part: str, home: Any, name: str) -> None:
        """The same for a function that returns an iterator: the time of each step counts."""
        function = getattr(home, name)

        def timed(*arguments: Any, **options: Any) -> Iterator[Any]:
            steps = function(*arguments, **options)
            while (step := self.time(part, lambda: next(steps, None))) is not None:
                yield step

        setattr(home, name, timed)

    def time(self, part: str, work: Callable[[], Any]) -> Any:
        """Call a function and add its time to a part."""
        start = time.process_time()
        result = work()
        self.seconds[part] += time.process_time() - start
        return result


def child(path: Path) -> dict[str, Any]:
    """Run the command in this process, with a clock around its parts; the rest is the log."""
    job, streaming, output, _, _ = map(import_module, MODULES)
    warm_up()
    clock = Clock()
    clock.wrap_iterator("read", streaming, "read_rows")
    clock.wrap("engine", streaming, "replay")
    clock.wrap("write", output.Predictions, "write")
    clock.wrap("write", output.Predictions, "__exit__")
    for name in ("summarise", "write_summary", "write_report"):
        clock.wrap("report", job, name)
    with tempfile.TemporaryDirectory() as place:
        before, cpu, wall = status("VmRSS"), time.process_time(), time.perf_counter()
        replay_file(path, Path(place) / "out")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    clock.seconds["log"] = cpu - sum(clock.seconds.values())
    peak = status("VmHWM")
    return {**clock.seconds, "wall": wall, "peak": peak, "above": peak - before}


def replay_file(path: Path, out: Path) -> None:
    """Call the command `efface replay` in this process."""
    options = ["--target", "y", "--window", str(WINDOW), "--out", str(out)]
    options += ["--method", "gaussian"]
    sys.argv = ["efface", "replay", str(path), *options]
    try:
        import_module("efface.cli.main").main()
    except SystemExit as end:
        if end.code:
            raise


def warm_up() -> None:
    """Compile all that the job calls."""
    from efface import AdaptiveRidge, replay

    rng, model = np.random.default_rng(0), AdaptiveRidge(WINDOW)
    for rows in (WINDOW, WINDOW):  # an empty model, a full one
        X = rng.normal(size=(rows, FEATURES))
        replay(model, X, X.sum(axis=1) + rng.normal(size=rows), diagnostics=True, interval=0.95)


if __name__ == "__main__":
    print(json.dumps(child(Path(sys.argv[1]))))
