"""One Spark session for all tests that want one; `tests/conftest.py` makes it known to every test.

The session has every jar that was fetched (`python -m tools.spark_jars`). A test that cannot do without one of the sets
asks for it: `require_jars(KAFKA_SOURCE)`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kafka.jars import missing, require
from tools.maven_jars import MissingToolError, require_java
from tools.spark_jars import DELTA, KAFKA_SOURCE, spark_jars_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session of two threads, kept small: one JVM of 600 MB, one shuffle partition, no web page."""
    require(spark_is_missing(), Path())
    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").appName("doorkeeper-tests")
    for key, value in _settings(scratch).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def _settings(scratch: Path) -> dict[str, str]:
    sets = [jar_set for jar_set in (KAFKA_SOURCE, DELTA) if missing(jar_set) is None]
    settings = {
        "spark.jars": spark_jars_setting(*sets),
        "spark.driver.memory": "600m",
        # Small questions, many of them: compiling costs more than it saves, in the JVM and in Spark.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
    }
    if DELTA in sets:
        settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    return settings


def spark_is_missing() -> str | None:
    """Why Spark can't be started here, in words; None if it can."""
    try:
        require_java()
        import pyspark  # noqa: F401
    except MissingToolError as error:
        return str(error)
    except ImportError:
        return "pyspark is not installed: pip install 'doorkeeper-kafka[audit]'"
    return None
