"""Where the numbers behind a finding lie, and how they become one number in each place.

Every function with ``Evidence -> places`` in its type looks at all panels that a finding is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from efface.paper.experiments import SIGMAS, Comparison, Experiment, Line, Numbers, Ranks, Slides
from efface.paper.simulate import Array, Reading
from efface.paper.verdicts import Place, jackknife
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow


@dataclass(frozen=True)
class Panel:
    """A comparison and its numbers."""

    setting: Comparison
    numbers: Numbers

    @property
    def steps(self) -> int:
        return self.setting.horizon - self.setting.rows_needed

    def line(self, name: str, line: Line) -> Array:
        """A method's numbers, (runs, times)."""
        return np.asarray(self.numbers[name][:, self.setting.lines.index(line)])

    def total(self, line: Line) -> Array:
        """Each run's regret at the horizon, a prediction."""
        return np.asarray(self.line("regret", line)[:, -1] / self.steps)

    def mean_l2(self, line: Line) -> Array:
        """Each run's L2 error, averaged over time."""
        return np.asarray(self.line("l2", line).mean(axis=1))


class Evidence:
    """Everything found under one reading."""

    def __init__(
        self,
        reading: Reading,
        found: Mapping[Experiment, Numbers],
        coverage: Sequence[CoverageRow],
        examples: Sequence[Example],
    ) -> None:
        self.found = {each: found[each] for each in found if each.reading == reading}
        self.ranks = {each: found[each] for each in found if isinstance(each, Ranks)}
        self.coverage = [row for row in coverage if row.contexts == reading]
        self.examples = examples

    def panels(self, figure: str) -> list[Panel]:
        """The panels of a figure, in its order."""
        return [
            Panel(each, numbers)
            for each, numbers in self.found.items()
            if isinstance(each, Comparison) and each.figure == figure
        ]

    def rows(self, figure: str, along: str, across: str) -> list[list[Panel]]:
        """The panels of a figure that differ in ``along`` alone, for every value of ``across``."""
        panels = self.panels(figure)
        values = dict.fromkeys(getattr(panel.setting, across) for panel in panels)
        return [
            sorted(
                (panel for panel in panels if getattr(panel.setting, across) == value),
                key=lambda panel: float(getattr(panel.setting, along)),
            )
            for value in values
        ]


Places = Iterator[Place]
ADAPTIVE = Line("adaptive")
SWITCHING = Line("switching")


def _ratio(above: Array, below: Array) -> float:
    return float(above.mean() / below.mean())


def _place(panel: Panel, statistic: Callable[..., float], *samples: Array, detail: str) -> Place:
    return Place(panel.setting.id, *jackknife(statistic, *samples), detail)


def _name(line: Line) -> str:
    return line.method if line.penalty is None else f"fixed {line.penalty:g}"


def growth_exponents(figure: str) -> Callable[[Evidence], Places]:
    """p of R ~ (number of predictions)^p over the second half of the horizon."""

    def look(evidence: Evidence) -> Places:
        for panel in evidence.panels(figure):
            made = panel.setting.times - panel.setting.rows_needed
            half = int(np.searchsorted(made, made[-1] / 2))
            growth = math.log(made[-1] / made[half])
            for line in panel.setting.lines:
                regret = panel.line("regret", line)
                yield _place(
                    panel,
                    lambda late, early, growth=growth: math.log(_ratio(late, early)) / growth,
                    regret[:, -1],
                    regret[:, half],
                    detail=_name(line),
                )

    return look


def step_ratios(
    figure: str,
    along: str,
    across: str,
    measure: Callable[[Panel, Line], Array],
    lines: slice = slice(None),
) -> Callable[[Evidence], Places]:
    """The ratio of a method's measure to that of the panel before it, along a row or column."""

    def look(evidence: Evidence) -> Places:
        for row in evidence.rows(figure, along, across):
            for before, after in pairwise(row):
                pairs = list(zip(before.setting.lines, after.setting.lines, strict=True))
                for old, new in pairs[lines]:
                    samples = measure(after, new), measure(before, old)
                    start = f"{along}={getattr(before.setting, along):g}"
                    yield _place(after, _ratio, *samples, detail=f"{_name(new)}, from {start}")

    return look


def ratios_to_the_best(
    figure: str, measure: Callable[[Panel, Line], Array], sigmas: Sequence[float] = SIGMAS
) -> Callable[[Evidence], Places]:
    """The adaptive ridge's measure over that of the best fixed penalty."""

    def over_best(adaptive: Array, fixed: Array) -> float:
        return float(adaptive.mean() / fixed.mean(axis=0).min())

    def look(evidence: Evidence) -> Places:
        for panel in evidence.panels(figure):
            if panel.setting.sigma in sigmas:
                fixed = [line for line in panel.setting.lines if line.method == "fixed"]
                table = np.column_stack([measure(panel, line) for line in fixed])
                best = _name(fixed[int(table.mean(axis=0).argmin())])
                yield _place(
                    panel, over_best, measure(panel, ADAPTIVE), table, detail=f"best {best}"
                )

    return look


