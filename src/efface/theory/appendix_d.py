"""The four example windows M1..M4 of Appendix D: the paper's values and the computed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from efface.theory.quantities import (
    ForgettingRegretTerm,
    RankSwing,
    forgetting_regret_term,
    rank_swing,
)

Row = tuple[float, float, float, float]

_E1: Row = (1.0, 0.0, 0.0, 0.0)
_E2: Row = (0.0, 1.0, 0.0, 0.0)
_E3: Row = (0.0, 0.0, 1.0, 0.0)
_E4: Row = (0.0, 0.0, 0.0, 1.0)

_M1 = (_E4, _E2, _E3, _E4)
_M2 = (_E1, _E2, _E3, _E4)
_M3 = _M4 = (_E1, _E2, _E2, _E4)


@dataclass(frozen=True)
class StatedValue:
    """A value that the paper states for an example, and the value computed from the example."""

    quantity: str
    source: str
    paper: float
    computed: float
    relation: Literal["=", "<="] = "="

    @property
    def holds(self) -> bool:
        """Whether the computed value is equal to (or at most) the paper's, as the paper states."""
        equal = math.isclose(self.computed, self.paper, abs_tol=1e-9)
        return equal or (self.relation == "<=" and self.computed < self.paper)

    @property
    def verdict(self) -> str:
        """``holds`` or ``fails``."""
        return "holds" if self.holds else "fails"


@dataclass(frozen=True)
class Example:
    """A window, oldest row first, the row that arrives, and the values that the paper states."""

    name: str
    window: tuple[Row, ...]
    arriving: Row
    term: ForgettingRegretTerm
    swing: RankSwing
    stated: tuple[StatedValue, ...]
    note: str

    @property
    def holds(self) -> bool:
        """Whether every stated value is right."""
        return all(value.holds for value in self.stated)


def examples() -> tuple[Example, ...]:
    """The windows M1..M4 of Appendix D, with every value that the paper states checked.

    M1 does not specify its new row v. It is computed for a v outside the span of the window, for
    one inside the span, and for a long one. Terms follow Definition 2, ranks Definition 1.

    Holds: up to rounding. The stated values that fail are E5, E7 and E8.

    >>> for example in examples():
    ...     term = example.term
    ...     print(f"{example.name:14} {term.deleted:.2f} {term.rank_before}->{term.rank_after}")
    M1 (v = e1)    0.50 3->4
    M1 (v = e2)    0.50 3->3
    M1 (v = 40 e2) 0.50 3->3
    M2             1.00 4->3
    M3             1.00 3->3
    M4             1.00 3->3
    """
    long_row: Row = (0.0, 40.0, 0.0, 0.0)
    return (
        _first("M1 (v = e1)", _E1),
        _first("M1 (v = e2)", _E2),
        _first("M1 (v = 40 e2)", long_row),
        _example("M2", _M2, _E2, (1, 1, 2), (-1, 1), "E8: Definition 1 has the signs swapped"),
        _example("M3", _M3, _E1, (1, 0, 1), (0, 0), "all values hold"),
        _example("M4", _M4, _E3, (1, 1, 1), (1, -1), "E7: the rank does not change"),
    )


def _first(name: str, v: Row) -> Example:
    """M1: the paper states FRT = 0 for any v, because another row equals the deleted one."""
    term, swing = forgetting_regret_term(_M1, _M1[0], v), rank_swing(_M1, _M1[0], v)
    stated = (
        StatedValue("rank before", "App. D, Case 1", 3, term.rank_before),
        StatedValue("deleted", "App. D, Case 1", 0, term.deleted),
        StatedValue("FRT", "App. D, Case 1", 0, term.total),
        StatedValue("FRT", "Def. 2, range", 2, term.total, "<="),
    )
    note = "E7: the leverage of a row that occurs twice is 1/2"
    if term.total > 2:
        note += "; E5: FRT has no upper limit"
    return Example(name, _M1, v, term, swing, stated, note)


def _example(
    name: str,
    window: tuple[Row, ...],
    arriving: Row,
    terms: tuple[float, float, float],
    changes: tuple[int, int],
    note: str,
) -> Example:
    """An example with the paper's (deleted, dissimilarity, FRT) and its two rank changes."""
    term = forgetting_regret_term(window, window[0], arriving)
    swing, case = rank_swing(window, window[0], arriving), f"Case {name[1]}"
    deleted, dissimilarity, total = terms
    stated = (
        StatedValue("deleted", f"App. D, {case}, implied", deleted, term.deleted),
        StatedValue("dissimilarity", f"App. D, {case}", dissimilarity, term.dissimilarity),
        StatedValue("FRT", f"App. D, {case}", total, term.total),
        StatedValue("FRT", "Def. 2, range", 2, term.total, "<="),
        StatedValue("rank change", f"App. D, {case}", changes[0], swing.change),
        StatedValue("rank change", f"Def. 1, {case}", changes[1], swing.change),
    )
    return Example(name, window, arriving, term, swing, stated, note)


def render_examples(rows: tuple[Example, ...] | None = None) -> str:
    """The examples as a plain-text table: the paper's value, the computed value, the verdict.

    >>> print(render_examples(examples()[4:5]))
    M3  3->3  all values hold
      deleted        App. D, Case 3, implied   paper  1        computed 1        holds
      dissimilarity  App. D, Case 3            paper  0        computed 0        holds
      FRT            App. D, Case 3            paper  1        computed 1        holds
      FRT            Def. 2, range             paper  <= 2     computed 1        holds
      rank change    App. D, Case 3            paper  0        computed 0        holds
      rank change    Def. 1, Case 3            paper  0        computed 0        holds
    """
    return "\n".join(_render(example) for example in (examples() if rows is None else rows))


def _render(example: Example) -> str:
    term = example.term
    lines = [f"{example.name}  {term.rank_before}->{term.rank_after}  {example.note}"]
    for value in example.stated:
        bound = "" if value.relation == "=" else "<= "
        paper, computed = f"{bound}{value.paper:.4g}", f"{_tidy(value.computed):.5g}"
        lines.append(
            f"  {value.quantity:14} {value.source:25} paper  {paper:8} "
            f"computed {computed:8} {value.verdict}"
        )
    return "\n".join(lines)


def _tidy(value: float) -> float:
    """0 for a value that is only rounding."""
    return 0.0 if abs(value) < 1e-12 else value
