"""When rows leave: ``--window``, ``--keep`` and ``--policy``, and the same in words.

============================  =====================================================
``fifd:ROWS``                 the newest ROWS rows stay, as with ``--window``
``keep-for:DURATION``         rows stay for this long, as with ``--keep``
``add-drop:ADD,DROP,START``   after every ADD arrivals the oldest DROP leave; the first
                              START arrivals do not count (DROP is 1 and START 0 if not given)
``keep-all``                  rows leave only on request
============================  =====================================================
"""

from __future__ import annotations

from typing import NamedTuple

from efface.errors import InvalidValue, invalid
from efface.live.policies import FIFD, AddDrop, KeepAll, KeepFor, Policy, as_policy

DEFAULT = 500  # rows
FORMS = "add-drop:ADD[,DROP[,START]], fifd:ROWS, keep-for:DURATION or keep-all"


class WindowOptions(NamedTuple):
    """The three options as given; at most one of them is not None."""

    window: int | None = None
    keep: str | None = None
    policy: str | None = None

    def chosen(self) -> Policy | None:
        """The policy that they stand for; None if none is given."""
        given = [f"'--{name}'" for name, value in self._asdict().items() if value is not None]
        if len(given) > 1:
            both = "both decide" if len(given) == 2 else "all decide"
            text = f"{' and '.join(given)} {both} when rows leave"
            raise InvalidValue(f"{text}: give only one of them.")
        if self.keep is not None:
            return _keep_for(self.keep)
        if self.policy is not None:
            return as_written(self.policy)
        return None if self.window is None else FIFD(self.window)


def as_written(text: str) -> Policy:
    """The policy that a text stands for.

    >>> as_written("add-drop:3"), as_written("keep-for:90d"), as_written("keep-all")
    (AddDrop(add=3, drop=1, start=0), KeepFor(duration='90d'), KeepAll())
    """
    name, _, rest = text.strip().partition(":")
    parts = [part.strip() for part in rest.split(",")] if rest else []
    if name == "keep-all" and not parts:
        return KeepAll()
    if name == "keep-for" and len(parts) == 1:
        return _keep_for(parts[0])
    if all(part.isdecimal() for part in parts):
        if name == "fifd" and len(parts) == 1:
            return FIFD(int(parts[0]))
        if name == "add-drop" and 1 <= len(parts) <= 3:
            return AddDrop(*map(int, parts))
    raise invalid("--policy", text, FORMS, "write it like add-drop:3")


def _keep_for(duration: str) -> KeepFor:
    try:
        return KeepFor(float(duration))
    except ValueError:
        return KeepFor(duration)


def written(window: object) -> str:
    """A ``window`` argument of a model as ``--policy`` takes it.

    >>> written(500), written(AddDrop(3)), written(None)
    ('fifd:500', 'add-drop:3,1,0', 'keep-all')
    """
    policy = as_policy(window)
    match policy:
        case FIFD():
            return f"fifd:{policy.rows}"
        case KeepFor():
            return f"keep-for:{_duration(policy)}"
        case AddDrop():
            return f"add-drop:{policy.add},{policy.drop},{policy.start}"
        case KeepAll():
            return "keep-all"
    raise invalid("window", window, "a policy of efface", "choose one of them")


def _duration(policy: KeepFor) -> str:
    return f"{policy.length:g}" if isinstance(policy.length, float) else str(policy.duration)


class Wording(NamedTuple):
    """A policy in words: which rows the model keeps, and why the others left."""

    kept: str
    reason: str


def wording(text: str) -> Wording:
    """The words for a policy, which is given as ``written`` gives it.

    >>> wording("fifd:500").kept, wording("add-drop:3,1,0").reason
    ('the newest 500 rows', 'were dropped after every 3 arrivals')
    """
    policy = as_written(text)
    match policy:
        case FIFD():
            return Wording(f"the newest {policy.rows:,} rows", "left a full window")
        case KeepFor():
            return Wording(f"rows for {_duration(policy)}", "were too old")
        case AddDrop():
            oldest = "the oldest" if policy.drop == 1 else f"the oldest {policy.drop}"
            kept = f"all rows except {oldest} after every {policy.add} arrivals"
            return Wording(kept, f"were dropped after every {policy.add} arrivals")
    return Wording("all rows", "left")
