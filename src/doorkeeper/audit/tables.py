"""The audit's tables on disk or in a store: Parquet, written anew by each run; or Delta, merged.

With Delta the sightings of a file replace those that an earlier run read of it, so that a nightly audit adds the logs
of yesterday and a repeated one changes nothing; findings are then made of all sightings there are.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from doorkeeper.audit.schemas import FINDING_KEY, FINDINGS, MERGED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIGHTINGS_TABLE: Final = "sightings-summary"
FINDINGS_TABLE: Final = "findings"


class TableFormat(StrEnum):
    """How tables are written."""

    PARQUET = "parquet"
    DELTA = "delta"


class Tables:
    """The tables of one output folder."""

    def __init__(self, spark: SparkSession, folder: str, table_format: TableFormat) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._format = table_format

    def path(self, name: str) -> str:
        """Where a table is."""
        return f"{self._folder}/{name}"

    def read(self, name: str) -> DataFrame:
        """A table that was written."""
        return self._spark.read.format(self._format.value).load(self.path(name))

    def save_sightings(self, sightings: DataFrame, files: DataFrame) -> None:
        """Write what this run has seen.

        :param files: all that was read: what an earlier run has seen of a file in it counts no more.
        """
        path = self.path(SIGHTINGS_TABLE)
        if self._format is TableFormat.DELTA and self.exists(SIGHTINGS_TABLE):
            files.createOrReplaceTempView("doorkeeper_files_read")
            self._spark.sql(
                f"MERGE INTO delta.`{path}` AS known USING doorkeeper_files_read AS read"
                " ON known.source = read.source AND known.file <=> read.file WHEN MATCHED THEN DELETE"
            )
            sightings.write.format("delta").mode("append").save(path)
        else:
            sightings.write.format(self._format.value).mode("overwrite").save(path)

    def save_findings(self, findings: DataFrame) -> None:
        """Write the findings; in Delta as one merge, so that readers of the table see what changed and nothing else."""
        if self._format is TableFormat.DELTA and self.exists(FINDINGS_TABLE):
            self._merge_findings(findings)
        else:
            findings.write.format(self._format.value).mode("overwrite").save(self.path(FINDINGS_TABLE))

    def _merge_findings(self, findings: DataFrame) -> None:
        findings.createOrReplaceTempView("doorkeeper_findings_now")
        same = " AND ".join(f"known.`{name}` <=> now.`{name}`" for name in FINDING_KEY)
        differs = " OR ".join(f"NOT (known.`{name}` <=> now.`{name}`)" for name in MERGED)
        update = ", ".join(f"`{name}` = now.`{name}`" for name in MERGED)
        names = ", ".join(f"`{name}`" for name in FINDINGS.names)
        values = ", ".join(f"now.`{name}`" for name in FINDINGS.names)
        self._spark.sql(
            f"MERGE INTO delta.`{self.path(FINDINGS_TABLE)}` AS known USING doorkeeper_findings_now AS now ON {same}"  # noqa: S608 - our own names
            f" WHEN MATCHED AND ({differs}) THEN UPDATE SET {update}"
            f" WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
            " WHEN NOT MATCHED BY SOURCE THEN DELETE"
        )

    def exists(self, name: str) -> bool:
        """Whether there is such a table in Delta's format already."""
        from pyspark.errors import AnalysisException

        try:
            self._spark.read.format("delta").load(self.path(name)).schema  # noqa: B018 - asks for it
        except AnalysisException:
            return False
        return True
