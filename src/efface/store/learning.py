"""Requests to learn rows: checked, without rows that are there already, joined to one batch."""

from __future__ import annotations

import os
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, RefusedRow, RepeatedId, invalid
from efface.inputs.ids import Id
from efface.inputs.times import kind_of, never
from efface.live.arrivals import Arrivals
from efface.models.base import Keys
from efface.store.left_ids import DAYS, LeftIds
from efface.store.refusals import RefusedOwners
from efface.store.row_format import random_ids, refuse_long
from efface.store.steps import MOST_ROWS
from efface.store.stored_models import StoredModel

AHEAD = 300  # seconds that the time of a row may be ahead of the clock
_SECOND = 1_000_000_000


class Learned(NamedTuple):
    """What came of a request to learn rows, all of it durable."""

    ids: list[Id]  # of all rows of the request
    learned: int  # rows that are live, or were until a later row of the request
    skipped: int  # rows that were there already, or had left


@final
@dataclass(eq=False, repr=False)
class LearnRequest:
    """Rows to learn, as given, and what came of it."""

    name: str
    X: Any
    y: Any
    sample_weight: Any = None
    ids: Any = None
    owners: Any = None
    at: Any = None
    until: Any = None
    skip_left: bool = False
    result: Learned | None = field(default=None, init=False)
    error: BaseException | None = field(default=None, init=False)

    @property
    def size(self) -> int:
        """How many rows it has, as far as that is known before they are checked."""
        return len(self.y) if hasattr(self.y, "__len__") else 1

    @property
    def done(self) -> bool:
        """Whether it was committed or refused."""
        return self.result is not None or self.error is not None

    def outcome(self) -> Learned:
        """What came of it; raises what refused it."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


@final
@dataclass(eq=False, repr=False)
class Checked:
    """A request whose rows can be learned."""

    request: LearnRequest
    arrivals: Arrivals  # the new rows
    ids: list[Id]  # of all rows

    def finish(self) -> None:
        """The rows are durable."""
        count = len(self.arrivals)
        self.request.result = Learned(self.ids, count, len(self.ids) - count)


@final
class Gate:
    """Which rows may enter."""

    def __init__(self, refused: RefusedOwners, left: LeftIds) -> None:
        self._refused, self._left = refused, left

    def check(self, request: LearnRequest, stored: StoredModel) -> Checked:
        """The new rows of a request; raises what refuses it."""
        given = request.ids is not None
        ids = request.ids if given else _drawn(request.y)
        keys = Keys(ids, request.at, request.owners, request.until)
        rows = stored.arrivals(request.X, request.y, request.sample_weight, keys)
        if len(rows) > MOST_ROWS:
            raise invalid("X", f"{len(rows)} rows", f"at most {MOST_ROWS}", "learn it in parts")
        _refuse_future(rows)
        for names, subject in ((rows.ids, "ids"), (rows.owners, "owners")):
            refuse_long(names, subject)
        if rows.owners is not None and self._refused.refuses(rows.owners):
            text = "'owners' has someone who was forgotten for ever: expected others"
            raise RefusedRow(f"{text}; leave out their rows.")
        kept = self._new(rows, stored, request.skip_left) if given else None
        return Checked(request, rows if kept is None else taken(rows, kept), list(rows.ids))

    def _new(self, rows: Arrivals, stored: StoredModel, skip_left: bool) -> NDArray[np.intp] | None:
        """Which rows are not there yet; None for all."""
        known = stored.seqs
        there = [] if known.keys().isdisjoint(rows.ids) else _places(rows.ids, known)
        if there and not stored.equal(rows, there).all():
            text = f"{len(there)} ids are those of live rows, and some rows have another content"
            raise RepeatedId(f"'ids': {text}; give new rows new ids.")
        left = self._left.among(stored.definition.number, rows.ids)
        if left and not skip_left:
            text = f"{len(left)} ids are those of rows that left in the last {DAYS} days"
            raise RefusedRow(f"'ids': {text}: expected new rows; leave them out.")
        if not there and not left:
            return None
        return np.setdiff1d(np.arange(len(rows)), np.array(there + left, dtype=np.intp))


def _places(ids: Sequence[Id], known: Container[Id]) -> list[int]:
    return [at for at, id in enumerate(ids) if id in known]


def _drawn(y: Any) -> list[Id]:
    try:
        count = len(y)
    except TypeError:
        raise invalid("y", y, "one response per row", "pass a list or an array") from None
    return random_ids(count, os.urandom(16 * count)) if count else []


def _refuse_future(rows: Arrivals) -> None:
    if len(rows) and kind_of(rows.times) is int and rows.times is not None:
        ahead = int(rows.times.max()) - time.time_ns()
        if ahead > AHEAD * _SECOND:
            text = f"'at' is {ahead // _SECOND:,} s ahead of the clock: expected at most {AHEAD} s"
            raise BadTime(f"{text}; correct the times, or the clock of this machine.")


def taken(rows: Arrivals, places: NDArray[np.intp]) -> Arrivals:
    """Some of the rows, in their order."""
    order = places.tolist()
    owners = rows.owners
    return replace(
        rows,
        X=rows.X[places],
        y=rows.y[places],
        ids=[rows.ids[k] for k in order],
        times=None if rows.times is None else rows.times[places],
        weights=rows.weights[places],
        owners=None if owners is None else [owners[k] for k in order],
        untils=None if rows.untils is None else rows.untils[places],
    )


def joined(parts: Sequence[Arrivals]) -> Arrivals | None:
    """The rows of many requests as one batch; None if their times are of different kinds."""
    if len(parts) == 1:
        return parts[0]
    kinds = {kind_of(part.times) for part in parts}
    ends = {kind_of(part.untils) for part in parts if part.untils is not None}
    if len(kinds) > 1 or len(ends) > 1:
        return None
    owned = any(part.owners is not None for part in parts)
    owners = [each for part in parts for each in part.owners or [None] * len(part)]
    times: Any = None if None in kinds else np.concatenate([part.times for part in parts])
    untils: Any = None
    if ends:
        (kind,) = ends
        none = [part.untils if part.untils is not None else _no_ends(part, kind) for part in parts]
        untils = np.concatenate(none)
    return Arrivals(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        [id for part in parts for id in part.ids],
        times,
        False,
        np.concatenate([part.weights for part in parts]),
        owners if owned else None,
        untils,
    )


def _no_ends(part: Arrivals, kind: type | None) -> NDArray[Any]:
    return np.full(len(part), never(kind), dtype=np.int64 if kind is int else np.float64)
