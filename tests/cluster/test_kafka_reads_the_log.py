"""Kafka's own tools, and a real Kafka, on a log directory that we wrote at Kafka's newest metadata.version."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.cluster.image import samples

from doorkeeper.cluster.log_dir import MetaProperties, format_log_directory, open_log_directory
from doorkeeper.cluster.metadata_json import record_to_json
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.cluster.snapshot import load_snapshot
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import LATEST_KAFKA_METADATA_VERSION, MetadataVersion
from doorkeeper.wire.metadata.schema import Message, lowest_version
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record
from doorkeeper.wire.records import iter_batches

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).parents[2]
NOW = 1_700_000_000_000
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DIRECTORY_ID = UUID("3f8a1c1e-54f0-4d0a-9c44-8f0f6f6a2b11")
TIMEOUT_SECONDS = 60
LEVEL = types.FeatureLevelRecord(name="metadata.version", feature_level=int(LATEST_KAFKA_METADATA_VERSION))
BROKER = types.RegisterBrokerRecord(
    broker_id=1,
    incarnation_id=UUID(int=11),
    broker_epoch=2,
    end_points=samples.BROKER.end_points,
    rack="r1",
    log_dirs=(DIRECTORY_ID,),
)
SCRAM = types.UserScramCredentialRecord(
    name="alice", mechanism=1, salt=b"s" * 16, stored_key=b"k" * 32, server_key=b"k" * 32, iterations=4096
)
QUOTA = types.ClientQuotaRecord(
    entity=(types.QuotaEntity(entity_type="client-id", entity_name='a b/c:d*é"\n😀'),),
    key="producer_byte_rate",
    value=5,
)
ACL = types.AccessControlEntryRecord(
    id=UUID(int=31),
    resource_type=2,
    resource_name="orders",
    pattern_type=3,
    principal="User:a",
    host="*",
    operation=3,
    permission_type=3,
)
PARTITION = types.PartitionRecord(
    partition_id=0,
    topic_id=samples.TOPIC.topic_id,
    replicas=(1,),
    isr=(1,),
    leader=1,
    leader_epoch=0,
    partition_epoch=0,
    directories=(DIRECTORY_ID,),
)
CLEANER = types.ConfigRecord(resource_type=4, resource_name="", name="log.cleaner.threads", value="2")
DECISIONS: list[list[Message]] = [
    [BROKER],
    [types.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, fenced=-1)],
    [samples.TOPIC, PARTITION, samples.RETENTION],
    [types.PartitionChangeRecord(partition_id=0, topic_id=samples.TOPIC.topic_id, leader=1)],
    [QUOTA],
    [ACL],
    [SCRAM],
    [types.ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=1000)],
    [types.NoOpRecord()],
]


def versioned(record: Message) -> VersionedRecord:
    level = LATEST_KAFKA_METADATA_VERSION
    if isinstance(record, types.RegisterBrokerRecord):
        return VersionedRecord(record, level.register_broker_record_version)
    if isinstance(record, types.PartitionRecord):
        return VersionedRecord(record, level.partition_record_version)
    return VersionedRecord(record, lowest_version(record))


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A directory with a log, a snapshot, and a little log after it, closed."""
    path = tmp_path / "data"
    identity = MetaProperties(CLUSTER_ID, 1, DIRECTORY_ID)
    format_log_directory(path, identity, [VersionedRecord(LEVEL, 0)], NOW)
    with open_log_directory(path) as held:
        log = MetadataLog(held.metadata_path, 1)
        log.begin_epoch(NOW)
        log.stage(held.bootstrap_records(), NOW)
        for decision in DECISIONS:
            log.stage([versioned(record) for record in decision], NOW)
        log.commit()
        log.save_snapshot(NOW)
        log.stage(
            [versioned(types.ConfigRecord(resource_type=4, resource_name="", name="log.cleaner.threads", value="2"))],
            NOW,
        )
        log.commit()
        log.close()
    return path


def run(jars: Path, main: str, *arguments: str) -> str:
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", main, *arguments]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def dumped(output: str) -> Iterator[dict[str, Any]]:
    """What kafka-dump-log printed of each metadata record, in the form of our own dump."""
    for payload in re.findall(r" payload: (\{.*\})$", output, re.MULTILINE):
        row = json.loads(payload)
        name = "".join(part.capitalize() for part in row["type"].split("_"))
        yield {"type": name, "version": row["version"], "fields": row["data"]}


