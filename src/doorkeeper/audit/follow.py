"""`--follow`: findings kept current while topics grow, by a stream with checkpoints and exactly-once merges in Delta.

A micro-batch is counted and judged as a batch is, then merged into `findings` in one transaction. Rows remember the
number of the batch that touched them last (`BATCH`), so a batch that is repeated after a crash changes nothing; Spark
repeats only the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from doorkeeper.audit.config_changes import KnownConfigs
from doorkeeper.audit.judging import Judge
from doorkeeper.audit.packing import Part
from doorkeeper.audit.progress import Progress
from doorkeeper.audit.schemas import FINDING_KEY, FINDINGS
from doorkeeper.audit.session import task_slots
from doorkeeper.audit.stages import audited, table_of
from doorkeeper.audit.tables import FINDINGS_TABLE, TableFormat, Tables
from doorkeeper.audit.topics import connector_options, to_sightings
from doorkeeper.errors import InputError
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from doorkeeper.audit.run import AuditOptions

BATCH: Final = "batch"
CHECKPOINT: Final = "_checkpoint"


def follow(spark: SparkSession, options: AuditOptions, trigger: str, progress: Progress) -> None:
    """Follow the topics until somebody ends it."""
    query = start_following(spark, options, trigger)
    progress.say(f"following {', '.join(options.sources)}; findings are in {options.out}/{FINDINGS_TABLE}")
    query.awaitTermination()


def start_following(spark: SparkSession, options: AuditOptions, trigger: str) -> StreamingQuery:
    """Start the stream.

    :raises InputError: when the connector or Delta is not there.
    """
    from pyspark.errors import AnalysisException

    topics = ",".join(source.removeprefix("topic:") for source in options.sources)
    judge = Judge(options.rulebook, KnownConfigs(brokers=options.brokers))
    tables = Tables(spark, options.out, TableFormat.DELTA)
    buckets = task_slots(spark)

    def merge(batch: DataFrame, number: int) -> None:
        sightings = to_sightings(batch, options.read_options, buckets)
        findings = table_of(audited(sightings, judge, buckets), Part.FINDINGS)
        # Who looks alike shows in the whole topic only, not in one batch of it.
        findings = findings.where(F.col("rule") != RuleId.CLIENT_ID_LOOKS_ALIKE.value)
        merge_findings(tables, findings, number)

    try:
        records = spark.readStream.format("kafka").options(**connector_options(topics, options)).load()
        return (
            records.writeStream.foreachBatch(merge)
            .option("checkpointLocation", tables.path(CHECKPOINT))
            .trigger(processingTime=trigger)
            .start()
        )
    except AnalysisException as error:
        raise InputError(" ".join(str(error).split())[:300]) from error


def merge_findings(tables: Tables, findings: DataFrame, number: int) -> None:
    """Add a batch's findings to the table, unless they are in it already."""
    now = findings.withColumn(BATCH, F.lit(number).cast("bigint"))
    if not tables.exists(FINDINGS_TABLE):
        now.write.format("delta").mode("append").save(tables.path(FINDINGS_TABLE))
        return
    now.createOrReplaceTempView("doorkeeper_findings_now")
    names = [*FINDINGS.names, BATCH]
    same = " AND ".join(f"known.`{name}` <=> now.`{name}`" for name in FINDING_KEY)
    update = {
        "count": "known.`count` + now.`count`",
        **{name: f"least(known.`{name}`, now.`{name}`)" for name in ("first_seen", "api_version_min")},
        **{name: f"greatest(known.`{name}`, now.`{name}`)" for name in ("last_seen", "api_version_max")},
        BATCH: f"now.`{BATCH}`",
    }
    now.sparkSession.sql(
        f"MERGE INTO delta.`{tables.path(FINDINGS_TABLE)}` AS known USING doorkeeper_findings_now AS now ON {same}"  # noqa: S608 - our own names
        f" WHEN MATCHED AND coalesce(known.`{BATCH}`, -1) < now.`{BATCH}` THEN UPDATE SET "
        + ", ".join(f"`{name}` = {value}" for name, value in update.items())
        + f" WHEN NOT MATCHED THEN INSERT ({', '.join(f'`{name}`' for name in names)})"
        + f" VALUES ({', '.join(f'now.`{name}`' for name in names)})"
    )
