"""A local Spark session for tests: small, on the loopback interface, without compression.

Without Java these tests are skipped. If EFFACE_REQUIRE_JAVA is set, as in CI, they fail.
"""

from __future__ import annotations

import os
import shutil
import sys

import pytest


def require_java():
    """Skip the test, or fail it, if there is no Java."""
    if shutil.which("java") or os.environ.get("JAVA_HOME"):
        return
    reason = "Java is not installed: run `apt-get install default-jre-headless`, or `make java`"
    if os.environ.get("EFFACE_REQUIRE_JAVA"):
        pytest.fail(reason)
    pytest.skip(reason)


def local_session():
    """Spark on two cores of this machine."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[2]").appName("efface")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.compression.codec": "none",
        "spark.sql.streaming.stateStore.rocksdb.compression": "none",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
