"""`doorkeeper metadata dump`: a log or a snapshot as JSON lines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.cluster.image import samples

from doorkeeper.cli import metadata
from doorkeeper.cluster.metadata_files import MetadataFiles
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.errors import InputError
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import UnknownRecord, VersionedRecord

KAFKA_LOG_DIR = Path(__file__).parents[1] / "vectors" / "metadata-log-4.3.1"
METADATA = "__cluster_metadata-0"
NOW = 1_700_000_000_000


def dump(path: Path) -> list[dict[str, Any]]:
    result = CliRunner().invoke(metadata.command, ["dump", str(path)], catch_exceptions=False)
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.split("\n") if line]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(metadata.command, ["dump", str(path)], catch_exceptions=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def log(tmp_path: Path) -> MetadataLog:
    log = MetadataLog(tmp_path / METADATA, 1)
    log.begin_epoch(NOW)
    write(log, samples.LEVEL)
    write(log, samples.BROKER, version=5)
    return log


def write(log: MetadataLog, record: Message | UnknownRecord, version: int = 0) -> None:
    log.stage([VersionedRecord(record, version)], NOW)
    log.commit()


class TestLines:
    def test_say_offset_epoch_timestamp_type_version_and_fields(self, log: MetadataLog, tmp_path: Path) -> None:
        leader, level, broker = dump(tmp_path)
        assert leader["type"] == "LeaderChangeMessage"
        assert level == {
            "file": "00000000000000000000.log",
            "offset": 1,
            "epoch": 1,
            "timestamp": NOW,
            "type": "FeatureLevelRecord",
            "version": 0,
            "fields": {"name": "metadata.version", "featureLevel": 1000},
        }
        assert broker["fields"]["incarnationId"] == "AAAAAAAAAAAAAAAAAAAACw"
        assert "cordonedLogDirs" not in broker["fields"]

    def test_show_static_configs(self, log: MetadataLog, tmp_path: Path) -> None:
        broker = dump(tmp_path)[-1]
        assert (broker["type"], broker["version"]) == ("RegisterBrokerRecord", 5)
        assert broker["fields"]["staticConfigs"] == [
            {"name": "num.io.threads", "value": "8"},
            {"name": "listeners", "value": None},
        ]

    def test_mask_secrets(self, log: MetadataLog, tmp_path: Path) -> None:
        write(log, samples.SCRAM)
        write(log, samples.PASSWORD)
        write(log, types.ConfigRecord(resource_type=4, resource_name="1", name="my.plugin.thing", value="hush"))
        write(log, types.ConfigRecord(resource_type=99, resource_name="1", name="retention.ms", value="hush"))
        write(log, UnknownRecord(99, 0, b"hush"))
        write(log, types.NoOpRecord(unknown_tags=((9, b"hush"),)))
        static = types.BrokerStaticConfig(name="ssl.keystore.password", value="hush")
        write(log, types.RegisterBrokerRecord(broker_id=2, static_configs=(static,)), version=5)
        *_, scram, password, plugin, odd, unknown, tagged, broker = dump(tmp_path)
        assert scram["fields"] == {
            "name": "alice",
            "mechanism": 1,
            "salt": "[hidden]",
            "storedKey": "[hidden]",
            "serverKey": "[hidden]",
            "iterations": 4096,
        }
        assert [row["fields"]["value"] for row in (password, plugin, odd)] == ["[hidden]"] * 3
        assert unknown["fields"] == {"apiKey": 99, "bytes": 4}
        assert tagged["fields"] == {"unknownTaggedFields": [{"tag": 9, "bytes": 4}]}
        assert broker["fields"]["staticConfigs"] == [{"name": "ssl.keystore.password", "value": "[hidden]"}]

    @pytest.mark.parametrize(
        ("resource_type", "name", "value"),
        [
            (2, "retention.ms", "5"),
            (4, "num.io.threads", "8"),
            (4, "listener.name.plaintext.max.connections", "7"),
            (4, "ssl.key.password", None),
            (8, "org.example.Secret", "INFO"),
        ],
    )
    def test_show_what_is_no_secret(
        self, log: MetadataLog, tmp_path: Path, resource_type: int, name: str, value: str | None
    ) -> None:
        write(log, types.ConfigRecord(resource_type=resource_type, resource_name="1", name=name, value=value))
        assert dump(tmp_path)[-1]["fields"]["value"] == value

    def test_are_one_line_each_whatever_a_name_holds(self, log: MetadataLog, tmp_path: Path) -> None:
        name = "a\n\u2028\x85\x1b[31m😀"
        write(log, types.TopicRecord(name=name))
        output = CliRunner().invoke(metadata.command, ["dump", str(tmp_path)]).stdout
        assert output.isascii()
        assert len(output.splitlines()) == 4
        assert json.loads(output.splitlines()[-1])["fields"]["name"] == name


class TestPaths:
    def test_log_directory_metadata_directory_and_segment_are_alike(self, log: MetadataLog, tmp_path: Path) -> None:
        directory = tmp_path / METADATA
        assert dump(tmp_path) == dump(directory) == dump(directory / "00000000000000000000.log")

    def test_snapshot(self, log: MetadataLog, tmp_path: Path) -> None:
        rows = dump(tmp_path / METADATA / log.save_snapshot(NOW).file_name)
        assert [row["type"] for row in rows] == [
            "SnapshotHeaderRecord",
            "FeatureLevelRecord",
            "RegisterBrokerRecord",
            "SnapshotFooterRecord",
        ]

    def test_of_a_trimmed_log_the_snapshot_comes_first(self, log: MetadataLog, tmp_path: Path) -> None:
        for name in ("a", "b", "c"):
            write(log, types.TopicRecord(name=name))
            log.save_snapshot(NOW)
        rows = dump(tmp_path)
        names = [row["fields"]["name"] for row in rows if row["type"] == "TopicRecord"]
        assert log.start_offset == 5
        assert names == ["a", "b", "c"]
        assert rows[0]["file"] == "00000000000000000005-0000000001.checkpoint"

    def test_kafkas_own_directory(self) -> None:
        rows = dump(KAFKA_LOG_DIR)
        assert [row["offset"] for row in rows] == list(range(len(rows)))
        assert "hunter2" not in json.dumps(rows)

    def test_an_unfinished_write_is_said(self, log: MetadataLog, tmp_path: Path) -> None:
        path = tmp_path / METADATA / "00000000000000000000.log"
        path.write_bytes(path.read_bytes() + b"torn")
        result = CliRunner().invoke(metadata.command, ["dump", str(path)])
        assert len(result.stdout.splitlines()) == 3
        assert result.stderr == "4 bytes at the end are an unfinished write\n"


class TestRefusals:
    def test_nothing_there(self, tmp_path: Path) -> None:
        assert refusal(tmp_path / "x") == f"{tmp_path / 'x'} does not exist"

    def test_directory_without_a_log(self, tmp_path: Path) -> None:
        assert "holds no metadata log" in refusal(tmp_path)

    def test_a_file_of_another_kind(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.txt"
        path.write_text("no batches here\n" * 20)
        assert "is no metadata log, or damaged, at byte 0" in refusal(path)

    def test_damage(self, log: MetadataLog, tmp_path: Path) -> None:
        path = tmp_path / METADATA / "00000000000000000000.log"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        assert "checksum" in refusal(path)


class TestFollow:
    def test_goes_on_with_new_batches_and_new_segments(self, log: MetadataLog, tmp_path: Path) -> None:
        files = MetadataFiles(tmp_path)

        def seen() -> list[int]:
            return [record.offset for _, batch in files.poll() for record in batch.records]

        assert seen() == [0, 1, 2]
        assert seen() == []
        write(log, types.NoOpRecord())
        assert seen() == [3]
        write(log, types.NoOpRecord())
        log.save_snapshot(NOW)
        write(log, types.NoOpRecord())
        assert seen() == [4, 5]

    def test_waits_for_the_rest_of_a_batch(self, log: MetadataLog, tmp_path: Path) -> None:
        path = tmp_path / METADATA / "00000000000000000000.log"
        whole = path.read_bytes()
        path.write_bytes(whole[:-3])
        files = MetadataFiles(path)
        assert len(list(files.poll())) == 2
        assert files.torn_bytes > 0
        path.write_bytes(whole)
        assert len(list(files.poll())) == 1
        assert files.torn_bytes == 0

    def test_ends_quietly_when_interrupted(
        self, log: MetadataLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rounds: list[float] = []

        def sleep(seconds: float) -> None:
            rounds.append(seconds)
            if len(rounds) == 3:
                raise KeyboardInterrupt
            write(log, types.NoOpRecord())

        monkeypatch.setattr(time, "sleep", sleep)
        result = CliRunner().invoke(metadata.command, ["dump", "--follow", str(tmp_path)])
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) == 5


def test_help_says_what_a_path_may_be() -> None:
    assert isinstance(metadata.command, click.Group)
    assert ".checkpoint file" in CliRunner().invoke(metadata.command, ["dump", "--help"]).output
