"""Kinds of columns, and the texts of errors."""

from __future__ import annotations

import pyarrow as pa
import pytest

from efface.errors import BadTable
from efface.files.tables import Kind, kind_of


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        (pa.int8(), Kind.NUMBER),
        (pa.float32(), Kind.NUMBER),
        (pa.decimal128(10, 2), Kind.NUMBER),
        (pa.bool_(), Kind.NUMBER),
        (pa.null(), Kind.NUMBER),
        (pa.large_string(), Kind.TEXT),
        (pa.string_view(), Kind.TEXT),
        (pa.dictionary(pa.int32(), pa.string()), Kind.TEXT),
        (pa.date64(), Kind.TIME),
        (pa.timestamp("s", "UTC"), Kind.TIME),
        (pa.list_(pa.int8()), Kind.OTHER),
        (pa.time32("s"), Kind.OTHER),
        (pa.binary(), Kind.OTHER),
    ],
)
def test_kinds(type, kind):
    assert kind_of(type) is kind


def test_bad_table_is_a_value_error():
    assert issubclass(BadTable, ValueError)
