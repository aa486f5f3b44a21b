"""Fetch what a Spark session needs beyond pyspark's own jars, once, with Maven.

`python -m tools.spark_jars` fills two folders under `.cache`: Spark's Kafka source, and Delta Lake. A session gets them
by `spark.jars`, as files: so no session asks a package host, and none has to be named.
"""

from __future__ import annotations

import sys

from tools.maven_jars import ROOT, JarSet, MissingToolError

SPARK_VERSION = "4.2.0"
DELTA_VERSION = "4.4.0"
KAFKA_SOURCE = JarSet(
    title="Spark's Kafka source",
    property_name="spark.version",
    version=SPARK_VERSION,
    pom=ROOT / "tools" / "spark-kafka" / "pom.xml",
    folder=ROOT / ".cache" / f"spark-kafka-{SPARK_VERSION}",
)
DELTA = JarSet(
    title="Delta Lake",
    property_name="delta.version",
    version=DELTA_VERSION,
    pom=ROOT / "tools" / "spark-delta" / "pom.xml",
    folder=ROOT / ".cache" / f"spark-delta-{DELTA_VERSION}",
)


def spark_jars_setting(*sets: JarSet) -> str:
    """The value of `spark.jars` that gives a session the jars of these sets."""
    return ",".join(str(jar) for jar_set in sets for jar in jar_set.jars())


def main() -> int:
    """Fetch both sets, and say where they are."""
    for jar_set in (KAFKA_SOURCE, DELTA):
        try:
            jar_set.fetch()
        except MissingToolError as error:
            print(error, file=sys.stderr)
            return 3
        print(f"{jar_set.title} {jar_set.version}: {len(jar_set.jars())} jars in {jar_set.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
