"""The numbers that decide a finding, computed from the runs of the experiments.

A measure yields one number with its standard error for each setting and method of a finding. Its
last positional argument is the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from efface.paper.experiments import (
    SIGMAS,
    Comparison,
    Experiment,
    ForgettingTerms,
    Line,
    Numbers,
    Ranks,
)
from efface.paper.simulate import Reading
from efface.paper.verdicts import Place, jackknife
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow
from efface.theory.geometry import Array


@dataclass(frozen=True)
class MeasuredComparison:
    """A comparison and the numbers of its runs: one panel of a figure."""

    setting: Comparison
    numbers: Numbers

    @property
    def steps(self) -> int:
        return self.setting.horizon - self.setting.rows_needed

    def line(self, name: str, line: Line) -> Array:
        """One quantity of a method, of shape (runs, times)."""
        return np.asarray(self.numbers[name][:, self.setting.lines.index(line)])

    def total(self, line: Line) -> Array:
        """The regret of each run at the horizon, divided by the number of predictions."""
        return np.asarray(self.line("regret", line)[:, -1] / self.steps)

    def mean_l2(self, line: Line) -> Array:
        """The L2 error of each run, averaged over time."""
        return np.asarray(self.line("l2", line).mean(axis=1))

    def fixed(self, factor: float) -> Line:
        """The fixed penalty of ``factor`` times sigma."""
        return Line("fixed", factor * self.setting.sigma)

    def place(self, statistic: Callable[..., float], *samples: Array, detail: str) -> Place:
        """A statistic of the runs, with its standard error."""
        return Place(self.setting.id, *jackknife(statistic, *samples), detail)


class Evidence:
    """All results under one reading."""

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

    def of(self, kind: type[Experiment]) -> Iterator[tuple[str, Numbers]]:
        """The ids and numbers of the experiments of one kind."""
        return ((each.id, n) for each, n in self.found.items() if isinstance(each, kind))

    def comparisons(self, figure: str) -> list[MeasuredComparison]:
        """The panels of a figure, in its order."""
        return [
            MeasuredComparison(each, numbers)
            for each, numbers in self.found.items()
            if isinstance(each, Comparison) and each.figure == figure
        ]

    def rows(self, figure: str, along: str, across: str) -> list[list[MeasuredComparison]]:
        """For each value of ``across``, the panels of a figure in increasing order of ``along``."""
        ordered = sorted(
            self.comparisons(figure), key=lambda each: float(getattr(each.setting, along))
        )
        values = dict.fromkeys(getattr(each.setting, across) for each in self.comparisons(figure))
        return [
            [each for each in ordered if getattr(each.setting, across) == value] for value in values
        ]


Places = Iterator[Place]
Measure = Callable[[Evidence], Places]
Quantity = Callable[[MeasuredComparison, Line], Array]

ADAPTIVE = Line("adaptive")
SWITCHING = Line("switching")


def _ratio(above: Array, below: Array) -> float:
    return float(above.mean() / below.mean())


def _name(line: Line) -> str:
    return line.method if line.penalty is None else f"fixed {line.penalty:g}"


def growth_exponents(figure: str, evidence: Evidence) -> Places:
    """p of R ~ (number of predictions)^p over the second half of the horizon."""
    for measured in evidence.comparisons(figure):
        predictions = measured.setting.times - measured.setting.rows_needed
        half = int(np.searchsorted(predictions, predictions[-1] / 2))
        growth = math.log(predictions[-1] / predictions[half])
        for line in measured.setting.lines:
            regret = measured.line("regret", line)
            yield measured.place(
                lambda late, early, growth=growth: math.log(_ratio(late, early)) / growth,
                regret[:, -1],
                regret[:, half],
                detail=_name(line),
            )


def step_ratios(
    figure: str,
    along: str,
    across: str,
    quantity: Quantity,
    evidence: Evidence,
    *,
    lines: slice = slice(None),
) -> Places:
    """The ratio of a method's quantity to that of the previous panel, along a row or column."""
    for row in evidence.rows(figure, along, across):
        for before, after in pairwise(row):
            pairs = list(zip(before.setting.lines, after.setting.lines, strict=True))
            for old, new in pairs[lines]:
                samples = quantity(after, new), quantity(before, old)
                start = f"{along}={getattr(before.setting, along):g}"
                yield after.place(_ratio, *samples, detail=f"{_name(new)}, from {start}")


def ratios_to_the_best(
    figure: str, quantity: Quantity, evidence: Evidence, *, sigmas: Sequence[float] = SIGMAS
) -> Places:
    """A quantity of the adaptive ridge over that of the best fixed penalty."""

    def over_best(adaptive: Array, fixed: Array) -> float:
        return float(adaptive.mean() / fixed.mean(axis=0).min())

    for measured in evidence.comparisons(figure):
        if measured.setting.sigma in sigmas:
            fixed = [line for line in measured.setting.lines if line.method == "fixed"]
            table = np.column_stack([quantity(measured, line) for line in fixed])
            best = _name(fixed[int(table.mean(axis=0).argmin())])
            adaptive = quantity(measured, ADAPTIVE)
            yield measured.place(over_best, adaptive, table, detail=f"best {best}")


