"""``replay`` and ``rolling`` on a Spark DataFrame: one model per key, on all machines of Spark.

Spark brings the rows of a key together. One Python process per core sorts the rows of a partition,
and compiled code goes through them, many keys at once. Rows travel as Arrow record batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from efface.batch.fleet import Fleet
from efface.batch.rolling import rolling as rolling_arrays
from efface.errors import invalid
from efface.spark.key_chunks import ROWS, first_run, whole_keys
from efface.spark.schemas import (
    one_row,
    require_key,
    require_numbers,
    require_ordered,
    spark_schema,
    type_of,
)
from efface.spark.sorted_rows import sorted_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterable[Any]


class BackfillColumns(NamedTuple):
    """Which columns of a DataFrame have which role."""

    key: str
    y: str
    x: list[str]
    at: str | None
    ids: list[str]  # repeated in the result, and decide the order at equal times
    others: list[str]  # further columns that an option names
    levels: dict[str, list[Any]]  # of the features that are not numbers

    @property
    def order(self) -> list[str]:
        """What the rows of a key are sorted by."""
        return [*([] if self.at is None else [self.at]), *self.ids]

    @property
    def labels(self) -> list[str]:
        """The columns that the result repeats, in its order."""
        return list(dict.fromkeys([self.key, *self.ids, *([] if self.at is None else [self.at])]))


def replay(
    df: DataFrame,
    *,
    key: str,
    y: str,
    model: Any,
    x: Sequence[str] | None = None,
    at: str | None = None,
    ids: str | Sequence[str] = (),
    interval: float | None = None,
    **options: Any,
) -> DataFrame:
    """Predict each row by the model of its key, then learn it; see ``efface.replay``.

    The rows of a key are taken in the order of ``at``, then of the columns ``ids``. Spark keeps no
    order of its own, so one of them is needed, and together they should tell rows of a key apart.
    ``x`` names the features (default: all other columns). The result has the columns of
    ``to_frame()``: the key, ``ids``, ``at``, then prediction, penalty, intercept and n_rows, with
    ``interval`` lower and upper. ``options`` are those of ``Fleet.replay``: coef, method, lower,
    upper, sample_weight, until, and one_hot with its levels.

    Each key begins without rows. A value that cannot be used fails the job. The memory that a task
    needs is bounded, whatever the sizes of keys and partitions.
    """
    if "diagnostics" in options:
        advice = "leave it out: it depends on which rows are computed together"
        raise invalid("diagnostics", options["diagnostics"], "no diagnostics on Spark", advice)
    columns = _columns(df, key, y, x, at, ids, options)
    told = {"interval": interval, **options}
    return _by_key(df, columns, partial(replay_keys, columns=columns, model=model, options=told))


def rolling(
    df: DataFrame,
    *,
    key: str,
    y: str,
    window: Any,
    x: Sequence[str] | None = None,
    at: str | None = None,
    ids: str | Sequence[str] = (),
    **options: Any,
) -> DataFrame:
    """Fit a regression to the last ``window`` rows of the key, at every row.

    Columns are as in ``replay``, results as in ``efface.rolling``. ``options`` are those of
    ``efface.rolling``, such as alpha, stats, outputs, min_rows, missing, interval, halflife and
    sample_weight. A task holds all rows of one key.
    """
    columns = _columns(df, key, y, x, at, ids, options)
    told = {"window": window, **options}
    return _by_key(df, columns, partial(roll_keys, columns=columns, options=told))


def replay_keys(
    batches: Batches, columns: BackfillColumns, model: Any, options: Mapping[str, Any]
) -> Iterator[Any]:
    """Replay rows that are sorted by key and time; a key may go on in the next batch."""
    fleet, last = Fleet(model, threads=1), None
    for chunk in whole_keys(batches, columns.key, longest=ROWS):
        known = first_run(chunk[columns.key], last)
        if known:
            yield from _replayed(fleet, chunk.slice(0, known), columns, options)
        if known < chunk.num_rows:  # the key that was open is complete: its rows are not needed
            fleet = Fleet(model, threads=1)
            yield from _replayed(fleet, chunk.slice(known), columns, options)
        last = chunk[columns.key][-1].as_py()


def _replayed(
    fleet: Fleet, rows: Any, columns: BackfillColumns, options: Mapping[str, Any]
) -> Iterator[Any]:
    told: Any = {**options, "y": columns.y, "x": columns.x, "at": columns.at}
    result = fleet.replay(X=rows, by=columns.key, **told)
    yield from _labelled(rows, result.to_frame(), columns)


def roll_keys(
    batches: Batches, columns: BackfillColumns, options: Mapping[str, Any]
) -> Iterator[Any]:
    """Fit the windows of rows that are sorted by key and time."""
    for rows in whole_keys(batches, columns.key):
        told: Any = {**options, "y": columns.y, "x": columns.x, "at": columns.at}
        result = rolling_arrays(rows, by=columns.key, threads=1, **told)
        yield from _labelled(rows, result.to_frame(), columns)


def _labelled(rows: Any, results: Any, columns: BackfillColumns) -> Iterator[Any]:
    """The results behind the columns that tell rows apart, as record batches."""
    values = [name for name in results.column_names if name not in columns.labels]
    arrays = [rows[name] for name in columns.labels] + [results[name] for name in values]
    yield from pa.Table.from_arrays(arrays, [*columns.labels, *values]).to_batches()


def _columns(
    df: DataFrame,
    key: str,
    y: str,
    x: Sequence[str] | None,
    at: str | None,
    ids: str | Sequence[str],
    options: Mapping[str, Any],
) -> BackfillColumns:
    names = [ids] if isinstance(ids, str) else list(ids)
    if at is None and not names:
        advice = "Spark keeps no order of rows; name a column with times, or ids that are ordered"
        raise invalid("at", at, "the name of a column that orders the rows of a key", advice)
    levels = options.get("one_hot") or {}
    if not isinstance(levels, Mapping):
        advice = "pass {column: levels}, so that all machines make the same columns"
        raise invalid("one_hot", levels, "levels for each column", advice)
    others = [options[name] for name in ("sample_weight", "until") if options.get(name) is not None]
    used = {key, y, at, *names, *others}
    features = [name for name in df.columns if name not in used] if x is None else list(x)
    require_key(df, key)
    require_numbers(df, [y, *(name for name in features if name not in levels)])
    for name in others:
        type_of(df, name)
    columns = BackfillColumns(key, y, features, at, names, others, dict(levels))
    require_ordered(df, columns.order)
    return columns


def _by_key(
    df: DataFrame, columns: BackfillColumns, run: Callable[[Batches], Iterator[Any]]
) -> DataFrame:
    """Let ``run`` go through the rows of each key; a trial on one row tells its columns."""
    from pyspark.sql import functions as fn

    plain = {*columns.labels, *columns.others, *columns.levels}
    names = list(dict.fromkeys([*columns.labels, columns.y, *columns.x, *columns.others]))
    doubles = (fn.col(name) if name in plain else fn.col(name).cast("double") for name in names)
    rows = df.select(*(each.alias(name) for each, name in zip(doubles, names, strict=True)))
    types = {name: type_of(rows, name) for name in names}
    trial = one_row(types, {name: each[0] for name, each in columns.levels.items()})
    made = next(run([trial])).schema
    schema = spark_schema(made, {name: type_of(df, name) for name in columns.labels})

    def run_sorted(batches: Batches) -> Iterator[Any]:
        return run(sorted_rows(batches, [columns.key, *columns.order]))

    return rows.repartition(columns.key).mapInArrow(run_sorted, schema)
