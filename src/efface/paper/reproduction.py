"""The paper's figures and the verdicts on its findings, written as files into a folder.

``sweep`` runs the settings; their runs are summarised as rows, and the rows are written and drawn.
Stored settings are not run again. Every file is replaced atomically.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efface.errors import InvalidValue, unusable
from efface.inputs.parameters import choice, whole
from efface.paper.claims import claims
from efface.paper.experiments import Experiment, Numbers
from efface.paper.figure_rows import Row, coverage_rows, rows_of, to_csv
from efface.paper.findings import Claim
from efface.paper.methods import METHODS, PAPER_LINES, Method
from efface.paper.scorecard import to_json, to_markdown
from efface.paper.settings import EQUAL_VARIANCE, experiments_for
from efface.paper.simulate import READINGS, Reading
from efface.paper.sweep import Advance, RunStore, Workers, atomic_write, sweep
from efface.theory.appendix_d import examples, render_examples
from efface.theory.coverage import CoverageRow, coverage_table, render_coverage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "memory")
TARGETS = (*FIGURES, "examples", "coverage", "claims", "all")


@dataclass(frozen=True)
class ReproductionPlan:
    """What to reproduce, checked.

    >>> len(ReproductionPlan("fig3", runs=2, horizon=90).experiments())
    12
    """

    target: str
    runs: int = 100
    horizon: int = 3000
    readings: tuple[Reading, ...] = ("standardized",)
    seed: int = 0
    methods: tuple[Method, ...] = PAPER_LINES

    def __post_init__(self) -> None:
        choice("target", self.target, TARGETS)
        for name, least in (("runs", 1), ("horizon", 1), ("seed", 0)):
            whole(name, getattr(self, name), least)
        largest = max(self.experiments(), key=lambda each: each.rows_needed, default=None)
        if largest is not None and self.horizon <= largest.rows_needed:
            expected = f"more than {largest.rows_needed}, the window of setting {largest.id}"
            raise InvalidValue(unusable("horizon", self.horizon, expected, "increase it"))

    @property
    def parts(self) -> tuple[str, ...]:
        """The targets to write, in order."""
        return TARGETS[:-1] if self.target == "all" else (self.target,)

    def experiments(self) -> tuple[Experiment, ...]:
        """Every setting that is needed, once."""
        needs = {
            "claims": ("fig2", "fig3", "fig4", "fig5", "memory", "theory"),
            "fig1": (),
            "examples": (),
            "coverage": (),
        }
        figures = (figure for part in self.parts for figure in needs.get(part, (part,)))
        about = self.horizon, self.readings, self.methods
        needed = (experiments_for(figure, *about) for figure in figures)
        return tuple(dict.fromkeys(each for settings in needed for each in settings))


def readings_of(name: str) -> tuple[Reading, ...]:
    """The reading of this name, or all of them for ``both``.

    >>> readings_of("both")
    ('standardized', 'unit-norm')
    """
    choice("reading", name, (*READINGS, "both"))
    return tuple(reading for reading in READINGS if name in (reading, "both"))


def methods_of(names: str) -> tuple[Method, ...]:
    """The methods of a list of names such as ``adaptive,fixed,auto``, or ``all`` of them.

    >>> methods_of("fixed, adaptive")
    ('adaptive', 'fixed')
    """
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        choice("methods", name, (*METHODS, "all"))
    return tuple(method for method in METHODS if method in wanted or "all" in wanted)


def workers_of(jobs: int) -> Workers:
    """Where tasks run, checked."""
    return Workers(whole("jobs", jobs, 1))


def folder_of(out: Path) -> Path:
    """The folder for the results, created if needed and checked to be writable."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            return out
    except OSError as error:
        expected = f"a writable folder ({error.strerror})"
        raise InvalidValue(unusable("out", str(out), expected, "choose another folder")) from error


@dataclass(frozen=True)
class Reproduced:
    """The files that were written, and the text to print."""

    files: tuple[Path, ...]
    text: str
    claims: tuple[Claim, ...] = ()


def reproduce(
    plan: ReproductionPlan,
    out: Path,
    workers: Workers | None = None,
    advance: Advance | None = None,
) -> Reproduced:
    """Run the settings that are not stored yet, then write every target."""
    folder = folder_of(out)
    store = RunStore(folder / ".runs")
    found = sweep(
        plan.experiments(),
        runs=plan.runs,
        seed=plan.seed,
        store=store,
        workers=workers,
        advance=advance,
    )
    writer = _Writer(plan, folder, found, store)
    for part in plan.parts:
        writer.write(part)
    if plan.target not in ("claims", "all"):
        writer.judge(plan.target)
    return Reproduced(tuple(writer.files), "\n\n".join(writer.texts), writer.claims)


