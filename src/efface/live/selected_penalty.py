"""The penalty that the live rows select by restricted likelihood and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from efface.engine.events.state import SELECTED, Rule
from efface.live.penalties import Penalty


@final
@dataclass(frozen=True)
class Selected(Penalty):
    """The penalty of the mean exponent over a grid, weighed by the live rows.

    With ``average``, coefficients are averaged over the grid and over two scalings instead.

    >>> Selected().adapts, Selected().unpenalised
    (True, False)
    """

    average: bool = False

    @property
    def rule(self) -> Rule:
        return Rule(SELECTED)
