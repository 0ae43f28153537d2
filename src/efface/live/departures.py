"""When rows of many keys leave: what a policy says of each key, for all keys at once.

The rows of a key are those that live and those that come, in order of time. All rows lie in one
array, key after key. Policies of efface are planned for all keys at once where that is possible,
others key by key.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from efface.inputs.times import Times
from efface.inputs.types import Ints
from efface.live.policies import FIFD, KeepAll, KeepFor, Policy


class Departures(NamedTuple):
    """Which rows are alive around each arrival, as places of the first of them."""

    before: Ints  # for each row that comes: when it is predicted
    after: Ints  # the same, once it is learned and rows have left
    phases: Ints  # of each key, in the end


def plan_departures(
    policy: Policy, bounds: Ints, alive: Ints, phases: Ints, times: Times | None
) -> Departures:
    """When rows leave; key g has the rows bounds[g]..bounds[g + 1], of which alive[g] live.

    >>> bounds, alive = np.array([0, 3, 5]), np.array([1, 0])
    >>> plan_departures(FIFD(2), bounds, alive, np.zeros(2, np.int64), None)[:2]
    (array([0, 0, 3, 3]), array([0, 1, 3, 3]))
    """
    counts = np.diff(bounds)
    first = np.repeat(bounds[:-1], counts - alive)
    came = np.arange(bounds[-1]) - np.repeat(bounds[:-1], counts) >= np.repeat(alive, counts)
    at = np.flatnonzero(came)
    if isinstance(policy, KeepAll):
        return Departures(first, first.copy(), phases)
    if isinstance(policy, FIFD):
        before = np.maximum(first, at - policy.rows)
        return Departures(before, np.maximum(first, at + 1 - policy.rows), phases)
    if isinstance(policy, KeepFor) and times is not None:
        before = _too_old(policy, bounds, at, times)
        return Departures(before, before.copy(), phases)
    return _by_key(policy, bounds, alive, phases, times)


def _too_old(policy: KeepFor, bounds: Ints, at: Ints, times: Times) -> Ints:
    """The first row of its key that is not too old at the time of each row ``at``."""
    limits, key = policy.limits(times[at]), np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
    # Ranks of times, then key and rank as one number: rows are sorted by it.
    ranks = np.unique(np.concatenate([times, limits]), return_inverse=True)[1].astype(np.int64)
    base = key * (int(ranks.max(initial=0)) + 1)
    row, limit = base + ranks[: times.size], base[at] + ranks[times.size :]
    return np.searchsorted(row, limit, side="right").astype(np.int64)


def _by_key(
    policy: Policy, bounds: Ints, alive: Ints, phases: Ints, times: Times | None
) -> Departures:
    before, after, last = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], phases.copy()
    for g, (a, b) in enumerate(pairwise(bounds.tolist())):
        known = None if times is None else times[a:b]
        n_rows, phase = int(alive[g]), int(phases[g])
        plan = policy.schedule(n_rows, b - a - n_rows, phase, known)
        gone = a + np.cumsum(plan.before + plan.after)
        before.append(gone - plan.after)
        after.append(gone)
        last[g] = plan.phase
    return Departures(np.concatenate(before), np.concatenate(after), last)


def departures(before: Ints, after: Ints) -> Ints:
    """How many rows leave once each row is learned; those that leave before the first are gone.

    >>> departures(np.array([5, 0, 1]), np.array([0, 1, 1]))
    array([0, 2, 1])
    """
    leaving = after.copy()
    leaving[:-1] += before[1:]
    return leaving
