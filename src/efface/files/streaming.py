"""The stream of rows through models: predict, learn, forget, answer requests, record.

Rows come in batches. Every group of rows has its own model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.batch.fleet import Fleet
from efface.batch.replay import replay
from efface.batch.results import Replay
from efface.charts.history import MOST_FEATURES, MOST_PATHS
from efface.errors import BadRow, RepeatedId
from efface.files.answers import Holder, ModelHolder, answer
from efface.files.baselines import LAST, Baseline, LastValue
from efface.files.group_models import GroupModels
from efface.files.measured_errors import MeasuredErrors
from efface.files.redaction import Mask, Redaction, redacted
from efface.files.requests import NONE, Id, Request, RequestQueue, Requests
from efface.files.row_batches import Missing, RowBatch, joined, read_rows
from efface.files.run_log import STEP_COLUMNS, PredictedRows, RunLog
from efface.files.saved_models import SavedModel
from efface.files.schema import Schema
from efface.files.scores import Score
from efface.files.tables import Table
from efface.live.half_life import remembering
from efface.models.intervals import MethodName
from efface.models.regression import Model

Vector = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class _Stream:
    """The model of a stream without groups, and its baselines."""

    model: Model
    baselines: dict[str, Baseline]
    phase: int = 0  # of the policy
    rows: int = 0
    full: int = 0  # rows that left because of the policy, if rows have ends of their own
    rank: int = 0  # that predicted the last row

    def count_full(self, rows: RowBatch, alive: NDArray[np.int64]) -> None:
        """Count the rows that left as the policy says; ``alive`` rows predicted each of these."""
        policy = remembering(self.model.window, self.model.halflife)[1]
        entered = ~(rows.until <= rows.at)  # type: ignore[operator]  # others are due as they come
        for n_rows in alive[entered].tolist():
            leaving, self.phase = policy.after(n_rows + 1, self.phase)
            self.full += leaving


class Outputs(NamedTuple):
    """What a run computes beside predictions, and whether it hides the rows that requests name."""

    level: float = 0.95  # of the intervals
    method: MethodName = "local"
    lower: float | None = None  # limits of the intervals
    upper: float | None = None
    coefficients: bool = False
    redact: bool = False
    named: bool = False  # whether models must have the ids that are written


_PLAIN = Outputs()


class StreamRun:
    """A stream of rows through the models that ``make`` creates, one per group.

    ``compare`` creates the baselines of one group. The first ``warm_up`` rows of each group are
    predicted, but their errors do not count. ``start`` is a saved model to go on from.

    >>> from efface.models.linear import OLS
    >>> run = StreamRun(lambda: OLS(window=2), name="OLS")
    >>> rows = RowBatch(np.arange(3), np.ones((3, 1)), np.array([2.0, 4.0, 9.0]))
    >>> run.advance(rows)["prediction"]
    array([0., 2., 3.])
    """

    def __init__(
        self,
        make: Callable[[], Model],
        name: str,
        outputs: Outputs = _PLAIN,
        *,
        requests: Requests = NONE,
        compare: Callable[[], dict[str, Baseline]] = dict,
        warm_up: int = 0,
        start: SavedModel | None = None,
    ) -> None:
        self.name = name
        self.outputs = outputs
        self.log = RunLog()
        self.start = start
        self._make, self._compare = make, compare
        self._queue = RequestQueue(requests)
        self._redaction = Redaction(requests, warm_up) if outputs.redact else None
        self._warm_up = warm_up
        self._measured = MeasuredErrors()
        self._stream: _Stream | None = None  # without groups
        self._groups: GroupModels | None = None
        self.started = 0 if start is None else start.model.n_rows_  # live rows before the first
        if start is not None:
            self._stream = self._started(start.model, start.phase)

    @property
    def models(self) -> dict[str | None, Model]:
        """The model of each group; the key is None without groups."""
        if self._groups is not None:
            return {name: model for name, model in self._groups.models.items()}
        return {} if self._stream is None else {None: self._stream.model}

    @property
    def alive(self) -> int:
        """The number of live rows."""
        if self._groups is not None:
            return self._groups.fleet.n_rows_
        return 0 if self._stream is None else self._stream.model.n_rows_

    @property
    def owners(self) -> list[Id]:
        """The owners of live rows."""
        if self._groups is not None:
            return self._groups.owners
        return [] if self._stream is None else self._stream.model.owners_

    @property
    def groups(self) -> int:
        """The number of groups; 1 without groups."""
        return len(self.models) if self._groups is None else len(self._groups)

    def group_scores(self) -> dict[str, dict[str, Score]]:
        """The scores of each group that has any."""
        names = [] if self._groups is None else self._groups.names
        return {names[number]: scores for number, scores in self.log.group_scores.items()}

    @property
    def full(self) -> int:
        """Rows that left because of the policy; counted only if rows have ends of their own."""
        if self._groups is not None:
            return self._groups.full
        return 0 if self._stream is None else self._stream.full

    def advance(self, rows: RowBatch) -> PredictedRows:
        """Process rows, and return those that are shown; requests are answered among them."""
        parts, start = [], 0
        while start < len(rows):
            self._answer(self._queue.pop_due(rows, start))
            stop = _until_repeated(rows.ids, start, self._queue.next_position(rows))
            parts.append(self._process(rows.part(start, stop)))
            start = stop
        return _joined(parts)

    def finish(self) -> RunLog:
        """End the stream: answer the remaining requests."""
        self._answer(self._queue.pop_all())
        return self.log

    # -- rows ------------------------------------------------------------------------------------

    def _process(self, rows: RowBatch) -> PredictedRows:
        """Rows between two requests, each with the model of its group."""
        if rows.groups is None:
            columns, errors = self._process_stream(rows)
        else:
            columns, errors = self._process_groups(rows, rows.groups)
        shown = columns.pop("shown")
        predicted = PredictedRows(rows, self._ids(rows), columns)
        self._queue.note_arrivals(rows, predicted.ids)
        if not shown.all():
            predicted = predicted.take(np.flatnonzero(shown))
            errors = {name: values[shown] for name, values in errors.items()}
        self.log.count(rows, len(predicted.rows))
        self.log.add(predicted, errors)
        return predicted

    def _process_groups(
        self, rows: RowBatch, names: Sequence[str]
    ) -> tuple[dict[str, Any], dict[str, Vector]]:
        """The columns of rows in groups, and absolute errors, NaN during the warm-up."""
        if self._groups is None:
            self._groups = GroupModels(self._make, self._compare)
        groups, numbers = self._groups, self._groups.numbers(names)
        columns = self._replay(groups.fleet, rows, numbers)
        if rows.until is not None:
            groups.count_full(numbers, rows, columns["n_rows"])
        unnamed, shown = self._shown(rows, columns["n_rows"])
        predictions = {
            self.name: columns["prediction"],
            LAST: groups.last_values(numbers, rows.y, unnamed),
            **groups.compared(numbers, rows, unnamed, _predicted),
        }
        scored = shown & (groups.places(numbers) >= self._warm_up)
        self.log.rank_falls += groups.rank_falls(numbers, columns["rank"])
        shares = {name: each[scored] for name, each in predictions.items()}
        self.log.group_scores.add(numbers[scored], rows.y[scored], shares)
        columns |= {"y": rows.y, "shown": shown}
        return columns, self._errors(rows.y, predictions, scored)

    def _process_stream(self, rows: RowBatch) -> tuple[dict[str, Any], dict[str, Vector]]:
        """The same for rows without groups."""
        if self._stream is None:
            self._stream = self._started(self._make())
        stream = self._stream
        columns = self._replay(stream.model, rows)
        if rows.until is not None:
            stream.count_full(rows, columns["n_rows"])
        unnamed, shown = self._shown(rows, columns["n_rows"])
        predictions = {self.name: columns["prediction"]}
        for baseline, other in stream.baselines.items():
            predictions[baseline] = _predicted(other, rows, unnamed)
        scored = shown & (np.arange(stream.rows, stream.rows + len(rows)) >= self._warm_up)
        stream.rows += len(rows)
        self.log.rank_falls += int((np.diff(columns["rank"], prepend=stream.rank) < 0).sum())
        stream.rank = int(columns["rank"][-1])
        columns |= {"y": rows.y, "shown": shown}
        return columns, self._errors(rows.y, predictions, scored)

    def _replay(
        self, model: Model | Fleet, rows: RowBatch, keys: Ints | None = None
    ) -> dict[str, Any]:
        """The columns of rows; standard errors of the coefficients are measured on the way."""
        parts = []
        for piece in self._measured.pieces(len(rows)):
            part = rows.part(piece.start, piece.stop)
            result = self._replay_part(model, part, None if keys is None else keys[piece])
            found = {ours: getattr(result, theirs) for ours, theirs in STEP_COLUMNS.items()}
            found |= {"intercept": result.intercept, "coef": result.coef}
            wide = self._measured.columns(part.groups, part.X.shape)
            parts.append(found | {"coef_error": wide})
            self._measured.update(self._first_models)
        return parts[0] if len(parts) == 1 else _stacked(parts, slice(None))

    def _first_models(self) -> dict[str, Model]:
        """The models whose coefficients the report shows."""
        if self._groups is not None:
            return self._groups.first(MOST_PATHS // min(self._groups.width, MOST_FEATURES))
        return {} if self._stream is None else {"": self._stream.model}

    def _started(self, model: Model, phase: int = 0) -> _Stream:
        return _Stream(model, {LAST: LastValue(), **self._compare()}, phase)

    def _shown(self, rows: RowBatch, n_rows: NDArray[np.int64]) -> tuple[Mask, Mask]:
        """Which rows no request names, and which of them are shown; all without redaction."""
        if self._redaction is None:
            return (np.ones(len(rows), dtype=bool),) * 2
        unnamed = self._redaction.unnamed(rows, self._ids(rows))
        return unnamed, unnamed & self._redaction.safe(n_rows)

    def _errors(
        self, y: Vector, predictions: Mapping[str, Vector], scored: Mask
    ) -> dict[str, Vector]:
        """Score predictions; returns the absolute errors, NaN for rows that are not scored."""
        errors = {}
        for name, prediction in predictions.items():
            self.log.scores.setdefault(name, Score()).add(y[scored], prediction[scored])
            errors[name] = np.where(scored, np.abs(prediction - y), np.nan)
        return errors

    def _replay_part(self, model: Model | Fleet, rows: RowBatch, keys: Ints | None) -> Replay:
        try:
            return self._run_engine(model, rows, keys)
        except RepeatedId:  # nothing has changed yet: row by row finds the repeated id
            for index in range(len(rows)):
                key = None if keys is None else keys[index : index + 1]
                try:
                    self._run_engine(model, rows.part(index, index + 1), key)
                except RepeatedId as error:
                    raise BadRow(str(error), row=int(rows.number[index])) from None
            raise

    def _run_engine(self, model: Model | Fleet, rows: RowBatch, keys: Ints | None) -> Replay:
        return replay(
            model,
            rows.X,
            rows.y,
            by=keys,
            ids=self._given_ids(rows, keys),
            at=rows.at,
            coef=True,
            diagnostics=True,
            interval=self.outputs.level,
            method=self.outputs.method,
            lower=self.outputs.lower,
            upper=self.outputs.upper,
            sample_weight=rows.weights,
            owners=rows.owners,
            until=rows.until,
        )

    def _given_ids(self, rows: RowBatch, keys: Ints | None) -> Sequence[Id] | None:
        """The ids that models get; None if they may number their rows themselves."""
        if rows.ids is None and not self._queue.ids and not self.outputs.named:
            return None
        if rows.ids is None or keys is None or self._groups is None:
            return self._ids(rows)
        return self._groups.ids(keys, rows.ids)

    def _ids(self, rows: RowBatch) -> Sequence[Id]:
        """The ids of rows: those of the table, or their numbers after the ids of a saved model."""
        if rows.ids is not None:
            return rows.ids
        first = 0 if self.start is None else self.start.next_id
        ids: list[Id] = (rows.number + first).tolist()
        return ids

    # -- requests --------------------------------------------------------------------------------

    def _answer(self, due: Iterable[Request]) -> None:
        for request in due:
            arrivals = self._queue.arrivals(request)
            holder: Holder
            if self._groups is not None:
                holder = self._groups.holder(request, arrivals.groups)
            else:
                some = self._stream is not None and (self.start is not None or arrivals.groups)
                holder = ModelHolder(request, [self._stream.model] if some and self._stream else [])
            outcome = answer(request, holder, row=self.log.rows, arrived=arrivals.newest)
            self.log.add_outcome(redacted(outcome) if self.outputs.redact else outcome)


def stream_table(
    table: Table, schema: Schema, run: StreamRun, missing: Missing = "raise"
) -> Iterator[PredictedRows]:
    """Feed a table to a run, batch by batch; errors name the file and the line."""

    def count_skipped(count: int) -> None:
        run.log.skipped += count

    newest = None if run.start is None else run.start.newest
    for rows in read_rows(table, schema, missing, count_skipped, newest):
        try:
            yield run.advance(rows)
        except BadRow as error:
            if error.row is None or schema.id is None or rows.ids is None:
                raise
            id = rows.ids[int(np.searchsorted(rows.number, error.row))]
            expected = "an id that no live row has"
            raise table.wrong(schema.id, error.row, id, expected, "make ids unique") from error
    run.finish()


def _predicted(baseline: Baseline, rows: RowBatch, seen: Mask) -> Vector:
    """The predictions of a baseline that sees only some rows; NaN for the others."""
    part = rows if seen.all() else rows.take(np.flatnonzero(seen))
    predictions = np.full(len(rows), np.nan)
    if len(part):
        predictions[seen] = baseline.predict(part.X, part.y, part.at, part.weights)
    return predictions


def _until_repeated(ids: Sequence[Id] | None, start: int, stop: int) -> int:
    """The end of the run of distinct ids: the library plans such rows at once."""
    if ids is None or len(set(ids[start:stop])) == stop - start:
        return stop
    seen: set[Id] = set()
    for index in range(start, stop):
        if ids[index] in seen:
            return index
        seen.add(ids[index])
    return stop


def _stacked(parts: Sequence[Mapping[str, Any]], order: Any) -> dict[str, Any]:
    """Concatenate columns and reorder their rows."""
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def _joined(parts: Sequence[PredictedRows]) -> PredictedRows:
    if len(parts) == 1:
        return parts[0]
    ids = [id for part in parts for id in part.ids]
    columns = _stacked([part.columns for part in parts], slice(None))
    return PredictedRows(joined([part.rows for part in parts]), ids, columns)
