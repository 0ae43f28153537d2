"""What the terminal shows of a replay: a progress bar, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from efface.files.baselines import LAST
from efface.files.formatting import duration, figure, place_text, request_text, requests_text, share
from efface.files.summary import settings_text

_SHOWN = 8  # requests; the report lists them all


def screen(summary: Mapping[str, Any], report: Path) -> RenderableType:
    """The result: a headline, the errors, the requests, and the path of the report."""
    parts: list[RenderableType] = [_headline(summary), _errors(summary)]
    if summary["requests"]:
        parts += [Text(requests_text(summary)), _requests(summary)]
    parts.append(Text.assemble("report  ", (str(report), "bold cyan")))
    return Padding(Group(*parts), (1, 2))


def _headline(summary: Mapping[str, Any]) -> Text:
    rows, interval = summary["rows"], summary["interval"]
    text = Text.assemble(
        (summary["model"]["name"], "bold"),
        f" on {summary['source']['file']}, predicting ",
        (summary["source"]["target"], "bold"),
        settings_text(summary),
        "\n",
        (f"{rows['read'] - rows['skipped']:,}", "bold"),
        f" rows at {summary['run']['rows_per_second']:,.0f} rows per second: ",
        (f"{sum(summary['left'].values()):,}", "bold"),
        " forgotten, ",
        (f"{rows['alive']:,}", "bold"),
        " live",
    )
    if rows["skipped"]:
        text.append(f"\n{rows['skipped']:,}", "bold yellow")
        text.append(f" row{'s' * (rows['skipped'] > 1)} skipped, because a value is missing")
    if interval["coverage"] is not None:
        text.append(f"\n{interval['level']:.0%} prediction intervals covered ")
        text.append(f"{interval['coverage']:.1%}", "bold")
        text.append(" of the observed values")
    return text


def _table(*left: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table


def _errors(summary: Mapping[str, Any]) -> Table:
    table = _table("prediction errors", right=("MAE", "RMSE", "R²", "skill"))
    best = min(_mae(each) for each in summary["errors"].values())
    for name, errors in summary["errors"].items():
        ours = name == summary["model"]["name"]
        style = "bold" if ours else "dim" if name == LAST else ""
        cells = [figure(errors[key]) for key in ("mae", "rmse")]
        cells += [share(errors[key]) for key in ("r2", "skill")]
        if _mae(errors) == best:
            cells[0] = f"[green]{cells[0]}[/green]"
        table.add_row(name, *cells, style=style)
    return table


def _mae(errors: Mapping[str, Any]) -> float:
    return float("inf") if errors["mae"] is None else float(errors["mae"])


def _requests(summary: Mapping[str, Any]) -> Table:
    table = _table("forget", "at", "outcome", right=("rows", "time"))
    table.add_column("audit: error")
    for entry in summary["requests"][:_SHOWN]:
        mark = "[green]✓[/green] " if entry["holds"] else "[red]✗[/red] "
        when = place_text(entry["asked"])
        cells = when, entry["status"], str(entry["rows"]), duration(entry["seconds"])
        table.add_row(request_text(entry), *cells, mark + _audit(entry))
    more = len(summary["requests"]) - _SHOWN
    if more > 0:
        table.caption = f"and {more} more, in the report"
    return table


def _audit(entry: Mapping[str, Any]) -> str:
    if entry["error"] is None or not entry["holds"]:
        return str(entry["verdict"])
    return f"{entry['error']:.0e}"


@contextmanager
def progress(console: Console, name: str) -> Iterator[Any]:
    """A progress bar on a terminal; yields a function of the rows done and the share of the table.

    The bar says "compiling" until the function is called with 0 rows.
    """
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TextColumn("[dim]{task.fields[rate]:,.0f} rows/s"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("compiling", total=None, rows=0, rate=0.0)

        def update(rows: int, share: float) -> None:
            if not rows:
                bar.reset(task, total=None, description=name)
                return
            known = share == share and share > 0
            bar.update(
                task,
                completed=share if known else None,
                total=1.0 if known else None,
                rows=rows,
                rate=rows / (bar.tasks[0].elapsed or 1e-9),
            )

        yield update
