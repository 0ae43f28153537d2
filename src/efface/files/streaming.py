"""The stream of rows through models: predict, learn, forget, answer requests, record.

Rows come in batches. Every group of rows has its own model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.batch.replay import replay
from efface.batch.results import Replay
from efface.charts.history import MOST_FEATURES, MOST_PATHS
from efface.errors import BadRow, RepeatedId
from efface.files.answers import ModelHolder, answer
from efface.files.baselines import LAST, Baseline
from efface.files.group_models import GroupModels
from efface.files.measured_errors import MeasuredErrors
from efface.files.redaction import Mask, Redaction, redacted
from efface.files.requests import NONE, Group, Id, Request, RequestQueue, Requests
from efface.files.row_batches import Missing, RowBatch, joined, read_rows
from efface.files.run_log import STEP_COLUMNS, PredictedRows, RunLog
from efface.files.saved_models import SavedModel
from efface.files.schema import Schema
from efface.files.scores import Score
from efface.files.tables import Table
from efface.inputs.types import Ints, Vector
from efface.models.intervals import DEFAULT_METHOD, MethodName
from efface.models.regression import Model


class Outputs(NamedTuple):
    """What a run computes beside predictions, and whether it hides the rows that requests name."""

    level: float = 0.95  # of the intervals
    method: MethodName = DEFAULT_METHOD
    lower: float | None = None  # limits of the response
    upper: float | None = None
    redact: bool = False
    named: bool = False  # whether models must have the ids that are written


_PLAIN = Outputs()


class StreamRun:
    """A stream of rows through the model that ``make`` creates, or through one model per group.

    ``grouped`` says that rows have groups, ``compare`` creates the baselines of one group. The
    first ``warm_up`` rows of each group are predicted, but their errors do not count. ``start`` is
    a saved model to go on from.

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
        grouped: bool = False,
        warm_up: int = 0,
        start: SavedModel | None = None,
    ) -> None:
        self.name = name
        self.outputs = outputs
        self.log = RunLog()
        self.start = start
        self._queue = RequestQueue(requests)
        self._redaction = Redaction(requests, warm_up) if outputs.redact else None
        self._warm_up = warm_up
        self._measured = MeasuredErrors()
        model = None if grouped else make() if start is None else start.model
        self.groups = GroupModels(make, compare, model, 0 if start is None else start.phase)
        self.started = 0 if start is None else start.model.n_rows_  # live rows before the first

    def group_scores(self) -> dict[Group, dict[str, Score]]:
        """The scores of each group that has any."""
        names = self.groups.names
        return {names[number]: scores for number, scores in self.log.group_scores.items()}

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
        columns, errors, shown = self._columns(rows)
        predicted = PredictedRows(rows, self._ids(rows), columns)
        self._queue.note_arrivals(rows, predicted.ids)
        if not shown.all():
            predicted = predicted.take(np.flatnonzero(shown))
            errors = {name: values[shown] for name, values in errors.items()}
        self.log.count(rows, len(predicted.rows))
        self.log.add(predicted, errors)
        return predicted

    def _columns(self, rows: RowBatch) -> tuple[dict[str, Any], dict[str, Vector], Mask]:
        """The columns of rows, absolute errors (NaN during the warm-up), and what is shown."""
        models = self.groups
        keys = None if rows.groups is None else models.numbers(rows.groups)
        numbers = np.zeros(len(rows), np.int64) if keys is None else keys
        columns = self._replay(rows, keys) | {"y": rows.y}
        if rows.until is not None:
            models.count_full(numbers, rows, columns["n_rows"])
        unnamed, shown = self._shown(rows, columns["n_rows"])
        predictions = {
            self.name: columns["prediction"],
            LAST: models.last_values(numbers, rows.y, unnamed),
            **models.compared(numbers, rows, unnamed),
        }
        scored = shown & (models.places(numbers) >= self._warm_up)
        self.log.rank_falls += models.rank_falls(numbers, columns["rank"])
        if keys is not None:
            shares = {name: each[scored] for name, each in predictions.items()}
            self.log.group_scores.add(keys[scored], rows.y[scored], shares)
        return columns, self._errors(rows.y, predictions, scored), shown

    def _replay(self, rows: RowBatch, keys: Ints | None) -> dict[str, Any]:
        """The columns of rows; standard errors of the coefficients are measured on the way."""
        parts, shown = [], MOST_PATHS // min(rows.X.shape[1], MOST_FEATURES)
        for piece in self._measured.pieces(len(rows)):
            part = rows.part(piece.start, piece.stop)
            result = self._replay_part(part, None if keys is None else keys[piece])
            found = {ours: getattr(result, theirs) for ours, theirs in STEP_COLUMNS.items()}
            found |= {"intercept": result.intercept, "coef": result.coef}
            wide = self._measured.columns(part.groups, part.X.shape)
            parts.append(found | {"coef_error": wide})
            self._measured.update(lambda: self.groups.first(shown))
        return parts[0] if len(parts) == 1 else _stacked(parts)

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

    def _replay_part(self, rows: RowBatch, keys: Ints | None) -> Replay:
        try:
            return self._run_engine(rows, keys)
        except RepeatedId:  # nothing has changed yet: row by row finds the repeated id
            for index in range(len(rows)):
                key = None if keys is None else keys[index : index + 1]
                try:
                    self._run_engine(rows.part(index, index + 1), key)
                except RepeatedId as error:
                    raise BadRow(str(error), row=int(rows.number[index])) from None
            raise

    def _run_engine(self, rows: RowBatch, keys: Ints | None) -> Replay:
        return replay(
            self.groups.held,
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
        if rows.ids is None or keys is None:
            return self._ids(rows)
        return self.groups.ids(keys, rows.ids)

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
            holder = self.groups.holder(request, arrivals.groups)
            if arrivals.newest is None and self.start is None:  # there may be no row at all
                holder = ModelHolder(request, [])
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


def _stacked(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of consecutive rows, concatenated."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _joined(parts: Sequence[PredictedRows]) -> PredictedRows:
    if len(parts) == 1:
        return parts[0]
    ids = [id for part in parts for id in part.ids]
    columns = _stacked([part.columns for part in parts])
    return PredictedRows(joined([part.rows for part in parts]), ids, columns)