class _Writer:
    """Writes the files of each target."""

    def __init__(
        self,
        plan: ReproductionPlan,
        folder: Path,
        found: Mapping[Experiment, Numbers],
        store: RunStore,
    ) -> None:
        self.plan, self.folder, self.found, self.store = plan, folder, found, store
        self.files: list[Path] = []
        self.texts: list[str] = []
        self.claims: tuple[Claim, ...] = ()

    def write(self, part: str) -> None:
        if part in FIGURES:
            self._figure(part)
        elif part == "examples":
            self._text("examples.txt", render_examples() + "\n", show=True)
        elif part == "coverage":
            self._text("coverage.csv", to_csv(coverage_rows(self.coverage)))
            self._text("coverage.txt", render_coverage(self.coverage) + "\n", show=True)
        else:
            self._claims()

    @cached_property
    def coverage(self) -> tuple[CoverageRow, ...]:
        """Measured once, for the table and for the claims, and stored like the runs."""
        about: dict[str, Any] = {"contexts": self.plan.readings, "seed": self.plan.seed}
        rows = self.store.table(
            "coverage", about, lambda: [asdict(row) for row in coverage_table(**about)]
        )
        return tuple(CoverageRow(**row) for row in rows)

    def judge(self, target: str) -> None:
        """The verdicts on the findings of one target."""
        rows = self.coverage if target == "coverage" else ()
        about = self.plan.readings
        self.claims = claims(
            self.found, rows, examples(), about, methods=self.plan.methods, target=target
        )

    def _figure(self, figure: str) -> None:
        if figure == "fig1":
            self._draw_with_caption(figure, figure, [])
            return
        settings = experiments_for(figure, self.plan.horizon, self.plan.readings, self.plan.methods)
        names = ("fig4", EQUAL_VARIANCE) if figure == "fig4" else (figure,)
        for name in names:
            mine = [each for each in settings if getattr(each, "figure", name) in (name, "fig3")]
            self._rows_and_drawings(name, {each: self.found[each] for each in mine})

    def _rows_and_drawings(self, figure: str, found: Mapping[Experiment, Numbers]) -> None:
        from efface.paper import plots

        rows = rows_of(figure, found, self.plan.methods)
        self._text(f"{figure}.csv", to_csv(rows))
        pages: list[str] = []
        for reading, part in groupby(rows, key=lambda row: row.get("reading")):
            suffix = "" if reading in (None, "standardized") else f"-{reading}"
            shown = list(part)
            pages.append(self._draw_with_caption(figure, f"{figure}{suffix}", shown))
            if figure in plots.RELATIVE:
                relative = f"{figure}-relative"
                pages.append(self._draw_with_caption(relative, f"{relative}{suffix}", shown))
        title = "Error against memory" if figure == "memory" else f"Fig. {figure[3]}"
        title += ", at equal variance" if figure == EQUAL_VARIANCE else ""
        self._text(f"{figure}.md", "\n\n".join([f"# {title}", *pages]) + "\n")

    def _draw_with_caption(self, figure: str, name: str, rows: list[Row]) -> str:
        """Draw a figure; returns its caption and the table of its last values."""
        from efface.paper import captions, plots

        self._draw(name, plots.draw(figure, rows))
        text = captions.caption(figure, rows)
        table = "" if figure.endswith("-relative") else captions.last_values(figure, rows)
        image = f"![{text.split('**')[1].rstrip('.')}]({name}.png)"
        return "\n\n".join(part for part in (image, text, table) if part)

    def _draw(self, name: str, drawn: Figure) -> None:
        from efface.paper import plots

        png, svg = self.folder / f"{name}.png", self.folder / f"{name}.svg"
        with atomic_write(png) as png_file, atomic_write(svg) as svg_file:
            plots.save(drawn, png_file, svg_file)
        self.files += [png, svg]

    def _claims(self) -> None:
        plan = self.plan
        about: Any = {"methods": plan.methods}
        self.claims = claims(self.found, self.coverage, examples(), plan.readings, **about)
        setting = {"runs": plan.runs, "horizon": plan.horizon, "seed": plan.seed}
        head = (
            f"{plan.runs} runs, T = {plan.horizon}, seed {plan.seed}; "
            "at most 10 for Fig. 2, deletions and the theorems' bounds, 5 for the corrected bound "
            "and the streams of `swings`; 2,000 windows for coverage."
        )
        self._text("claims.json", to_json(self.claims, setting))
        self._text("claims.md", to_markdown(self.claims, head), show=True)

    def _text(self, name: str, text: str, *, show: bool = False) -> None:
        path = self.folder / name
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
        self.files.append(path)
        if show:
            self.texts.append(text.rstrip())
