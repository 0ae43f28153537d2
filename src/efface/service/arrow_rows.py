"""Rows as an Arrow IPC stream: columns of features by name, and ``y``, ``id``, ``owner``, ....

Compressed buffers are refused: a small body could become a large table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.errors import EffaceError, InvalidValue, MissingExtra, invalid
from efface.inputs.arrays import as_matrix
from efface.service.bodies import MOST_ROWS
from efface.store.learning import LearnRequest

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_RESERVED = ("y", "id", "owner", "at", "until", "weight", "key")


def arrow_request(model: str, body: bytes | bytearray, names: list[str]) -> LearnRequest:
    """The rows of an Arrow stream as a request to the store; nothing changes."""
    table = read_table(body)
    lacking = [name for name in (*names, "y") if name not in table.column_names]
    if lacking or len(set(table.column_names)) < len(table.column_names):
        expected = f"the columns {', '.join([*names, 'y'])}, each once"
        raise invalid("table", f"without {', '.join(lacking)}", expected, "name the columns")
    X = np.column_stack([_numbers(table, name) for name in names])
    found = {name: _values(table, name) for name in _RESERVED if name in table.column_names}
    return LearnRequest(
        model,
        as_matrix(X),
        _numbers(table, "y"),
        _numbers(table, "weight") if "weight" in found else None,
        found.get("id"),
        found.get("owner"),
        found.get("at"),
        found.get("until"),
        keys=found.get("key"),
    )


def read_table(body: bytes | bytearray) -> Any:
    """The table of an Arrow stream without compression, of at most ``MOST_ROWS`` rows."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("pyarrow", "files") from None
    try:
        table = _uncompressed(pa, body)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        text = "'body' is no Arrow stream: expected the IPC stream format without compression"
        raise InvalidValue(f"{text}; write it with pyarrow.ipc.new_stream.") from error
    if not 0 < table.num_rows <= MOST_ROWS:
        expected = f"1 to {MOST_ROWS} rows"
        raise invalid("table", f"{table.num_rows} rows", expected, "send it in parts")
    return table


def _uncompressed(pa: Any, body: bytes | bytearray) -> Any:
    """Read batch by batch; a body that is larger once it is read was compressed."""
    buffer = pa.py_buffer(body)
    messages, most = pa.ipc.MessageReader.open_stream(buffer), len(body)
    for message in messages:
        if message.type == "record batch" and _compressed(bytes(message.metadata)):
            text = "'body' has compressed buffers: expected none"
            raise InvalidValue(f"{text}; write it without compression.")
        if message.type not in ("schema", "record batch"):
            raise InvalidValue("'body' has dictionaries: expected plain columns; decode them.")
    with pa.ipc.open_stream(buffer) as reader:
        table = reader.read_all()
    if table.get_total_buffer_size() > 2 * most + 65_536:
        raise InvalidValue("'body' is larger than it looks: expected plain columns.")
    return table


def _compressed(metadata: bytes) -> bool:
    """Whether the flatbuffer of a record batch names a codec (field 3 of RecordBatch).

    Message: field 2 is the header, a table. A table begins with the distance to its list of
    fields, whose entries are 2 bytes each after two sizes; 0 stands for a field that is absent.
    """

    def integer(at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(metadata[at : at + size], "little", signed=signed)

    def field(table: int, number: int) -> int | None:
        fields = table - integer(table, 4, signed=True)
        entry = 4 + 2 * number
        if entry + 2 > integer(fields, 2):
            return None
        offset = integer(fields + entry, 2)
        return table + offset if offset else None

    header = field(integer(0, 4), 2)
    return header is not None and field(header + integer(header, 4), 3) is not None


def _numbers(table: Any, name: str) -> Any:
    column = table.column(name)
    if column.null_count:
        raise invalid(name, "missing in some rows", "a number in every row", "leave the rows out")
    try:
        return column.to_numpy().astype(np.float64, casting="same_kind", copy=False)
    except (TypeError, ValueError) as error:
        if isinstance(error, EffaceError):
            raise
        raise invalid(name, str(column.type), "numbers", "convert the column") from None


def _values(table: Any, name: str) -> Any:
    """A column as the library accepts it, which checks the times."""
    import pyarrow as pa

    column = table.column(name)
    if name in ("at", "until") and (pa.types.is_temporal(column.type) or not column.null_count):
        return column.to_numpy()
    try:
        return column.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError):  # no time of Python
        raise invalid(name, str(column.type), "numbers or texts", "convert the column") from None
