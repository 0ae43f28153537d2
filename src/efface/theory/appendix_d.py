"""The four example windows M1..M4 of Appendix D: what the paper says of them and what is so."""

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
class Claim:
    """One figure that the paper gives for an example, beside the figure computed from it."""

    quantity: str
    source: str
    paper: float
    computed: float
    relation: Literal["=", "<="] = "="

    @property
    def holds(self) -> bool:
        """Whether the computed figure stands to the paper's as the paper says."""
        equal = math.isclose(self.computed, self.paper, abs_tol=1e-9)
        return equal or (self.relation == "<=" and self.computed < self.paper)

    @property
    def verdict(self) -> str:
        """The outcome in a word."""
        return "holds" if self.holds else "fails"


@dataclass(frozen=True)
class Example:
    """A window, oldest row first, the row that arrives, and the paper's claims about the slide."""

    name: str
    window: tuple[Row, ...]
    arriving: Row
    term: ForgettingRegretTerm
    swing: RankSwing
    claims: tuple[Claim, ...]
    note: str

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)


def examples() -> tuple[Example, ...]:
    """The windows M1..M4 of Appendix D, each claim of the paper checked.

    M1 leaves its new row v open; it is run with a v outside the span of the window, inside it, and
    long. The terms are those of Definition 2, the ranks those of Definition 1.

    Holds: the arithmetic is exact up to rounding. E5, E7 and E8 show as claims that fail.

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
        _example("M3", _M3, _E1, (1, 0, 1), (0, 0), "all claims hold"),
        _example("M4", _M4, _E3, (1, 1, 1), (1, -1), "E7: e1 leaves as e3 enters, the rank stays"),
    )


def _first(name: str, v: Row) -> Example:
    """M1: the paper lets FRT be 0 whatever v is, because another row equals the deleted one."""
    term, swing = forgetting_regret_term(_M1, _M1[0], v), rank_swing(_M1, _M1[0], v)
    claims = (
        Claim("rank before", "App. D, Case 1", 3, term.rank_before),
        Claim("deleted", "App. D, Case 1", 0, term.deleted),
        Claim("FRT", "App. D, Case 1", 0, term.total),
        Claim("FRT", "Def. 2, range", 2, term.total, "<="),
    )
    note = "E7: the leverage of a row that occurs twice is 1/2"
    if term.total > 2:
        note += "; E5: FRT has no upper limit"
    return Example(name, _M1, v, term, swing, claims, note)


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
    claims = (
        Claim("deleted", f"App. D, {case}, implied", deleted, term.deleted),
        Claim("dissimilarity", f"App. D, {case}", dissimilarity, term.dissimilarity),
        Claim("FRT", f"App. D, {case}", total, term.total),
        Claim("FRT", "Def. 2, range", 2, term.total, "<="),
        Claim("rank change", f"App. D, {case}", changes[0], swing.change),
        Claim("rank change", f"Def. 1, {case}", changes[1], swing.change),
    )
    return Example(name, window, arriving, term, swing, claims, note)


def render_examples(rows: tuple[Example, ...] | None = None) -> str:
    """The examples as a plain-text table: paper's value, computed value, verdict.

    >>> print(render_examples(examples()[4:5]))
    M3  3->3  all claims hold
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
    for claim in example.claims:
        bound = "" if claim.relation == "=" else "<= "
        paper, computed = f"{bound}{claim.paper:.4g}", f"{_tidy(claim.computed):.5g}"
        lines.append(
            f"  {claim.quantity:14} {claim.source:25} paper  {paper:8} "
            f"computed {computed:8} {claim.verdict}"
        )
    return "\n".join(lines)


def _tidy(value: float) -> float:
    """Rounding noise around zero prints as 0."""
    return 0.0 if abs(value) < 1e-12 else value
