"""The results under one reading: what a finding is decided from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from efface.paper.comparisons import AutoComparison, Comparison, Subplot
from efface.paper.experiments import Experiment, Numbers, Ranks
from efface.paper.methods import Line, Method
from efface.paper.simulate import Reading
from efface.paper.verdicts import Place, jackknife
from efface.theory.appendix_d import Example
from efface.theory.coverage import CoverageRow
from efface.theory.geometry import Array

PAPER_METHODS = ("adaptive", "switching", "fixed")

Setting = TypeVar("Setting", bound=Experiment)


@dataclass(frozen=True)
class MeasuredSubplot:
    """A panel of a figure and the numbers of its runs."""

    setting: Subplot
    numbers: Numbers

    @property
    def runs(self) -> int:
        return len(self.numbers["regret"])

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

    @property
    def paper_lines(self) -> list[Line]:
        """The methods that the paper compares."""
        return [line for line in self.setting.lines if line.method in PAPER_METHODS]

    @property
    def fixed_lines(self) -> list[Line]:
        """The paper's fixed penalties."""
        return [line for line in self.setting.lines if line.method == "fixed"]

    def only(self, method: Method) -> Line:
        """The line of a method that occurs once."""
        (line,) = (each for each in self.setting.lines if each.method == method)
        return line

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
        self.reading = reading
        mine = (each for each in found if each.reading == reading or each.either)
        self.found = {each: found[each] for each in mine}
        self.ranks = {each: found[each] for each in found if isinstance(each, Ranks)}
        self.coverage = [row for row in coverage if row.contexts == reading]
        self.examples = examples

    def of(self, kind: type[Setting]) -> Iterator[tuple[Setting, Numbers]]:
        """The experiments of one kind, with their numbers."""
        return ((each, n) for each, n in self.found.items() if isinstance(each, kind))

    def subplots(self, figure: str, kind: type[Subplot] = Comparison) -> list[MeasuredSubplot]:
        """The panels of a figure, in its order."""
        return [
            MeasuredSubplot(each, numbers)
            for each, numbers in self.found.items()
            if type(each) is kind and each.figure == figure
        ]

    def paired_with_auto(self, figure: str) -> Iterator[tuple[MeasuredSubplot, MeasuredSubplot]]:
        """Each panel with that of ``AutoRidge``, which has the same runs; nothing without it."""
        auto = {each.setting.id: each for each in self.subplots(figure, AutoComparison)}
        return ((each, auto[each.setting.id]) for each in self.subplots(figure) if auto)

    def rows(self, figure: str, along: str, across: str) -> list[list[MeasuredSubplot]]:
        """For each value of ``across``, the panels of a figure in increasing order of ``along``."""
        ordered = sorted(
            self.subplots(figure), key=lambda each: float(getattr(each.setting, along))
        )
        values = dict.fromkeys(getattr(each.setting, across) for each in self.subplots(figure))
        return [
            [each for each in ordered if getattr(each.setting, across) == value] for value in values
        ]


Places = Iterator[Place]
#: Yields one number with its standard error for each setting and method of a finding.
Measure = Callable[[Evidence], Places]
