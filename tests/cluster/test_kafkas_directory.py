"""A log directory that Kafka 4.3.1 formatted and wrote (tools/record_metadata_log.py made the vector)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from doorkeeper.cluster.log_dir import open_log_directory
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.cluster.snapshot import SnapshotId, load_snapshot, write_snapshot
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.records import iter_batches

KAFKA_LOG_DIR = Path(__file__).parents[1] / "vectors" / "metadata-log-4.3.1"
NOW = 1_700_000_000_000


class TestKafkasDirectory:
    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        return Path(shutil.copytree(KAFKA_LOG_DIR, tmp_path / "kafka"))

    def test_is_read_into_an_image(self, copy: Path) -> None:
        with open_log_directory(copy) as log_dir:
            assert log_dir.properties.node_id == 1
            image = MetadataLog(log_dir.metadata_path, 1).image
        assert image.features.metadata_version is MetadataVersion.IBP_4_3_IV0
        assert image.features.finalized["transaction.version"] == 2
        assert image.cluster.brokers[1].rack == "rack-1"
        assert image.cluster.brokers[1].in_controlled_shutdown
        assert set(image.topics.by_name) == {"orders"}
        assert len(image.topics.by_name["orders"].partitions) == 4
        assert image.configs.of(2, "orders") == {"cleanup.policy": "compact", "max.message.bytes": "2000000"}
        assert image.configs.of(4, "")["log.cleaner.threads"] == "2"
        assert image.configs.of(32, "gé") == {"consumer.session.timeout.ms": "50000"}
        assert image.configs.of(16, "sub") == {"interval.ms": "5000"}
        assert image.client_quotas.entities == {
            (("client-id", 'a b/c:d*é"\n😀'),): {"producer_byte_rate": 1024.0},
            (("client-id", "c"), ("user", "alice")): {"request_percentage": 12.25},
            (("user", None),): {"consumer_byte_rate": 4096.0},
            (("ip", "127.0.0.1"),): {"connection_creation_rate": 10.0},
        }
        assert [acl.principal for acl in image.acls.acls.values()] == ["User:alice"]
        assert set(image.scram.credentials) == {(1, "alice")}
        assert image.next_producer_id == 1000
        assert "hunter2" not in repr(image)

    def test_its_log_alone_gives_the_same_image_as_its_snapshot_and_log(self, copy: Path) -> None:
        directory = copy / "__cluster_metadata-0"
        with_snapshot = MetadataLog(directory, 1)
        assert with_snapshot.snapshots
        for snapshot_id in with_snapshot.snapshots:
            with_snapshot.snapshot_path(snapshot_id).unlink()
        assert MetadataLog(directory, 1).image == with_snapshot.image

    def test_can_be_continued(self, copy: Path) -> None:
        directory = copy / "__cluster_metadata-0"
        log = MetadataLog(directory, 1)
        assert log.begin_epoch(NOW) == 2
        record = types.ConfigRecord(resource_type=2, resource_name="orders", name="segment.ms", value="5000")
        log.stage([VersionedRecord(record, 0)], NOW)
        log.commit()
        log.save_snapshot(NOW)
        assert MetadataLog(directory, 1).image == log.image

    def test_its_bootstrap_checkpoint_is_written_back_byte_for_byte(self, tmp_path: Path) -> None:
        theirs = (KAFKA_LOG_DIR / "bootstrap.checkpoint").read_bytes()
        records = load_snapshot(KAFKA_LOG_DIR / "bootstrap.checkpoint").records
        ours = write_snapshot(records, SnapshotId(0, 0), last_contained_timestamp=0, now=NOW)
        stamps = [
            [batch.header.base_offset, batch.header.leader_epoch, batch.header.attributes, len(batch.records)]
            + [[record.key, record.value] for record in batch.records]
            for data in (theirs, ours)
            for _, batch in iter_batches(data)
        ]
        assert stamps[: len(stamps) // 2] == stamps[len(stamps) // 2 :]
        assert len(theirs) == len(ours)
