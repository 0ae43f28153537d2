"""Half-lives: a row of age a has the weight 2^(-a / half-life), times its own.

The age of a row is the number of live rows after it, or the newest live time minus its own time.
Rows leave after 53 half-lives, where their weight is below the rounding of the newest row, or
earlier, as the window says.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from efface.errors import InvalidValue, invalid
from efface.inputs.months import Months
from efface.inputs.parameters import positive
from efface.inputs.times import Times, as_duration
from efface.inputs.types import Vector
from efface.live.policies import FIFD, KeepAll, KeepFor, Policy, as_policy

MOST = 53.0  # half-lives after which a row leaves


class HalfLife(NamedTuple):
    """A half-life in rows, or, with ``timed``, in the unit of times: nanoseconds or a number."""

    length: float
    timed: bool

    def halvings(self, count: int, times: Times | None) -> Vector:
        """How often each of ``count`` rows is halved, as a number up to 0 for the newest.

        >>> HalfLife(2.0, False).halvings(3, None)
        array([-1. , -0.5,  0. ])
        >>> HalfLife(2.0, True).halvings(3, np.array([1.0, 5.0, 9.0]))
        array([-4., -2.,  0.])
        """
        if not self.timed or not count:
            return np.arange(1 - count, 1) / self.length
        assert times is not None
        return np.asarray((times - times[-1:]) / self.length, dtype=np.float64)


def remembering(window: object, halflife: object) -> tuple[HalfLife | None, Policy]:
    """How rows fade, if at all, and when they leave, from the two arguments of a model.

    >>> remembering(100, None), remembering(None, 2)[1]
    ((None, FIFD(rows=100)), FIFD(rows=106))
    """
    policy = as_policy(window)
    return (None, policy) if halflife is None else as_half_life(halflife, policy)


def as_half_life(halflife: object, policy: Policy) -> tuple[HalfLife, Policy]:
    """A half-life, and the policy under which rows leave after 53 of them or earlier.

    >>> as_half_life(10, KeepAll())
    (HalfLife(length=10.0, timed=False), FIFD(rows=530))
    >>> as_half_life("2d", KeepFor("30d"))[1]
    KeepFor(duration='30d')
    """
    if isinstance(halflife, int | float | np.number) and not isinstance(policy, KeepFor):
        rows = positive("halflife", halflife)
        if not isinstance(policy, FIFD | KeepAll):
            raise invalid("window", policy, "a number of rows or None", "or leave halflife out")
        most = max(1, ceil(MOST * rows))
        return HalfLife(rows, False), FIFD(
            min(most, policy.rows) if isinstance(policy, FIFD) else most
        )
    return _timed(halflife, policy)


def _timed(halflife: object, policy: Policy) -> tuple[HalfLife, Policy]:
    length = as_duration(halflife)
    if isinstance(length, Months):
        raise invalid("halflife", halflife, "a duration of a fixed length", "write 30d, not 1mo")
    if not isinstance(policy, KeepFor | KeepAll):
        text = f"'halflife' is {halflife!r}, a duration, but 'window' is {policy!r}"
        raise InvalidValue(f"{text}: pass a duration or None as window, or rows as halflife.")
    if isinstance(policy, KeepFor) and isinstance(policy.length, Months):
        raise invalid("window", policy, "a duration of a fixed length", "write 90d, not 3mo")
    timed = HalfLife(float(length), True)
    whole = np.timedelta64(round(MOST * length), "ns")
    most = KeepFor(MOST * length if isinstance(length, float) else whole)
    if isinstance(policy, KeepFor) and type(policy.length) is type(length):
        return timed, policy if float(policy.length) <= MOST * length else most
    return timed, policy if isinstance(policy, KeepFor) else most
