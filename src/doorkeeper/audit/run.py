"""One audit: sources to sightings, sightings to findings, findings to tables, summary and report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyarrow import fs as arrow_fs

from doorkeeper.audit.config_changes import NOTHING_KNOWN, KnownConfigs
from doorkeeper.audit.files import resolve
from doorkeeper.audit.judging import Judge
from doorkeeper.audit.packing import BUCKETS_OF_A_TABLE, Part, buckets_for
from doorkeeper.audit.progress import Progress
from doorkeeper.audit.range_tasks import read_sightings, tasks_of
from doorkeeper.audit.readers import READERS, ReadOptions, load
from doorkeeper.audit.report import render_report
from doorkeeper.audit.schemas import SourceKind
from doorkeeper.audit.session import task_slots
from doorkeeper.audit.sources import Inputs, find_inputs
from doorkeeper.audit.stages import SummedUp, audited, packed, sum_up, table_of
from doorkeeper.audit.summarising import Frame, Read, summarise
from doorkeeper.audit.summary import Summary
from doorkeeper.audit.tables import SIGHTINGS_TABLE, TableFormat, Tables
from doorkeeper.rules.config_request import ResourceType
from doorkeeper.rules.redaction import is_sensitive
from doorkeeper.rules.rulebook import Release, Rulebook

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUMMARY_FILE = "summary.json"
REPORT_FILE = "report.html"


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit is asked to do."""

    sources: tuple[str, ...]
    out: str
    release: Release = Release.V5
    strict: bool = False
    since: int | None = None
    """Microseconds since the epoch, like `until`."""
    until: int | None = None
    table_format: TableFormat = TableFormat.PARQUET
    brokers: Mapping[int, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The server.properties of brokers, by id."""
    now: datetime | None = None
    """The run's own time; None: the clock's."""
    bootstrap_server: str | None = None
    """Of the cluster whose topics are sources."""
    kafka_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def read_options(self) -> ReadOptions:
        """What readers are told."""
        brokers = {
            str(number): {key: value for key, value in static.items() if not is_sensitive(ResourceType.BROKER, key)}
            for number, static in self.brokers.items()
        }
        return ReadOptions(self.strict, self.since, self.until, brokers)

    @property
    def rulebook(self) -> Rulebook:
        """By what is judged."""
        return Rulebook.of_release(self.release)


def run_audit(spark: SparkSession, options: AuditOptions, progress: Progress) -> Summary:
    """Read, judge, and write everything to the output folder.

    :raises InputError: for sources that can't be read.
    """
    started = time.monotonic()
    inputs = find_inputs(options.sources)
    progress.found(inputs)
    judge = Judge(options.rulebook, known_configs(spark, inputs, options))
    tables = Tables(spark, options.out, options.table_format)
    with ExitStack() as stack:
        sightings, buckets = read_sources(spark, inputs, options)
        read = _kept(stack, audited(sightings, judge, buckets))
        pool = stack.enter_context(ThreadPoolExecutor(2))

        def tell(told: DataFrame) -> tuple[Future[None], Future[SummedUp]]:
            findings = table_of(told, Part.FINDINGS)
            return pool.submit(tables.save_findings, findings), pool.submit(sum_up, told, read)

        merges = options.table_format is TableFormat.DELTA
        # Spark reads once for all who ask at the same time, and plans while it reads.
        telling = None if merges else tell(read)
        with progress.stage("reading", inputs.total_bytes):
            tables.save_sightings(table_of(read, Part.SIGHTINGS), table_of(read, Part.FILES))
        with progress.stage("summing up"):
            if telling is None:  # the table also holds what earlier runs have seen
                known = packed(tables.read(SIGHTINGS_TABLE), BUCKETS_OF_A_TABLE)
                telling = tell(_kept(stack, audited(known, judge, BUCKETS_OF_A_TABLE)))
            written, summed = telling
            summary = summarise(summed.result(), _frame(inputs, options))
            written.result()
    save_documents(options.out, summary)
    progress.done("audit", started, inputs.total_bytes, sum(source.read for source in summary.sources))
    return summary


def _kept(stack: ExitStack, frame: DataFrame) -> DataFrame:
    """The frame, worked out once however often it is asked, until the stack ends."""
    kept = frame.persist()
    stack.callback(kept.unpersist)
    return kept


def read_sources(spark: SparkSession, inputs: Inputs, options: AuditOptions) -> tuple[DataFrame, int]:
    """The packed sightings of all sources, and in how many buckets they are."""
    slots = task_slots(spark)
    tasks = {kind: tasks_of(inputs.ranges(kind, slots)) for kind in inputs.files}
    buckets = max(buckets_for(sum(map(len, tasks.values()))), slots if inputs.topics else 1)
    parts = [read_sightings(spark, kind, tasks[kind], options.read_options, buckets) for kind in inputs.files]
    if inputs.topics:
        from doorkeeper.audit.topics import read_topic

        parts.extend(read_topic(spark, topic, options, buckets) for topic in inputs.topics)
    return reduce(lambda one, other: one.unionByName(other), parts), buckets


def known_configs(spark: SparkSession, inputs: Inputs, options: AuditOptions) -> KnownConfigs:
    """What sources and options tell of the configs in force; an option beats a source."""
    known = NOTHING_KNOWN
    for kind in inputs.files:
        loader = READERS[kind].known_configs
        if loader is not None:
            read: Callable[..., KnownConfigs] = load(loader)
            known = read(spark, inputs.ranges(kind, 1), options.read_options)
    return replace(known, brokers={**known.brokers, **options.brokers}) if options.brokers else known


def _frame(inputs: Inputs, options: AuditOptions) -> Frame:
    reads = [
        Read(
            kind=kind.value,
            location=", ".join(inputs.locations[kind]),
            files=len(files),
            bytes=sum(file.size for file in files),
        )
        for kind, files in inputs.files.items()
    ]
    if inputs.topics:
        reads.append(Read(SourceKind.TOPIC.value, ", ".join(inputs.topics), 0, 0))
    generated = options.now or datetime.now(UTC)
    return Frame(options.release.value, generated, options.since, options.until, tuple(reads))


def save_documents(out: str, summary: Summary) -> None:
    """Write `summary.json` and `report.html` beside the tables."""
    system, folder, _ = resolve(out)
    _save(system, f"{folder}/{SUMMARY_FILE}", summary.to_json())
    _save(system, f"{folder}/{REPORT_FILE}", render_report(summary))


def _save(system: Any, path: str, text: str) -> None:
    if isinstance(system, arrow_fs.LocalFileSystem):
        system.create_dir(path.rpartition("/")[0])
    with system.open_output_stream(path) as out:
        out.write(text.encode("utf-8"))
