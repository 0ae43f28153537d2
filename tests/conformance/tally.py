"""What was compared, how close it came to its limit, and what disagreed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from conformance.oracle import Answer
from conformance.subjects import Fit


class Finding(NamedTuple):
    """A disagreement: what kind, with which seed, after how many states of the cell, and how."""

    kind: str
    seed: int
    state: int
    text: str


class Disagreement(AssertionError):
    """A state that is not the right one; ends its history."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


@dataclass
class Tally:
    """The count of one cell of the table: a design on a path."""

    states: int = 0
    comparisons: int = 0
    worst: float = 0.0  # error over tolerance
    findings: list[Finding] = field(default_factory=list)

    def agree(self, kind: str, right: bool, text: str) -> None:
        """Count a comparison that has no tolerance."""
        self.comparisons += 1
        if not right:
            raise Disagreement(kind, text)

    def close(self, kind: str, error: float, text: str) -> None:
        """Count a comparison; ``error`` is in units of what is allowed."""
        self.comparisons += 1
        if not error <= 1.0:
            raise Disagreement(kind, f"{error:.3g} times the allowed error: {text}")
        self.worst = max(self.worst, error)

    def compare(self, answer: Answer, fit: Fit, text: str) -> None:
        """Count a state: a fit against the right answer."""
        self.states += 1
        if fit.penalty is not None:
            told = f"penalty {fit.penalty!r}, right is {answer.penalty!r}; {text}"
            self.close("penalty", answer.penalty_error(fit.penalty), told)
        if not answer.decidable:
            return
        if fit.rank is not None:
            told = f"rank {fit.rank}, right is {answer.rank}; {text}"
            self.agree("rank", fit.rank == answer.rank, told)
        told = f"{fit.coef} and {fit.intercept:.6g}, right are {answer.coef} and "
        told += f"{answer.intercept:.6g} (condition {answer.condition:.2g}); {text}"
        self.close("coefficients", answer.coefficient_error(fit.coef), told)
        self.close("intercept", answer.intercept_error(fit.intercept), told)

    def predicted(self, answer: Answer, x: np.ndarray, prediction: float, text: str) -> None:
        if answer.decidable:
            told = f"{prediction!r}, right is {answer.prediction(x)!r}; {text}"
            self.close("prediction", answer.prediction_error(x, prediction), told)

    def found(self, seed: int, disagreement: Disagreement) -> None:
        self.findings.append(Finding(disagreement.kind, seed, self.states, disagreement.text))

    def plain(self) -> dict[str, Any]:
        """As values that a test report can carry."""
        return {
            "states": self.states,
            "comparisons": self.comparisons,
            "worst": float(self.worst),
            "findings": [
                (kind, int(seed), state, text) for kind, seed, state, text in self.findings
            ],
        }


def table(cells: Iterable[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """One line per design: the worst error over tolerance by path, states and comparisons.

    A number after "!" counts the seeds that disagree.
    """
    designs: dict[str, dict[str, dict[str, Any]]] = {}
    for design, path, cell in cells:
        designs.setdefault(design, {})[path] = cell
    paths = sorted({path for found in designs.values() for path in found if path})
    heads = "".join(f"{path:>11}" for path in paths)
    lines = [f"{'design or topic':<28}{heads}{'states':>11}{'compared':>11}"]
    for design, found in designs.items():
        row = "".join(f"{_shown(found.get(path)):>11}" for path in paths)
        if "" in found:
            row = f"{_shown(found['']):>{max(len(row), 11)}}"
        lines.append(f"{design:<28}{row}{_totals(found.values())}")
    every = [cell for found in designs.values() for cell in found.values()]
    lines.append(f"{'all':<28}{'':{len(heads)}}{_totals(every)}")
    for design, found in designs.items():
        for path, cell in found.items():
            for kind, seed, state, text in cell["findings"][:1]:
                where = f"{design}, {path}" if path else design
                lines.append(f"{where}: first at seed {seed}, state {state}: {kind}: {text[:200]}")
    return lines


def _shown(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "-"
    found = f" !{len(cell['findings'])}" if cell["findings"] else ""
    return f"{cell['worst']:.0e}{found}"


def _totals(cells: Iterable[dict[str, Any]]) -> str:
    found = list(cells)
    states, compared = (sum(cell[name] for cell in found) for name in ("states", "comparisons"))
    return f"{states:>11,}{compared:>11,}"
