"""What a store asks of a database: both kinds have all of it."""

from __future__ import annotations

import pytest

from efface.store.postgres_rows import PostgresRows
from efface.store.row_database import RowDatabase
from efface.store.sqlite_rows import SqliteRows


@pytest.mark.parametrize("kind", [SqliteRows, PostgresRows])
def test_every_database_has_what_a_store_asks_for(kind):
    assert issubclass(kind, RowDatabase)
    assert not kind.__abstractmethods__


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError):
        RowDatabase()
