"""Tables for people: as text in a terminal, as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan


@dataclass(frozen=True, repr=False)
class SummaryTable:
    """A title, facts about the whole, and one line of numbers per name.

    >>> SummaryTable("OLS", {"live rows": "3"}, ("coef",), {"x0": (0.5,), "x10": (-2.0,)})
    OLS
      live rows  3
           coef
      x0    0.5
      x10    -2
    """

    title: str
    facts: dict[str, str]
    columns: tuple[str, ...]
    lines: Mapping[str, Sequence[float]]

    def __repr__(self) -> str:
        width = max(map(len, self.facts), default=0)
        text = [self.title, *(f"  {name:<{width}}  {fact}" for name, fact in self.facts.items())]
        cells = [["", *self.columns], *([name, *map(figure, v)] for name, v in self.lines.items())]
        sizes = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for name, *numbers in cells if self.lines else ():
            sized = zip(numbers, sizes[1:], strict=True)
            line = "  ".join(f"{cell:>{size}}" for cell, size in sized)
            text.append(f"  {name:<{sizes[0]}}  {line}".rstrip())
        return "\n".join(text)

    def _repr_html_(self) -> str:
        facts = " · ".join(f"{escape(name)}: {escape(fact)}" for name, fact in self.facts.items())
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *self.columns))
        body = "".join(
            f"<tr><th>{escape(name)}</th>"
            + "".join(f"<td>{figure(value)}</td>" for value in values)
            + "</tr>"
            for name, values in self.lines.items()
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        title = f"<p><b>{escape(self.title)}</b><br>{facts}</p>"
        return title + (table if self.lines else "")

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The numbers by name and column."""
        return {
            name: dict(zip(self.columns, map(float, values), strict=True))
            for name, values in self.lines.items()
        }


def figure(value: float) -> str:
    """A number with four digits; nothing for NaN."""
    return "" if isnan(value) else f"{value:.4g}"
