"""Make the test vector of a metadata log that a real Kafka wrote: `python -m tools.record_metadata_log FOLDER`.

Formats a directory, starts Kafka on it, lets `MetadataLogAdmin.java` ask for one change of every kind, stops Kafka, and
keeps what belongs to the metadata log (indexes are left out: they can be made again). Needs `make kafka`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kafka.cluster import JVM_FLAGS, KafkaCluster
from tools import kafka_jars

ADMIN = Path(__file__).parent / "kafka" / "src" / "MetadataLogAdmin.java"
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "broker.rack": "rack-1",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
}
STOP_SECONDS = 60
KEPT = ("meta.properties", "bootstrap.checkpoint")
KEPT_METADATA = ("*.log", "*.checkpoint", "quorum-state", "leader-epoch-checkpoint", "partition.metadata")


def record(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with KafkaCluster(kafka_jars.JARS, Path(folder), properties=PROPERTIES) as kafka:
            command = ["java", *JVM_FLAGS, "-cp", f"{kafka_jars.JARS}/*", str(ADMIN), kafka.bootstrap_servers]
            subprocess.run(command, check=True, timeout=120)
            node = kafka.nodes[1]
            assert node.process is not None
            node.process.terminate()
            node.process.wait(STOP_SECONDS)
            data = node.folder / "data"
        shutil.rmtree(target, ignore_errors=True)
        metadata = target / "__cluster_metadata-0"
        metadata.mkdir(parents=True)
        for name in KEPT:
            shutil.copyfile(data / name, target / name)
        for pattern in KEPT_METADATA:
            for path in (data / metadata.name).glob(pattern):
                shutil.copyfile(path, metadata / path.name)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