def without_secrets(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        if row["type"] == "UserScramCredentialRecord":
            row["fields"].update(salt="[hidden]", storedKey="[hidden]", serverKey="[hidden]")
    return rows


class TestDumpLog:
    MAIN = "org.apache.kafka.tools.DumpLogSegments"

    def test_reads_every_record_of_the_log_as_we_do(self, log_dir: Path, kafka_jars: Path) -> None:
        path = log_dir / "__cluster_metadata-0" / "00000000000000000000.log"
        output = run(kafka_jars, self.MAIN, "--cluster-metadata-decoder", "--files", str(path))
        ours = [
            record_to_json(read_metadata_record(record.value))
            for _, batch in iter_batches(path.read_bytes())
            if not batch.header.is_control
            for record in batch.records
        ]
        assert without_secrets(list(dumped(output))) == ours
        assert len(ours) == 1 + sum(len(decision) for decision in DECISIONS)
        assert 'LeaderChange: {"version":0,"leaderId":1' in output
        assert "isvalid: false" not in output

    def test_reads_every_record_of_the_snapshot_as_we_do(self, log_dir: Path, kafka_jars: Path) -> None:
        (path,) = (log_dir / "__cluster_metadata-0").glob("*.checkpoint")
        output = run(kafka_jars, self.MAIN, "--cluster-metadata-decoder", "--files", str(path))
        ours = [record_to_json(record) for record in load_snapshot(path).records]
        assert without_secrets(list(dumped(output))) == ours
        assert "SnapshotHeader" in output
        assert "SnapshotFooter" in output


class TestMetadataShell:
    MAIN = "org.apache.kafka.shell.MetadataShell"
    CHANCES = 5

    def shown(self, jars: Path, path: Path, expected: set[str], *words: str) -> set[str]:
        """The lines that the shell prints. On a busy machine it may answer before it has read all of the file."""
        lines: set[str] = set()
        for _ in range(self.CHANCES):
            lines = set(run(jars, self.MAIN, "--snapshot", str(path), *words).split())
            if expected <= lines:
                break
        return lines

    @pytest.mark.parametrize("name", ["*.checkpoint", "00000000000000000000.log"])
    def test_shows_the_image(self, log_dir: Path, kafka_jars: Path, name: str) -> None:
        (path,) = (log_dir / "__cluster_metadata-0").glob(name)
        expected = {
            "/image/cluster/brokers/1",
            "/image/topics/byName/orders/0",
            "/image/configs/TOPIC:orders/retention.ms",
            "/image/scram/SCRAM-SHA-256/alice",
            "/image/features/metadataVersion",
        }
        assert expected <= self.shown(kafka_jars, path, expected, "find", "/image")

    def test_is_kept_out_while_we_hold_the_directory(self, log_dir: Path, kafka_jars: Path) -> None:
        (path,) = (log_dir / "__cluster_metadata-0").glob("*.checkpoint")
        with open_log_directory(log_dir), pytest.raises(AssertionError, match="Unable to lock"):
            run(kafka_jars, self.MAIN, "--snapshot", str(path), "find", "/image")

    def test_shows_the_values(self, log_dir: Path, kafka_jars: Path) -> None:
        (path,) = (log_dir / "__cluster_metadata-0").glob("*.checkpoint")
        nodes = ["/image/configs/TOPIC:orders/retention.ms", "/image/producerIds/nextProducerId"]
        assert self.shown(kafka_jars, path, {"5"}, "cat", nodes[0]) == {"5"}
        assert self.shown(kafka_jars, path, {"1000"}, "cat", nodes[1]) == {"1000"}


class TestRealKafka:
    def test_starts_on_our_directory_and_we_go_on_after_it(
        self, log_dir: Path, kafka_jars: Path, tmp_path: Path
    ) -> None:
        from tests.kafka.cluster import KafkaCluster

        kafka = KafkaCluster(
            kafka_jars,
            tmp_path / "kafka",
            properties={"log.dirs": str(log_dir)},
            format_arguments=("--ignore-formatted",),
        )
        kafka.cluster_id = CLUSTER_ID
        with kafka:
            pass
        with open_log_directory(log_dir) as held:
            log = MetadataLog(held.metadata_path, 1)
            assert log.epoch == 2
            assert log.image.features.metadata_version is MetadataVersion.IBP_4_3_IV0
            assert log.image.cluster.brokers[1].epoch > BROKER.broker_epoch
            assert log.image.configs.of(2, "orders") == {"retention.ms": "5"}
            assert log.image.configs.of(4, "") == {"log.cleaner.threads": "2"}
            assert log.image.topics.by_name["orders"].id == samples.TOPIC.topic_id
            assert set(log.image.scram.credentials) == {(1, "alice")}
            assert log.begin_epoch(NOW) == 3
            log.close()


class TestVectors:
    def test_are_what_kafkas_classes_write_today(self, kafka_jars: Path) -> None:
        output = run(kafka_jars, str(ROOT / "tools" / "kafka" / "src" / "MetadataVectors.java"))
        committed = ROOT / "tests" / "vectors" / "metadata-records-4.3.1.jsonl"
        assert output == committed.read_text(encoding="utf-8")
