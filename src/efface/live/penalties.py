"""Penalties: how the penalty of a ridge regression follows from the live rows; one class per rule.

A rule gives the parameters that compiled code reads. A new rule is a class here, or in a module of
its own, and one line in ``solvers``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import final

from efface.engine.events.pilot import AUTO, RESIDUAL, RESPONSE
from efface.engine.events.state import FADING, FIXED, GIVEN, LEMMA_3, PILOT, SELECTED, Rule

__all__ = ["AUTO", "RESIDUAL", "RESPONSE", "Fixed", "Lemma3", "Penalty", "Selected"]


class Penalty(ABC):
    """A rule for the penalty."""

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """The parameters of the rule."""

    @property
    def pilot(self) -> Rule | None:
        """Those of the pilot fit that the rule needs, or None."""
        return None

    @property
    def applied(self) -> Rule:
        """Those of the fit itself: the penalty is given anew per event if there is a pilot fit."""
        return self.rule if self.pilot is None else Rule(GIVEN)

    @property
    def adapts(self) -> bool:
        """Does the penalty depend on the live rows?"""
        return self.rule.kind != FIXED

    @property
    def unpenalised(self) -> bool:
        """Is the penalty 0 whatever the rows?"""
        return self.rule.kind == FIXED and self.rule.alpha == 0.0

    @property
    def constant(self) -> float | None:
        """The penalty, if it is the same whatever the rows."""
        return self.rule.alpha if self.rule.kind in (FIXED, FADING) else None

    @property
    @abstractmethod
    def code(self) -> tuple[int, float, float, float]:
        """The rule as the core reads it: its number and its parameters."""

    @property
    def power(self) -> float:
        """Features are divided by this power of their standard deviation."""
        return 0.0

    @property
    def fading(self) -> Penalty:
        """The same penalty for rows whose weights fade."""
        return self

    def for_rows(self, rows: int, width: int) -> Rule:
        """The rule that holds for this number of live rows, pilot fit included."""
        return self.pilot or self.rule


@final
@dataclass(frozen=True)
class Fixed(Penalty):
    """The same penalty always; ``fades``: beside weights that fade.

    >>> Fixed(0.5).rule.alpha, Fixed().unpenalised
    (0.5, True)
    """

    alpha: float = 0.0
    fades: bool = False

    @property
    def code(self) -> tuple[int, float, float, float]:
        return 0, self.alpha, 0.0, 0.0

    @property
    def rule(self) -> Rule:
        return Rule(FADING if self.fades and self.alpha > 0.0 else FIXED, self.alpha)

    @property
    def fading(self) -> Fixed:
        return replace(self, fades=True)


@final
@dataclass(frozen=True)
class Lemma3(Penalty):
    """The paper's adaptive penalty, up to ``switch_at`` live rows per feature, and none beyond.

    AUTO and RESIDUAL take its inputs from a pilot fit.

    >>> Lemma3().pilot is None, Lemma3(theta_max=AUTO).pilot is None
    (True, False)
    >>> Lemma3(switch_at=2.0).for_rows(7, 3).kind == FIXED
    True
    """

    delta: float = 0.05
    theta_max: float = 1.0
    noise: int = RESPONSE
    switch_at: float = inf

    @property
    def code(self) -> tuple[int, float, float, float]:
        return 1, self.delta, self.theta_max, self.switch_at

    @property
    def rule(self) -> Rule:
        return Rule(LEMMA_3, 0.0, self.delta, self.theta_max, self.switch_at, self.noise)

    @property
    def pilot(self) -> Rule | None:
        plain = self.noise != RESIDUAL and self.theta_max != AUTO
        return None if plain else self.rule._replace(kind=PILOT)

    def for_rows(self, rows: int, width: int) -> Rule:
        return Rule() if rows > self.switch_at * width else self.pilot or self.rule


@final
@dataclass(frozen=True)
class Selected(Penalty):
    """The penalty that the live rows select by restricted likelihood and cross-validation.

    It is that of the mean exponent over a grid whose penalties the rows weigh.

    With ``average``, coefficients are averaged over the grid and over two scalings instead.

    >>> Selected().adapts, Selected().unpenalised
    (True, False)
    """

    average: bool = False

    @property
    def code(self) -> tuple[int, float, float, float]:
        return 2, 0.0, 0.0, 0.0

    @property
    def power(self) -> float:
        return 0.5

    @property
    def rule(self) -> Rule:
        return Rule(SELECTED)
