"""Rows of a partition in the order of some columns, sorted in bounded memory.

Arrow sorts columns several times faster than Spark sorts rows. Rows that exceed the bound are
sorted in runs, which wait in temporary files and are merged.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

BYTES = 1 << 27  # of rows that are sorted at once; their sorted copy has as many
BATCH = 1 << 14  # rows of a sorted batch
BLOCK = 1 << 12  # rows of each run that are held while runs are merged


def sorted_rows(
    batches: Iterable[Any], by: Sequence[str], limit: int = BYTES, block: int = BLOCK
) -> Iterator[Any]:
    """Record batches with the rows sorted by the columns ``by``; missing values come last.

    >>> batch = pa.record_batch({"key": ["b", "a", "b"], "id": [3, 2, 1]})
    >>> [found["id"].to_pylist() for found in sorted_rows([batch], ["key", "id"])]
    [[2, 1, 3]]
    """
    runs: list[Iterator[Any]] = []
    waiting: list[Any] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= limit:
            runs.append(_spilled(_sorted(waiting, by), block))
            waiting, size = [], 0
    last = _sorted(waiting, by).to_batches(block if runs else BATCH) if waiting else []
    del waiting  # the sorted copy takes its place
    yield from _merged([*runs, iter(last)], by) if runs else last


def _sorted(batches: list[Any], by: Sequence[str]) -> Any:
    table = pa.Table.from_batches(batches)
    keys: Any = [(name, "ascending") for name in by]
    return table.take(pc.sort_indices(table.select(by).combine_chunks(), sort_keys=keys))


def _spilled(table: Any, block: int) -> Iterator[Any]:
    """The batches of a table, from a file that no folder lists and that ends with its reader."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    file = TemporaryFile(dir=folder)  # noqa: SIM115 - the reader below owns it
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=block)
    file.seek(0)
    return _read(file)


def _read(file: Any) -> Iterator[Any]:
    with file:
        yield from pa.ipc.open_stream(file)


def _merged(runs: list[Iterator[Any]], by: Sequence[str]) -> Iterator[Any]:
    """Merge sorted runs: rows up to the first end of a block have all come."""
    blocks = {number: block for number, run in enumerate(runs) if (block := next(run, None))}
    while blocks:
        bound = min(_place(block, block.num_rows - 1, by) for block in blocks.values())
        ready = []
        for number, block in list(blocks.items()):
            count = _rows_up_to(block, bound, by)
            if count:
                ready.append(block.slice(0, count))
            rest = block.slice(count) if count < block.num_rows else next(runs[number], None)
            if rest is None:
                del blocks[number]
            else:
                blocks[number] = rest
        yield from _sorted(ready, by).to_batches(BATCH)


def _rows_up_to(block: Any, bound: tuple[Any, ...], by: Sequence[str]) -> int:
    return bisect_right(range(block.num_rows), bound, key=lambda row: _place(block, row, by))


def _place(block: Any, row: int, by: Sequence[str]) -> tuple[Any, ...]:
    """The values that a row is sorted by, in the order of Arrow: NaN and missing values last."""
    return tuple(_rank(block[name][row]) for name in by)


def _rank(scalar: Any) -> tuple[Any, ...]:
    if not scalar.is_valid:
        return (2,)
    # A time of a zone is compared as the number that it is: local times occur twice.
    value = scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
    return (0, value) if value == value else (1,)
