"""The paper's figures and the verdicts on its findings, as files in a folder.

Settings are run by ``sweep``, their runs summarised as rows, and the rows written and drawn.
Numbers already there are used again; whatever is written is written beside and then renamed.
"""

from __future__ import annotations

import csv
import io
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import whole
from efface.paper.claims import Claim, claims
from efface.paper.experiments import Comparison, Experiment, Numbers, Ranks, panels
from efface.paper.scorecard import to_json, to_markdown
from efface.paper.simulate import READINGS, Array, Reading
from efface.paper.sweep import Advance, Backend, Store, Workers, sweep, written_beside
from efface.theory.appendix_d import examples, render_examples
from efface.theory.coverage import CoverageRow, coverage_table, render_coverage

Row = dict[str, Any]

FIGURES = ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7")
TARGETS = (*FIGURES, "examples", "coverage", "claims", "all")

_PLACE = {
    "fig3": ("s", "sigma"),
    "fig4": ("s", "df"),
    "fig5": ("k", "sigma"),
    "fig6": ("s", "sigma"),
    "fig7": ("s", "sigma"),
}
_QUANTITIES = {
    "fig3": ("regret", "abs_regret"),
    "fig4": ("regret", "abs_regret"),
    "fig5": ("regret", "abs_regret", "l2", "lambda"),
    "fig6": ("l2",),
    "fig7": ("lambda",),
}


@dataclass(frozen=True)
class Request:
    """What is to be reproduced; whatever cannot be is refused at once.

    >>> len(Request("fig3", runs=2, horizon=90).experiments())
    12
    """

    target: str
    runs: int = 100
    horizon: int = 3000
    readings: tuple[Reading, ...] = ("standardized",)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            wanted = f"one of {', '.join(TARGETS)}"
            raise InvalidValue(unusable("figure", self.target, wanted, "choose one"))
        for name, least in (("runs", 1), ("horizon", 1), ("seed", 0)):
            whole(name, getattr(self, name), least)
        for panel in self.experiments():
            if self.horizon <= panel.rows_needed:
                wanted = f"more than the memory of {panel.id}, {panel.rows_needed} rows"
                raise InvalidValue(unusable("horizon", self.horizon, wanted, "raise it"))

    @property
    def parts(self) -> tuple[str, ...]:
        """What is written, in order."""
        return TARGETS[:-1] if self.target == "all" else (self.target,)

    def experiments(self) -> tuple[Experiment, ...]:
        """Every setting that is needed, once."""
        needed = {
            panel: None
            for part in self.parts
            for figure in (
                ("fig2", "fig3", "fig4", "fig5", "theory") if part == "claims" else (part,)
            )
            if figure not in ("examples", "coverage")
            for panel in panels(figure, self.horizon, self.readings)
        }
        return tuple(needed)


def readings_of(name: str) -> tuple[Reading, ...]:
    """``both``, or one of the readings.

    >>> readings_of("both")
    ('standardized', 'unit-norm')
    """
    chosen = tuple(reading for reading in READINGS if name in (reading, "both"))
    if not chosen:
        wanted = f"{', '.join(READINGS)} or both"
        raise InvalidValue(unusable("reading", name, wanted, "choose one"))
    return chosen


def workers_of(jobs: int, backend: str, scheduler: str | None) -> Workers:
    """Who does the work, checked."""
    if backend not in get_args(Backend):
        wanted = f"one of {', '.join(get_args(Backend))}"
        raise InvalidValue(unusable("backend", backend, wanted, "choose one"))
    if scheduler is not None and backend != "dask":
        wanted = "none without --backend dask"
        raise InvalidValue(unusable("scheduler", scheduler, wanted, "add it, or leave this out"))
    return Workers(whole("jobs", jobs, 1), backend, scheduler)  # type: ignore[arg-type]


