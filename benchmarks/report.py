"""Reports of tables and goals: printed, as JSON and as Markdown."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

QUICK = "Quick run: with fewer rows, fixed costs have a larger share. Quote only full runs."
PACKAGES = (
    "efface",
    "numpy",
    "scipy",
    "scikit-learn",
    "polars",
    "polars-ds",
    "polars-ols",
    "statsmodels",
    "river",
)


@dataclass(frozen=True)
class Table:
    """Cells of text under a title, with a note for the reader."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""


@dataclass(frozen=True)
class Goal:
    """A limit for a measured value, which is None if it could not be measured."""

    what: str
    value: float | None
    sense: Literal["at least", "at most"]
    limit: float
    unit: str = ""

    @property
    def verdict(self) -> str:
        """Pass, miss, or not measured; NaN is a miss."""
        if self.value is None:
            return "not measured"
        reached = self.value >= self.limit if self.sense == "at least" else self.value <= self.limit
        return "pass" if reached else "miss"


@dataclass
class Report:
    """The results of a suite."""

    suite: str
    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    measurements: list[dict[str, Any]] = field(default_factory=list)

    def goal_table(self) -> Table:
        """The goals as a table."""
        rows: list[tuple[str, ...]] = [
            (goal.what, f"{goal.sense} {goal.limit:g}{goal.unit}", measured(goal), goal.verdict)
            for goal in self.goals
        ]
        return Table(f"{self.suite}: goals", ("goal", "wanted", "measured", "verdict"), rows)

    def all_tables(self) -> list[Table]:
        """Every table, the goals last."""
        return self.tables + ([self.goal_table()] if self.goals else [])


def measured(goal: Goal) -> str:
    """A goal's value as text."""
    return "-" if goal.value is None else f"{figure(goal.value)}{goal.unit}"


def figure(value: float | None) -> str:
    """A number with three significant digits."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf"
    if value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{max(0, digits)}f}"


def error_figure(value: float | None) -> str:
    """An error with one significant digit."""
    if value is None:
        return "-"
    return "NaN" if math.isnan(value) else f"{value:.0e}"


def show(report: Report, console: Console) -> None:
    """Print a report."""
    for table in report.all_tables():
        drawn = RichTable(title=table.title, caption=table.note or None, box=box.SIMPLE_HEAD)
        for position, column in enumerate(table.columns):
            drawn.add_column(column, justify="left" if position == 0 else "right")
        for row in table.rows:
            drawn.add_row(*(coloured(cell) for cell in row))
        console.print(drawn)


def coloured(cell: str) -> str:
    """A verdict in its colour, other text unchanged."""
    colour = {"pass": "green", "miss": "red", "not measured": "yellow"}.get(cell)
    return f"[{colour}]{cell}[/]" if colour else escape(cell)


def markdown(table: Table) -> str:
    """A table ready for the README."""
    lines = [f"**{table.title}**", "", _line(table.columns)]
    lines.append(_line(("---",) + ("---:",) * (len(table.columns) - 1)))
    lines.extend(_line(row) for row in table.rows)
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def machine(threads: int, quick: bool) -> dict[str, Any]:
    """The machine and the versions of the packages."""
    return {
        "processor": processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "threads": threads,
        "quick": quick,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "packages": {name: installed(name) for name in PACKAGES},
    }


def processor() -> str:
    """The name of the processor, if the system gives one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def installed(package: str) -> str | None:
    """The installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def write_json(path: Path, where: dict[str, Any], reports: list[Report]) -> None:
    """All measurements as JSON; numbers that are not finite become null."""
    suites = {
        report.suite: {
            "tables": [asdict(table) for table in report.tables],
            "goals": [{**asdict(goal), "verdict": goal.verdict} for goal in report.goals],
            "measurements": report.measurements,
        }
        for report in reports
    }
    document = _finite({"machine": where, "suites": suites})
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_markdown(path: Path, where: dict[str, Any], reports: list[Report]) -> None:
    """Every table, for the README."""
    used = ", ".join(f"{name} {v}" for name, v in where["packages"].items() if v)
    head = (
        f"{where['processor']}, {where['threads']} thread(s), Python {where['python']}, {used}.\n"
    )
    if where["quick"]:
        head += "\n" + QUICK + "\n"
    parts = [markdown(table) for report in reports for table in report.all_tables()]
    path.write_text("\n".join([head, *parts]), encoding="utf-8")
