"""The memory of a streaming model: bounded by the live rows, not by the rows seen."""

from __future__ import annotations

import contextlib
import gc
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing

DIMS = 20
WINDOWS = (1_000, 4_000, 16_000, 64_000)
SEEN = (1, 2, 10)
BATCH = 500
GROWTH_LIMIT = 1.05
RESIDENT_LIMIT = 1_024.0  # kB; memory is counted in pages
COLUMNS = (
    "live rows",
    "rows themselves, kB",
    *(f"{what} after {times}x, kB" for times in SEEN for what in ("held", "resident peak")),
    "held per live byte",
)
NOTE = (
    f"Ridge, d={DIMS}, trained by partial_fit in batches of {BATCH}. Held: bytes that tracemalloc "
    "counts, which includes NumPy arrays; resident peak: of the process, above the value after "
    "compilation with a small model."
)


def run(settings: Settings) -> Report:
    """Every window in a process of its own."""
    report = Report("memory")
    lacking = missing("Ridge")
    rows = []
    for s in WINDOWS[:2] if settings.quick else WINDOWS:
        record, reason = ({}, lacking) if lacking else probe(s)
        report.measurements.append({"window": s, "d": DIMS, "reason": reason, **record})
        rows.append(line(s, record))
        report.goals += goals(s, record)
    reasons = {str(entry["reason"]) for entry in report.measurements if entry["reason"]}
    note = "; ".join(sorted(reasons)) or NOTE
    report.tables.append(Table("Memory of a streaming model", COLUMNS, rows, note))
    return report


def probe(s: int) -> tuple[dict[str, Any], str]:
    """Run `child` for a window in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", str(s), str(DIMS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, f"fails: {done.stderr.strip().splitlines()[-1][:100]}"
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def goals(s: int, record: dict[str, Any]) -> list[Goal]:
    """No growth after the second window; buffers may still grow during the second one."""
    held, resident = record.get("held"), record.get("resident")
    growth = held[-1] / held[1] if held else None
    more = (resident[-1] - resident[1]) / 1e3 if resident else None
    seen = f"from {SEEN[1]}x to {SEEN[-1]}x the window"
    return [
        Goal(f"window {s}: bytes held {seen}", growth, "at most", GROWTH_LIMIT, "x"),
        Goal(f"window {s}: resident peak added {seen}", more, "at most", RESIDENT_LIMIT, " kB"),
    ]


def line(s: int, record: dict[str, Any]) -> tuple[str, ...]:
    """The table row of a window."""
    itself = s * (DIMS + 1) * 8
    if not record:
        return (str(s), figure(itself / 1e3), *[""] * (len(COLUMNS) - 2))
    pairs = zip(record["held"], record["resident"], strict=True)
    cells = [figure(value / 1e3) for pair in pairs for value in pair]
    return (str(s), figure(itself / 1e3), *cells, figure(record["held"][-1] / itself))


def child(s: int, d: int) -> dict[str, list[int]]:
    """Train a model and read its memory after each multiple of the window."""
    ridge = efface("Ridge")
    rng = np.random.default_rng(s)
    feed(ridge(window=2 * BATCH, alpha=1.0), 5 * BATCH, d, rng)  # compile and warm up
    gc.collect()
    before = reset_peak()
    tracemalloc.start()
    model = ridge(window=s, alpha=1.0)
    held, resident, seen = [], [], 0
    for times in SEEN:
        feed(model, times * s - seen, d, rng)
        seen = times * s
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        resident.append(status("VmHWM") - before)
    return {"held": held, "resident": resident}


def feed(model: Any, rows: int, d: int, rng: np.random.Generator) -> None:
    """Let a model learn `rows` new rows, batch by batch."""
    for start in range(0, rows, BATCH):
        X = rng.standard_normal((min(BATCH, rows - start), d))
        model.partial_fit(X, X.sum(axis=1))


def reset_peak() -> int:
    """Reset the peak of resident memory and return what is resident now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return status("VmRSS")


def status(field: str) -> int:
    """A value of /proc/self/status in bytes, 0 on systems without it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(text.split()[1]) for text in lines if text.startswith(field)), 0)


if __name__ == "__main__":
    print(json.dumps(child(int(sys.argv[1]), int(sys.argv[2]))))
