"""The Spark session: local by default, any master or Spark Connect by option.

What is set here is needed for equal results everywhere (UTC); what is only a good default on one machine gives way to
`--conf`.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from doorkeeper.audit.schemas import SIGHTINGS, SourceKind
from doorkeeper.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER: Final = "local[*]"
APP_NAME: Final = "doorkeeper audit"
WORKERS_AHEAD: Final = 8  # that are started with the session; a small audit needs no more
_SAME_EVERYWHERE: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_LOCAL_DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
    "spark.driver.host": "localhost",
    # Python does the work: a JVM that compiles much and collects in parallel only takes the cores from it. Spark has so
    # many classes that the JVM would collect all of its garbage several times just to make room for them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m",
    "spark.ui.showConsoleProgress": "false",  # ours says more
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "8",
    # What is left after reading is small: plans are simple, and interpreting beats compiling.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
_DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.adaptive.enabled": "true",  # Delta plans for fifty tasks, and mostly needs one
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
}


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How to get a session; the names are spark-submit's."""

    master: str | None = None
    remote: str | None = None
    """A Spark Connect URL, `sc://host:15002`; excludes a master."""
    conf: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    delta: bool = False
    """Whether tables in Delta's format are read and written."""

    @property
    def is_local(self) -> bool:
        """Whether Spark runs in a process of its own on this machine."""
        return self.remote is None and (self.master is None or self.master.startswith("local"))


def make_session(settings: SessionSettings) -> SparkSession:
    """Start a session, or connect to one.

    :raises InputError: for a master together with a remote, or when Spark can't be started.
    """
    if settings.master and settings.remote:
        raise InputError("--master and --remote exclude each other: with Spark Connect the server has its master")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Python workers must be this interpreter's like; who has set it knows better.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(APP_NAME)
    builder = builder.remote(settings.remote) if settings.remote else builder.master(settings.master or LOCAL_MASTER)
    for name, value in session_conf(settings).items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
        if settings.is_local:
            start_workers(session)
    except (PySparkException, RuntimeError, OSError) as error:
        raise InputError(f"Spark can't be started: {' '.join(str(error).split())}") from error
    return session


def start_workers(spark: SparkSession) -> None:
    """Have the Python workers of a local session started, all at once, with the modules that readers load."""

    def load_readers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from doorkeeper.audit.readers import READERS, load
        from doorkeeper.audit.stages import table_of  # noqa: F401 - for what it brings

        load(READERS[SourceKind.REQUESTS].read)
        pa.RecordBatch.from_pylist([], schema=SIGHTINGS)  # pyarrow looks for pandas here
        gc.freeze()  # a worker collects garbage after each task, and would go through all of this again and again
        yield from batches

    workers = min(task_slots(spark), WORKERS_AHEAD)
    spark.range(0, workers, 1, workers).mapInArrow(load_readers, "id BIGINT").collect()


def session_conf(settings: SessionSettings) -> dict[str, str]:
    """The session's conf: ours, then the user's over it."""
    conf = dict(_SAME_EVERYWHERE)
    if settings.remote is None:
        if settings.is_local:
            conf |= _LOCAL_DEFAULTS
        if settings.delta:
            conf |= _DELTA
        packages = _packages(settings)
        if packages:
            conf["spark.jars.packages"] = ",".join(packages)
    return conf | dict(settings.conf)


def _packages(settings: SessionSettings) -> tuple[str, ...]:
    """What Spark fetches: as asked, and Delta's jar unless somebody provides it."""
    provided = (*settings.packages, settings.conf.get("spark.jars", ""), settings.conf.get("spark.jars.packages", ""))
    if not settings.delta or any("delta-spark" in one for one in provided):
        return settings.packages
    try:
        spark = ".".join(version("pyspark").split(".")[:2])
        return (*settings.packages, f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}")
    except PackageNotFoundError:
        return settings.packages


def task_slots(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the session says; 4 where it does not."""
    for name in ("spark.default.parallelism", "spark.cores.max"):
        value = spark.conf.get(name, None)
        if value and value.isdigit():
            return int(value)
    try:
        return spark.sparkContext.defaultParallelism
    except Exception:  # Spark Connect has no context, and says so with changing classes
        return 4
