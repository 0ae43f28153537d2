"""Penalties: how the penalty of a ridge regression follows from the live rows; one class per rule.

A rule is a class here, and a struct in ``cpp/fit/penalty.hpp``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import final


class Penalty(ABC):
    """A rule for the penalty."""

    @property
    @abstractmethod
    def code(self) -> tuple[int, float, float, float]:
        """The rule as the core reads it: its number and its parameters."""

    @property
    def power(self) -> float:
        """Features are divided by this power of their standard deviation."""
        return 0.0

    @property
    def unpenalised(self) -> bool:
        """Is the penalty 0 whatever the rows?"""
        return self.constant == 0.0

    @property
    def constant(self) -> float | None:
        """The penalty, if it is the same whatever the rows."""
        return None


@final
@dataclass(frozen=True)
class Fixed(Penalty):
    """The same penalty always.

    >>> Fixed(0.5).constant, Fixed().unpenalised
    (0.5, True)
    """

    alpha: float = 0.0

    @property
    def code(self) -> tuple[int, float, float, float]:
        return 0, self.alpha, 0.0, 0.0

    @property
    def constant(self) -> float | None:
        return self.alpha


@final
@dataclass(frozen=True)
class Lemma3(Penalty):
    """The paper's adaptive penalty, up to ``switch_at`` live rows per feature, and none beyond.

    >>> Lemma3(switch_at=2.0).code
    (1, 0.05, 1.0, 2.0)
    """

    delta: float = 0.05
    theta_max: float = 1.0
    switch_at: float = inf

    @property
    def code(self) -> tuple[int, float, float, float]:
        return 1, self.delta, self.theta_max, self.switch_at


@final
@dataclass(frozen=True)
class Selected(Penalty):
    """The penalty that the live rows select by restricted likelihood and cross-validation.

    It is that of the mean exponent over a grid whose penalties the rows weigh.

    >>> Selected().power, Selected().constant is None
    (0.5, True)
    """

    @property
    def code(self) -> tuple[int, float, float, float]:
        return 2, 0.0, 0.0, 0.0

    @property
    def power(self) -> float:
        return 0.5
