"""Requests to learn rows: checked, without rows that are there already, joined to one batch."""

from __future__ import annotations

import os
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, RefusedRow, RepeatedId, invalid
from efface.inputs.ids import Id
from efface.inputs.times import kind_of
from efface.models.base import Keys
from efface.store.left_ids import DAYS, LeftIds
from efface.store.refusals import RefusedOwners
from efface.store.row_format import random_ids, refuse_long
from efface.store.steps import MOST_ROWS
from efface.store.stored_models import StoredModel
from efface.store.stored_rows import StoredRows

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
    keys: Any = None
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
    new: StoredRows
    ids: list[Id]  # of all rows

    def finish(self) -> None:
        """The rows are durable."""
        count = len(self.new)
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
        marks = Keys(ids, request.at, request.owners, request.until)
        weights, keys = request.sample_weight, request.keys
        rows = stored.checked(request.X, request.y, weights, marks, keys)
        if len(rows) > MOST_ROWS:
            raise invalid("X", f"{len(rows)} rows", f"at most {MOST_ROWS}", "learn it in parts")
        _refuse_future(rows)
        for names, subject in ((rows.ids, "ids"), (rows.owners, "owners"), (rows.keys, "keys")):
            refuse_long(names, subject)
        if rows.owners is not None and self._refused.refuses(rows.owners):
            text = "'owners' has someone who was forgotten for ever: expected others"
            raise RefusedRow(f"{text}; leave out their rows.")
        kept = self._new(rows, stored, request.skip_left) if given else None
        return Checked(request, rows if kept is None else rows.take(kept), list(rows.ids))

    def _new(
        self, rows: StoredRows, stored: StoredModel, skip_left: bool
    ) -> NDArray[np.intp] | None:
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


def _refuse_future(rows: StoredRows) -> None:
    if len(rows) and kind_of(rows.times) is int and rows.times is not None:
        ahead = int(rows.times.max()) - time.time_ns()
        if ahead > AHEAD * _SECOND:
            text = f"'at' is {ahead // _SECOND:,} s ahead of the clock: expected at most {AHEAD} s"
            raise BadTime(f"{text}; correct the times, or the clock of this machine.")
