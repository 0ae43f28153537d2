"""A stream's way through models that forget: predict, learn, let go, answer requests, keep a log.

A journey is fed rows in chunks and gives back what happened at each of them. Every group of rows
has a model of its own. What a report needs of the whole way is kept in a log whose size does not
grow with the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.batch.replay import replay
from efface.batch.results import Replay
from efface.diagnostics.audit import audit
from efface.errors import BadRow, RepeatedId, UnknownId
from efface.files.baselines import LAST, Baseline, LastValue
from efface.files.downsampling import Digest
from efface.files.requests import NONE, Id, Request, Requests
from efface.files.schema import Missing, Roles, Rows, read
from efface.files.scores import Coverage, Score
from efface.files.tables import Table
from efface.models.intervals import MethodName
from efface.models.regression import Model

Vector = NDArray[np.float64]

FINE, MEDIUM, COARSE = 1 << 14, 1 << 9, 1 << 7
_MILLISECOND = np.timedelta64(1, "ms")


@dataclass(frozen=True)
class Steps:
    """What happened at some rows, in their order: the state that predicted each of them."""

    rows: Rows
    ids: Sequence[Id]
    values: Mapping[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.values[name]


VALUES = {
    "prediction": "prediction",
    "lower": "lower",
    "upper": "upper",
    "penalty": "penalty",
    "rank": "rank",
    "n_rows": "n_rows",
    "leverage": "leverage_new",
    "leverage_oldest": "leverage_old",
    "frt": "frt",
    "phi2": "phi2",
    "condition": "condition",
}
WRITTEN = ("y", *list(VALUES)[:9])


@dataclass(frozen=True)
class Outcome:
    """What became of a request."""

    id: Id
    asked: Any  # the time or row it asked for; None for the end
    row: int  # rows of the stream that had come by then
    arrived: int | None  # the row that brought the id, None if none had
    status: str  # "forgotten", "already gone" or "unknown"
    verdict: str
    error: float  # of the coefficients against a refit without it
    holds: bool


@dataclass
class Log:
    """The whole way, in a room that does not depend on its length."""

    scores: dict[str, Score] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    fine: Digest = field(default_factory=lambda: Digest(FINE))
    medium: Digest = field(default_factory=lambda: Digest(MEDIUM))
    coarse: Digest = field(default_factory=lambda: Digest(COARSE))
    outcomes: list[Outcome] = field(default_factory=list)
    rows: int = 0
    skipped: int = 0
    first: Any = None  # time, if rows have one
    last: Any = None

    def enter(self, steps: Steps, errors: Mapping[str, Vector]) -> None:
        """Take in some steps, and the absolute errors of everyone at the rows that count."""
        rows = steps.rows
        x = positions(rows)
        seen = {"x": x, **{name: steps[name] for name in ("y", "prediction", "lower", "upper")}}
        self.fine.add(seen)
        self.medium.add({**seen, **{name: steps[name] for name in list(VALUES)[3:]}})
        covered = self.coverage.add(rows.y, steps["lower"], steps["upper"])
        self.coarse.add({"x": x, "covered": covered, **errors})
        self.rows += len(rows)
        if rows.at is not None:
            self.first = rows.at[0] if self.first is None else self.first
            self.last = rows.at[-1]


def positions(rows: Rows) -> Vector:
    """Where rows lie on the axis of a chart: milliseconds since 1970, a number, or their own."""
    if rows.at is None:
        return rows.number.astype(np.float64)
    if rows.at.dtype.kind == "M":
        return np.asarray((rows.at - np.datetime64(0, "ms")) / _MILLISECOND)
    return np.asarray(rows.at, dtype=np.float64)


@dataclass
class _Traveller:
    """The model of one group, and those it is compared with."""

    model: Model
    others: dict[str, Baseline]
    seen: int = 0


class Journey:
    """Rows go through the models that ``make`` gives, one a group.

    ``compare`` gives the contenders of one group. The first ``warm_up`` rows of each group are
    predicted, but their errors do not count.

    >>> from efface.models.linear import OLS
    >>> journey = Journey(lambda: OLS(window=2), name="OLS")
    >>> rows = Rows(np.arange(3), np.ones((3, 1)), np.array([2.0, 4.0, 9.0]))
    >>> journey.advance(rows)["prediction"]
    array([0., 2., 3.])
    """

    def __init__(
        self,
        make: Callable[[], Model],
        name: str,
        *,
        level: float = 0.95,
        method: MethodName = "gaussian",
        requests: Requests = NONE,
        compare: Callable[[], dict[str, Baseline]] = dict,
        warm_up: int = 0,
    ) -> None:
        self.name = name
        self.log = Log()
        self._make, self._compare = make, compare
        self._level, self._method = level, method
        self._requests, self._answered = requests, 0
        self._wanted = requests.ids
        self._arrived: dict[Id, tuple[int, str | None]] = {}
        self._warm_up = warm_up
        self._groups: dict[str | None, _Traveller] = {}

    @property
    def models(self) -> dict[str | None, Model]:
        """The model of each group; None names the only one."""
        return {name: each.model for name, each in self._groups.items()}

    def advance(self, rows: Rows) -> Steps:
        """Let some rows through; requests are answered at their place among them."""
        parts, start = [], 0
        while start < len(rows):
            self._answer(self._due(rows, start))
            stop = self._next_stop(rows, start)
            parts.append(self._pass(rows.part(start, stop)))
            start = stop
        return _joined(rows, parts)

    def arrive(self) -> Log:
        """The stream is over: answer what is left."""
        self._answer(self._requests.each[self._answered :])
        return self.log

    # -- rows ------------------------------------------------------------------------------------

    def _pass(self, rows: Rows) -> Steps:
        """Rows between two requests, each through the model of its group."""
        if rows.groups is None:
            steps, errors = self._through(None, rows)
        else:
            steps, errors = self._by_group(rows)
        self._note_arrivals(steps)
        self.log.enter(steps, errors)
        return steps

    def _by_group(self, rows: Rows) -> tuple[Steps, dict[str, Vector]]:
        groups: dict[str, list[int]] = {}
        for at, name in enumerate(rows.groups or ()):
            groups.setdefault(name, []).append(at)
        order = np.concatenate([np.array(places) for places in groups.values()])
        found = [self._through(name, rows.take(np.array(at))) for name, at in groups.items()]
        back = np.argsort(order)
        values = _stacked([steps.values for steps, _ in found], back)
        errors = _stacked([errors for _, errors in found], back)
        return Steps(rows, self._names(rows), values), errors

    def _through(self, group: str | None, rows: Rows) -> tuple[Steps, dict[str, Vector]]:
        """Rows of one group, and the absolute errors of everyone; NaN while warming up."""
        if group not in self._groups:
            self._groups[group] = _Traveller(self._make(), {LAST: LastValue(), **self._compare()})
        traveller = self._groups[group]
        result = self._replay(traveller.model, rows)
        values = {name: getattr(result, source) for name, source in VALUES.items()}
        cold = max(0, self._warm_up - traveller.seen)
        predictions = {self.name: result.prediction}
        for name, other in traveller.others.items():
            predictions[name] = other.predict(rows.X, rows.y, rows.at, rows.weights)
        for name, prediction in predictions.items():
            score = self.log.scores.setdefault(name, Score())
            score.add(rows.y[cold:], prediction[cold:])
            predictions[name] = np.abs(prediction - rows.y)
            predictions[name][:cold] = np.nan
        traveller.seen += len(rows)
        return Steps(rows, self._names(rows), {"y": rows.y, **values}), predictions

    def _replay(self, model: Model, rows: Rows) -> Replay:
        try:
            return self._engine(model, rows)
        except RepeatedId:  # nothing has changed yet: one by one tells which row it was
            for at in range(len(rows)):
                try:
                    self._engine(model, rows.part(at, at + 1))
                except RepeatedId as error:
                    raise BadRow(str(error), row=int(rows.number[at])) from None
            raise

    def _engine(self, model: Model, rows: Rows) -> Replay:
        named = rows.ids is not None or bool(self._wanted)
        return replay(
            model,
            rows.X,
            rows.y,
            ids=self._names(rows) if named else None,
            at=rows.at,
            diagnostics=True,
            interval=self._level,
            method=self._method,
            sample_weight=rows.weights,
        )

    def _names(self, rows: Rows) -> Sequence[Id]:
        return rows.number.tolist() if rows.ids is None else rows.ids

    # -- requests --------------------------------------------------------------------------------

    def _note_arrivals(self, steps: Steps) -> None:
        if not self._wanted:
            return
        for at, id in enumerate(steps.ids):
            if id in self._wanted:
                group = None if steps.rows.groups is None else steps.rows.groups[at]
                self._arrived[id] = int(steps.rows.number[at]), group

    def _place(self, rows: Rows, request: Request) -> int:
        """Before which of these rows a request is to be answered; beyond them: later."""
        if self._requests.when == "end":
            return len(rows)
        axis = rows.number if self._requests.when == "row" else rows.at
        return int(np.searchsorted(axis, request.place))  # type: ignore[arg-type]

    def _due(self, rows: Rows, start: int) -> Sequence[Request]:
        waiting, count = self._requests.each[self._answered :], 0
        while count < len(waiting) and self._place(rows, waiting[count]) <= start:
            count += 1
        return waiting[:count]

    def _next_stop(self, rows: Rows, start: int) -> int:
        """The next row before which a request is answered, or that brings an id again."""
        waiting = self._requests.each[self._answered :]
        stop = self._place(rows, waiting[0]) if waiting else len(rows)
        return _until_repeated(rows.ids, start, stop)

    def _answer(self, due: Sequence[Request]) -> None:
        for request in due:
            self.log.outcomes.append(self._forget(request))
        self._answered += len(due)

    def _forget(self, request: Request) -> Outcome:
        """Let a row leave, and prove by an audit that it is gone."""
        row, group = self._arrived.get(request.id, (None, None))
        now = self.log.rows
        if row is None:
            verdict = "no row has brought it"
            return Outcome(request.id, request.place, now, None, "unknown", verdict, np.nan, False)
        model, status = self._groups[group].model, "forgotten"
        try:
            model.forget(request.id)
        except UnknownId:
            status = "already gone"
        proof = audit(model, forgotten=[request.id])
        return Outcome(
            request.id, request.place, now, row, status, proof.verdict, proof.error, proof.holds
        )


def travel(
    table: Table, roles: Roles, journey: Journey, missing: Missing = "raise"
) -> Iterator[Steps]:
    """A table's way through a journey, chunk by chunk; errors name the file and the place."""

    def skipped(count: int) -> None:
        journey.log.skipped += count

    for rows in read(table, roles, missing, skipped):
        try:
            yield journey.advance(rows)
        except BadRow as error:
            if error.row is None or roles.id is None or rows.ids is None:
                raise
            id = rows.ids[int(np.searchsorted(rows.number, error.row))]
            expected = "an id that no live row has"
            raise table.wrong(roles.id, error.row, id, expected, "make ids unique") from error
    journey.arrive()


def _until_repeated(ids: Sequence[Id] | None, start: int, stop: int) -> int:
    """As far as ids are different: the library plans such rows at once, others one by one."""
    if ids is None or len(set(ids[start:stop])) == stop - start:
        return stop
    seen: set[Id] = set()
    for at in range(start, stop):
        if ids[at] in seen:
            return at
        seen.add(ids[at])
    return stop


def _stacked(parts: Sequence[Mapping[str, Any]], order: Any) -> dict[str, Any]:
    """Columns one below the other, then in another order."""
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def _joined(rows: Rows, parts: Sequence[Steps]) -> Steps:
    if len(parts) == 1:
        return parts[0]
    ids = [id for part in parts for id in part.ids]
    return Steps(rows, ids, _stacked([part.values for part in parts], slice(None)))
