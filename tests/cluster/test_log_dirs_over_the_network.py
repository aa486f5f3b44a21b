"""Which log directory a partition may be asked to go to: the one that it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import ask, create_topic
from tests.cluster.running import RunningCluster
from tests.kafka.requests import Connection

ALTER_REPLICA_LOG_DIRS = 34


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "one", tmp_path / "two"


@pytest.fixture
def connection(folders: tuple[Path, Path], tmp_path: Path) -> Iterator[Connection]:
    overrides = {"log.dirs": ",".join(map(str, folders))}
    with RunningCluster(tmp_path, overrides=overrides) as cluster, cluster.connect() as connected:
        create_topic(connected, "orders")
        yield connected


def moved(connection: Connection, path: Path | str, topic: str = "orders", index: int = 0) -> ErrorCode:
    asked = [{"path": str(path), "topics": [{"name": topic, "partitions": [index]}]}]
    (answer,) = ask(connection, ALTER_REPLICA_LOG_DIRS, 2, dirs=asked).results
    assert answer.topic_name == topic
    (partition,) = answer.partitions
    return ErrorCode(partition.error_code)


def test_the_directory_that_a_partition_has_is_granted_and_the_other_refused(
    connection: Connection, folders: tuple[Path, Path]
) -> None:
    here, there = sorted(folders, key=lambda folder: not (folder / "orders-0").exists())
    assert moved(connection, here) is ErrorCode.none
    assert moved(connection, there) is ErrorCode.invalid_replica_assignment


def test_what_is_not_there_is_told_apart(connection: Connection, folders: tuple[Path, Path]) -> None:
    assert moved(connection, "/nowhere") is ErrorCode.log_dir_not_found
    assert moved(connection, folders[0], "absent") is ErrorCode.unknown_topic_or_partition
    assert moved(connection, folders[0], index=7) is ErrorCode.unknown_topic_or_partition


def test_a_name_that_leaves_no_room_for_kafkas_suffix_is_refused_as_by_kafka(connection: Connection) -> None:
    assert moved(connection, "/nowhere", "x" * 213) is ErrorCode.log_dir_not_found
    assert moved(connection, "/nowhere", "x" * 214) is ErrorCode.invalid_topic_exception
