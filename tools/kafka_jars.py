"""Fetch Apache Kafka's jars once, with Maven: `python -m tools.kafka_jars` fills `.cache/kafka-<version>`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.maven_jars import ROOT, JarSet, MissingToolError

KAFKA_VERSION = "4.3.1"
KAFKA = JarSet(
    title="Kafka",
    property_name="kafka.version",
    version=KAFKA_VERSION,
    pom=ROOT / "tools" / "kafka" / "pom.xml",
    folder=ROOT / ".cache" / f"kafka-{KAFKA_VERSION}",
)
JARS = KAFKA.folder


def main() -> int:
    """Fetch, and say where the jars are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=JARS, help="folder to fill (default: %(default)s)")
    folder: Path = parser.parse_args().into
    try:
        KAFKA.fetch(folder)
    except MissingToolError as error:
        print(error, file=sys.stderr)
        return 3
    print(f"Kafka {KAFKA_VERSION}: {len(list(folder.glob('*.jar')))} jars in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