def folder_of(out: Path) -> Path:
    """The folder for the results, made and found writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            return out
    except OSError as error:
        wanted = f"a folder that can be written ({error.strerror})"
        raise InvalidValue(unusable("out", str(out), wanted, "choose another")) from error


@dataclass(frozen=True)
class Reproduced:
    """The files that were written, and what to tell the person."""

    files: tuple[Path, ...]
    text: str
    claims: tuple[Claim, ...] = ()


def reproduce(
    request: Request, out: Path, workers: Workers | None = None, advance: Advance | None = None
) -> Reproduced:
    """Run what is missing, then write every part."""
    folder = folder_of(out)
    found = sweep(
        request.experiments(),
        runs=request.runs,
        seed=request.seed,
        store=Store(folder / ".panels"),
        workers=workers,
        advance=advance,
    )
    writer = _Writer(request, folder, found)
    for part in request.parts:
        writer.write(part)
    return Reproduced(tuple(writer.files), "\n\n".join(writer.texts), writer.claims)


class _Writer:
    """Turns numbers into files, one part after the other."""

    def __init__(self, request: Request, folder: Path, found: Mapping[Experiment, Numbers]) -> None:
        self.request, self.folder, self.found = request, folder, found
        self.files: list[Path] = []
        self.texts: list[str] = []
        self.claims: tuple[Claim, ...] = ()
        self._coverage: tuple[CoverageRow, ...] | None = None

    def write(self, part: str) -> None:
        if part in FIGURES:
            self._figure(part)
        elif part == "examples":
            self._text("examples.txt", render_examples() + "\n", tell=True)
        elif part == "coverage":
            self._text("coverage.csv", to_csv([_coverage_row(row) for row in self.coverage]))
            self._text("coverage.txt", render_coverage(self.coverage) + "\n", tell=True)
        else:
            self._claims()

    @property
    def coverage(self) -> tuple[CoverageRow, ...]:
        """Measured once, for the table and for the claims."""
        if self._coverage is None:
            request = self.request
            self._coverage = coverage_table(contexts=request.readings, seed=request.seed)
        return self._coverage

    def _figure(self, figure: str) -> None:
        from efface.paper import plots

        settings = panels(figure, self.request.horizon, self.request.readings)
        rows = rows_of(figure, {each: self.found[each] for each in settings})
        self._text(f"{figure}.csv", to_csv(rows))
        for reading, part in _by_reading(rows):
            name = figure if reading in (None, "standardized") else f"{figure}-{reading}"
            png, svg = self.folder / f"{name}.png", self.folder / f"{name}.svg"
            with written_beside(png) as one, written_beside(svg) as other:
                plots.save(plots.draw(figure, part), one, other)
            self.files += [png, svg]

    def _claims(self) -> None:
        request = self.request
        self.claims = claims(self.found, self.coverage, examples(), request.readings)
        setting = {"runs": request.runs, "horizon": request.horizon, "seed": request.seed}
        head = (
            f"{request.runs} runs, T = {request.horizon}, seed {request.seed}; "
            "10 runs for Fig. 2 and the theorems' bounds, 2,000 windows for coverage."
        )
        self._text("claims.json", to_json(self.claims, setting))
        self._text("claims.md", to_markdown(self.claims, head), tell=True)

    def _text(self, name: str, text: str, *, tell: bool = False) -> None:
        path = self.folder / name
        with written_beside(path) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
        self.files.append(path)
        if tell:
            self.texts.append(text.rstrip())


def rows_of(figure: str, found: Mapping[Experiment, Numbers]) -> list[Row]:
    """The long form of a figure: a row for each panel, method and time."""
    summarise: Callable[[Experiment, Numbers], Iterator[Row]]
    summarise = _rank_rows if figure == "fig2" else lambda e, n: _method_rows(figure, e, n)
    return [row for each, numbers in found.items() for row in summarise(each, numbers)]


def _rank_rows(setting: Experiment, numbers: Numbers) -> Iterator[Row]:
    assert isinstance(setting, Ranks)
    mean, error = _mean_and_error(numbers["rank"])
    for i, t in enumerate(setting.times):
        yield {
            "figure": "fig2",
            "s": setting.s,
            "t": int(t),
            "runs": len(numbers["rank"]),
            "rank": int(numbers["rank"][0, i]),
            "rank_mean": mean[i],
            "rank_se": error[i],
        }


def _method_rows(figure: str, setting: Experiment, numbers: Numbers) -> Iterator[Row]:
    assert isinstance(setting, Comparison)
    summary = {name: _mean_and_error(numbers[name]) for name in _QUANTITIES[figure]}
    for m, line in enumerate(setting.lines):
        for i, t in enumerate(setting.times):
            yield {
                "figure": figure,
                "reading": setting.reading,
                **{name: getattr(setting, name) for name in ("s", "k", "sigma", "df")},
                "method": line.method,
                "penalty": line.penalty,
                "t": int(t),
                "runs": len(numbers["regret"]),
                **{
                    f"{name}_{what}": values[m, i]
                    for name, pair in summary.items()
                    for what, values in zip(("mean", "se"), pair, strict=True)
                },
            }


def _mean_and_error(runs: Array) -> tuple[Array, Array]:
    """Over the first axis; the standard error of one run is not known."""
    n = len(runs)
    error = runs.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(runs.shape[1:], np.nan)
    return runs.mean(axis=0), error


def _by_reading(rows: Sequence[Row]) -> Iterator[tuple[Reading | None, list[Row]]]:
    for reading in dict.fromkeys(row.get("reading") for row in rows):
        yield reading, [row for row in rows if row.get("reading") == reading]


def _coverage_row(row: CoverageRow) -> Row:
    return {
        "reading": row.contexts,
        "d": row.d,
        "s": row.s,
        "radius": row.radius,
        "norm": row.norm,
        "nominal": row.nominal,
        "coverage": row.coverage,
        "windows": row.replicates,
        "promised": row.valid,
        "falls_short": row.falls_short,
    }


def to_csv(rows: Sequence[Row]) -> str:
    """Columns that some row fills; six digits, the same text for the same rows.

    >>> print(to_csv([{"t": 30, "k": None, "regret_mean": 1 / 3}]), end="")
    t,regret_mean
    30,0.333333
    """
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_spelt(row[name]) for name in columns] for row in rows)
    return text.getvalue()


def _spelt(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value
