"""The stream of rows through models: predict, learn, forget, answer requests, record.

Rows come in batches. Every group of rows has its own model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.batch.replay import replay
from efface.batch.results import Replay
from efface.diagnostics.audit import audit
from efface.errors import BadRow, RepeatedId, UnknownId
from efface.files.baselines import LAST, Baseline, LastValue
from efface.files.requests import NONE, Id, Request, RequestQueue, Requests
from efface.files.row_batches import Missing, RowBatch, read_rows
from efface.files.run_log import STEP_COLUMNS, PredictedRows, RequestOutcome, RunLog
from efface.files.schema import Schema
from efface.files.scores import Score
from efface.files.tables import Table
from efface.models.intervals import MethodName
from efface.models.regression import Model

Vector = NDArray[np.float64]


@dataclass
class _Group:
    """The model of one group, and its baselines."""

    model: Model
    baselines: dict[str, Baseline]
    rows: int = 0


class StreamRun:
    """A stream of rows through the models that ``make`` creates, one per group.

    ``compare`` creates the baselines of one group. The first ``warm_up`` rows of each group are
    predicted, but their errors do not count.

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
        *,
        level: float = 0.95,
        method: MethodName = "gaussian",
        requests: Requests = NONE,
        compare: Callable[[], dict[str, Baseline]] = dict,
        warm_up: int = 0,
    ) -> None:
        self.name = name
        self.log = RunLog()
        self._make, self._compare = make, compare
        self._level, self._method = level, method
        self._queue = RequestQueue(requests)
        self._warm_up = warm_up
        self._groups: dict[str | None, _Group] = {}

    @property
    def models(self) -> dict[str | None, Model]:
        """The model of each group; the key is None without groups."""
        return {name: each.model for name, each in self._groups.items()}

    def advance(self, rows: RowBatch) -> PredictedRows:
        """Process rows; requests are answered at their position among them."""
        parts, start = [], 0
        while start < len(rows):
            self._answer(self._queue.pop_due(rows, start))
            stop = _until_repeated(rows.ids, start, self._queue.next_position(rows))
            parts.append(self._process(rows.part(start, stop)))
            start = stop
        return _joined(rows, parts)

    def finish(self) -> RunLog:
        """End the stream: answer the remaining requests."""
        self._answer(self._queue.pop_all())
        return self.log

    # -- rows ------------------------------------------------------------------------------------

    def _process(self, rows: RowBatch) -> PredictedRows:
        """Rows between two requests, each with the model of its group."""
        if rows.groups is None:
            columns, errors = self._process_group(None, rows)
        else:
            columns, errors = self._process_groups(rows, rows.groups)
        predicted = PredictedRows(rows, _ids(rows), columns)
        self._queue.note_arrivals(rows, predicted.ids)
        self.log.add(predicted, errors)
        return predicted

    def _process_groups(
        self, rows: RowBatch, names: Sequence[str]
    ) -> tuple[dict[str, Any], dict[str, Vector]]:
        groups: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            groups.setdefault(name, []).append(index)
        found = [self._process_group(name, rows.take(np.array(k))) for name, k in groups.items()]
        original = np.argsort(np.concatenate(list(groups.values())))
        columns, errors = zip(*found, strict=True)
        return _stacked(columns, original), _stacked(errors, original)

    def _process_group(
        self, name: str | None, rows: RowBatch
    ) -> tuple[dict[str, Any], dict[str, Vector]]:
        """The columns of one group's rows, and absolute errors, NaN during the warm-up."""
        if name not in self._groups:
            self._groups[name] = _Group(self._make(), {LAST: LastValue(), **self._compare()})
        group = self._groups[name]
        result = self._replay(group.model, rows)
        predictions = {self.name: result.prediction}
        for baseline, other in group.baselines.items():
            predictions[baseline] = other.predict(rows.X, rows.y, rows.at, rows.weights)
        cold = max(0, self._warm_up - group.rows)
        group.rows += len(rows)
        columns = {ours: getattr(result, theirs) for ours, theirs in STEP_COLUMNS.items()}
        return {"y": rows.y, **columns}, self._errors(rows.y, predictions, cold)

    def _errors(self, y: Vector, predictions: Mapping[str, Vector], cold: int) -> dict[str, Vector]:
        """Score predictions; returns the absolute errors, NaN for the first ``cold`` rows."""
        errors = {}
        for name, prediction in predictions.items():
            self.log.scores.setdefault(name, Score()).add(y[cold:], prediction[cold:])
            errors[name] = np.abs(prediction - y)
            errors[name][:cold] = np.nan
        return errors

    def _replay(self, model: Model, rows: RowBatch) -> Replay:
        try:
            return self._run_engine(model, rows)
        except RepeatedId:  # nothing has changed yet: row by row finds the repeated id
            for index in range(len(rows)):
                try:
                    self._run_engine(model, rows.part(index, index + 1))
                except RepeatedId as error:
                    raise BadRow(str(error), row=int(rows.number[index])) from None
            raise

    def _run_engine(self, model: Model, rows: RowBatch) -> Replay:
        needs_ids = rows.ids is not None or bool(self._queue.ids)
        return replay(
            model,
            rows.X,
            rows.y,
            ids=_ids(rows) if needs_ids else None,
            at=rows.at,
            diagnostics=True,
            interval=self._level,
            method=self._method,
            sample_weight=rows.weights,
        )

    # -- requests --------------------------------------------------------------------------------

    def _answer(self, due: Iterable[Request]) -> None:
        for request in due:
            self.log.add_outcome(self._forget(request))

    def _forget(self, request: Request) -> RequestOutcome:
        """Forget a row, and audit that it is gone."""
        row, group = self._queue.arrivals.get(request.id, (None, None))
        asked, now = request.place, self.log.rows
        if row is None:
            verdict = "no row had this id"
            return RequestOutcome(request.id, asked, now, None, "unknown", verdict, np.nan, False)
        model, status = self._groups[group].model, "forgotten"
        try:
            model.forget(request.id)
        except UnknownId:
            status = "already gone"
        found = audit(model, forgotten=[request.id])
        result = found.verdict, found.error, found.holds
        return RequestOutcome(request.id, asked, now, row, status, *result)


def stream_table(
    table: Table, schema: Schema, run: StreamRun, missing: Missing = "raise"
) -> Iterator[PredictedRows]:
    """Feed a table to a run, batch by batch; errors name the file and the line."""

    def count_skipped(count: int) -> None:
        run.log.skipped += count

    for rows in read_rows(table, schema, missing, count_skipped):
        try:
            yield run.advance(rows)
        except BadRow as error:
            if error.row is None or schema.id is None or rows.ids is None:
                raise
            id = rows.ids[int(np.searchsorted(rows.number, error.row))]
            expected = "an id that no live row has"
            raise table.wrong(schema.id, error.row, id, expected, "make ids unique") from error
    run.finish()


def _ids(rows: RowBatch) -> Sequence[Id]:
    return rows.number.tolist() if rows.ids is None else rows.ids


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


def _joined(rows: RowBatch, parts: Sequence[PredictedRows]) -> PredictedRows:
    if len(parts) == 1:
        return parts[0]
    ids = [id for part in parts for id in part.ids]
    return PredictedRows(rows, ids, _stacked([part.columns for part in parts], slice(None)))
