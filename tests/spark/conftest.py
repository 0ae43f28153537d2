"""One local Spark session for all tests; without Java they are skipped, or fail in CI."""

from __future__ import annotations

import pytest
from spark_sessions import local_session, require_java


@pytest.fixture(scope="session")
def spark():
    require_java()
    session = local_session()
    yield session
    session.stop()