def regret_ratios(
    figure: str,
    top: Callable[[Panel], Line],
    bottom: Callable[[Panel], Line],
    sigmas: Sequence[float] = SIGMAS,
) -> Callable[[Evidence], Places]:
    """The regret of one method over that of another."""

    def look(evidence: Evidence) -> Places:
        for panel in evidence.panels(figure):
            if panel.setting.sigma in sigmas:
                one, other = top(panel), bottom(panel)
                yield _place(
                    panel,
                    _ratio,
                    panel.total(one),
                    panel.total(other),
                    detail=f"{_name(one)} / {_name(other)}",
                )

    return look


def fixed_line(factor: float) -> Callable[[Panel], Line]:
    return lambda panel: Line("fixed", factor * panel.setting.sigma)


def l2_levels(evidence: Evidence) -> Places:
    for panel in evidence.panels("fig3"):
        yield _place(panel, np.mean, panel.mean_l2(ADAPTIVE), detail="adaptive")


def l2_bars(evidence: Evidence) -> Places:
    """The width of the adaptive error bars over that of each fixed penalty, averaged over time."""

    def widths(adaptive: Array, fixed: Array) -> float:
        return float(adaptive.std(axis=0, ddof=1).mean() / fixed.std(axis=0, ddof=1).mean())

    for panel in evidence.panels("fig3"):
        if len(panel.numbers["l2"]) < 3:
            yield Place(panel.setting.id, math.inf, math.inf, "too few runs")
            continue
        for line in panel.setting.lines[1:]:
            samples = panel.line("l2", ADAPTIVE), panel.line("l2", line)
            yield _place(panel, widths, *samples, detail=f"over {_name(line)}")


def sensitivities(figure: str, along: str) -> Callable[[Evidence], Places]:
    """How much more the regret of small fixed penalties grows along a column than the adaptive."""

    def contrast(a: Array, b: Array, c: Array, d: Array) -> float:
        return _ratio(a, b) / _ratio(c, d)

    def look(evidence: Evidence) -> Places:
        for row in evidence.rows(figure, along, "s"):
            calm, wild = (row[-1], row[0]) if along == "df" else (row[0], row[-1])
            for factor in (1.0, 10.0):
                ends = [panel.total(fixed_line(factor)(panel)) for panel in (wild, calm)]
                ours = [panel.total(ADAPTIVE) for panel in (wild, calm)]
                detail = f"lam = {factor:g} sigma, against {calm.setting.id.split(',')[1]}"
                yield _place(wild, contrast, *ends, *ours, detail=detail)

    return look


def rank_falls(evidence: Evidence) -> Places:
    for setting, numbers in evidence.ranks.items():
        falls = (np.diff(numbers["rank"], axis=1) < 0).mean(axis=1)
        yield Place(setting.id, *jackknife(np.mean, falls), "share of slides that lower the rank")


def _slides(evidence: Evidence) -> Iterator[tuple[str, Numbers]]:
    return ((e.id, n) for e, n in evidence.found.items() if isinstance(e, Slides))


def largest_terms(evidence: Evidence) -> Places:
    for name, numbers in _slides(evidence):
        share = 100 * numbers["frt_above_2"].mean()
        largest = jackknife(np.mean, numbers["frt_largest"])
        yield Place(name, *largest, f"above 2 at {share:.3g} % of the slides")


def lemma_2_slack(evidence: Evidence) -> Places:
    def slack(bound: Array, term: Array) -> float:
        return float((bound - term).mean() / term.mean())

    for name, numbers in _slides(evidence):
        bound, term = numbers["lemma_2"], numbers["representation"]
        share = 100 * (term <= bound).mean()
        yield Place(name, *jackknife(slack, bound, term), f"true in {share:.3g} % of the runs")


def coverages(radius: str) -> Callable[[Evidence], Places]:
    def look(evidence: Evidence) -> Places:
        for row in evidence.coverage:
            if row.radius == radius:
                error = math.sqrt(row.nominal * (1 - row.nominal) / row.replicates)
                yield Place(f"coverage/d={row.d},s={row.s}", row.coverage, error, radius)

    return look


def bound_factors(kind: type[Experiment], which: str) -> Callable[[Evidence], Places]:
    """log10 of how many times the regret a bound is."""

    def look(evidence: Evidence) -> Places:
        for setting, numbers in evidence.found.items():
            if isinstance(setting, kind):
                factors = numbers[which] / numbers["abs_regret"]
                lacking = 100 * np.isnan(factors).mean()
                least = f"at least {factors.min():.3g} times the regret"
                detail = f"no number in {lacking:.3g} % of the runs" if lacking else least
                yield Place(setting.id, *jackknife(np.mean, np.log10(factors)), detail)

    return look


def wrong_figures(name: str) -> Callable[[Evidence], Places]:
    """How many of the paper's figures for one of its example windows are wrong."""

    def look(evidence: Evidence) -> Places:
        for example in evidence.examples:
            if example.name.startswith(name):
                wrong = [value for value in example.stated if not value.holds]
                detail = ", ".join(f"{value.quantity} ({value.source})" for value in wrong)
                yield Place(f"examples/{example.name}", float(len(wrong)), 0.0, detail)

    return look
