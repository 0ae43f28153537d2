"""Rows sorted by key, in chunks of bounded size, whatever the sizes of Spark's record batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 1 << 16  # per chunk: so many keys are solved together, and memory stays small


def chunks(batches: Iterable[Any], rows: int = ROWS) -> Iterator[Any]:
    """Tables of at least ``rows`` rows from record batches; the last one may be shorter.

    >>> batch = pa.record_batch({"key": ["a", "a", "b"]})
    >>> [table.num_rows for table in chunks([batch, batch, batch], rows=4)]
    [6, 3]
    """
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if count:
        yield pa.Table.from_batches(waiting)


def whole_keys(
    batches: Iterable[Any], key: str, rows: int = ROWS, longest: float = math.inf
) -> Iterator[Any]:
    """Tables of at least ``rows`` rows, the last one excepted, that end where a key ends.

    If more than ``longest`` rows wait for the end of a key, the key is divided.

    >>> batch = pa.record_batch({"key": ["a", "a", "b"]})
    >>> [table["key"].to_pylist() for table in whole_keys([batch, batch], "key", rows=2)]
    [['a', 'a'], ['b', 'a', 'a'], ['b']]
    """
    waiting: list[Any] = []
    count = 0
    for chunk in chunks(batches, rows):
        end = last_run(chunk[key])
        if end:  # the keys before the last run are complete
            yield pa.concat_tables([*waiting, chunk.slice(0, end)])
            waiting, count = [], 0
        waiting.append(chunk.slice(end))
        count += chunk.num_rows - end
        if count > longest:
            yield pa.concat_tables(waiting)
            waiting, count = [], 0
    if count:
        yield pa.concat_tables(waiting)


def last_run(column: Any) -> int:
    """Where the last run of equal values begins.

    >>> last_run(pa.chunked_array([["a", "b", "b"]]))
    1
    """
    names = column.to_numpy()
    other = np.flatnonzero(names != names[-1])
    return int(other[-1]) + 1 if other.size else 0


def first_run(column: Any, value: object) -> int:
    """How many values at the beginning equal ``value``.

    >>> first_run(pa.chunked_array([["a", "a", "b"]]), "a")
    2
    """
    other = np.flatnonzero(column.to_numpy() != value)
    return int(other[0]) if other.size else len(column)