def regret_ratios(
    figure: str,
    top: Line | float,
    bottom: Line | float,
    evidence: Evidence,
    *,
    sigmas: Sequence[float] = SIGMAS,
) -> Places:
    """The regret of one method over that of another; a number is a fixed penalty over sigma."""
    for measured in evidence.comparisons(figure):
        if measured.setting.sigma in sigmas:
            one, other = (
                line if isinstance(line, Line) else measured.fixed(line) for line in (top, bottom)
            )
            samples = measured.total(one), measured.total(other)
            yield measured.place(_ratio, *samples, detail=f"{_name(one)} / {_name(other)}")


def l2_levels(evidence: Evidence) -> Places:
    """The L2 error of the adaptive ridge, averaged over time."""
    for measured in evidence.comparisons("fig3"):
        yield measured.place(np.mean, measured.mean_l2(ADAPTIVE), detail="adaptive")


def l2_bars(evidence: Evidence) -> Places:
    """The width of the adaptive error bars over that of each fixed penalty, averaged over time."""

    def widths(adaptive: Array, fixed: Array) -> float:
        return float(adaptive.std(axis=0, ddof=1).mean() / fixed.std(axis=0, ddof=1).mean())

    for measured in evidence.comparisons("fig3"):
        if len(measured.numbers["l2"]) < 3:
            yield Place(measured.setting.id, math.inf, math.inf, "too few runs")
            continue
        for line in measured.setting.lines[1:]:
            samples = measured.line("l2", ADAPTIVE), measured.line("l2", line)
            yield measured.place(widths, *samples, detail=f"over {_name(line)}")


def sensitivities(figure: str, along: str, evidence: Evidence) -> Places:
    """Growth of the regret of small fixed penalties along a column, over that of the adaptive."""

    def contrast(a: Array, b: Array, c: Array, d: Array) -> float:
        return _ratio(a, b) / _ratio(c, d)

    for row in evidence.rows(figure, along, "s"):
        low, high = (row[-1], row[0]) if along == "df" else (row[0], row[-1])
        for factor in (1.0, 10.0):
            fixed = [each.total(each.fixed(factor)) for each in (high, low)]
            adaptive = [each.total(ADAPTIVE) for each in (high, low)]
            detail = f"lam = {factor:g} sigma, against {low.setting.id.split(',')[1]}"
            yield high.place(contrast, *fixed, *adaptive, detail=detail)


def rank_falls(evidence: Evidence) -> Places:
    """The share of steps that lower the rank."""
    for setting, numbers in evidence.ranks.items():
        falls = (np.diff(numbers["rank"], axis=1) < 0).mean(axis=1)
        yield Place(setting.id, *jackknife(np.mean, falls), "share of steps that lower the rank")


def largest_terms(evidence: Evidence) -> Places:
    """The largest forgetting regret term of a run."""
    for name, numbers in evidence.of(ForgettingTerms):
        share = 100 * numbers["frt_above_2"].mean()
        largest = jackknife(np.mean, numbers["frt_largest"])
        yield Place(name, *largest, f"above 2 at {share:.3g} % of the steps")


def lemma_2_slack(evidence: Evidence) -> Places:
    """(bound - term) / term, for the representation term and its bound in Lemma 2."""

    def slack(bound: Array, term: Array) -> float:
        return float((bound - term).mean() / term.mean())

    for name, numbers in evidence.of(ForgettingTerms):
        bound, term = numbers["lemma_2"], numbers["representation"]
        share = 100 * (term <= bound).mean()
        yield Place(name, *jackknife(slack, bound, term), f"true in {share:.3g} % of the runs")


def coverages(radius: str, evidence: Evidence) -> Places:
    """The measured coverage of a radius."""
    for row in evidence.coverage:
        if row.radius == radius:
            error = math.sqrt(row.nominal * (1 - row.nominal) / row.replicates)
            yield Place(f"coverage/d={row.d},s={row.s}", row.coverage, error, radius)


def bound_factors(kind: type[Experiment], which: str, evidence: Evidence) -> Places:
    """log10 of the bound over the regret."""
    for name, numbers in evidence.of(kind):
        factors = numbers[which] / numbers["abs_regret"]
        undefined = 100 * np.isnan(factors).mean()
        least = f"at least {factors.min():.3g} times the regret"
        detail = f"undefined in {undefined:.3g} % of the runs" if undefined else least
        yield Place(name, *jackknife(np.mean, np.log10(factors)), detail)


def wrong_values(name: str, evidence: Evidence) -> Places:
    """The number of wrong values that the paper states for one of its example windows."""
    for example in evidence.examples:
        if example.name.startswith(name):
            wrong = [value for value in example.stated if not value.holds]
            detail = ", ".join(f"{value.quantity} ({value.source})" for value in wrong)
            yield Place(f"examples/{example.name}", float(len(wrong)), 0.0, detail)
