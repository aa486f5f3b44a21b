"""The logs of a node, from the creation of a topic to its deletion, over restarts."""

from __future__ import annotations

import errno
import os
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import ask, batch, create_topic, fetch, fetch_request, fetched, produce
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Connection, Operation

from doorkeeper.cluster.broker import logs
from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.surroundings import Surroundings

DELETE_TOPICS, METADATA, DESCRIBE_LOG_DIRS, CREATE_PARTITIONS = 20, 3, 35, 37


def delete_topic(connection: Connection, name: str) -> None:
    topics = [{"name": name, "topic_id": None}]
    (answer,) = ask(connection, DELETE_TOPICS, 6, topics=topics, timeout=timedelta(seconds=5)).responses
    assert answer.error_code == 0


def partition_directories(folder: Path, topic: str) -> set[str]:
    return {one.name for one in folder.iterdir() if one.name.startswith(f"{topic}-") or one.name.endswith("-delete")}


def test_every_partition_of_a_new_topic_has_its_directory(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders", partitions=3)
        assert partition_directories(tmp_path, "orders") == {"orders-0", "orders-1", "orders-2"}
        assert {one.name for one in (tmp_path / "orders-0").iterdir()} >= {
            "partition.metadata",
            f"{0:020d}.log",
            f"{0:020d}.index",
        }


def test_deleted_topic_frees_its_files(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders", partitions=2)
        produce(connection, "orders", batch(b"a"))
        delete_topic(connection, "orders")
        cluster.wait_until(lambda: not partition_directories(tmp_path, "orders"))


def test_topic_made_anew_under_an_old_name_is_empty(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        produce(connection, "orders", batch(b"old"))
        delete_topic(connection, "orders")
        create_topic(connection, "orders")
        assert produce(connection, "orders", batch(b"new")).base_offset == 0
        assert fetched(fetch(connection, "orders")) == [b"new"]


def test_records_survive_a_restart(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        produce(connection, "orders", batch(b"a"))
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        assert produce(connection, "orders", batch(b"b")).base_offset == 1
        assert fetched(fetch(connection, "orders")) == [b"a", b"b"]


def test_log_of_a_topic_that_is_gone_is_removed_at_the_start(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
    (tmp_path / "orders-0").rename(tmp_path / "strange-0")
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        cluster.wait_until(lambda: not partition_directories(tmp_path, "strange"))
        assert partition_directories(tmp_path, "orders") == {"orders-0"}


def test_stopping_does_not_wait_for_those_who_wait(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        connection.send(fetch_request("orders", wait_ms=3_600_000))
        broker = cluster.node().broker
        assert broker is not None
        log = broker.data.logs.get("orders", 0)
        assert log is not None
        cluster.wait_until(lambda: bool(log.waiters))
        cluster.run(cluster.node().stop())
        assert not log.waiters


@pytest.mark.parametrize("allowed", [True, False])
def test_topic_is_made_when_a_client_asks_for_it_and_may(tmp_path: Path, allowed: bool) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        asked = {"topics": [{"name": "fresh", "topic_id": None}], "allow_auto_topic_creation": allowed}
        ask(connection, METADATA, 12, **asked)
        broker = cluster.node().broker
        assert broker is not None
        if allowed:
            cluster.wait_until(lambda: "fresh" in broker.image.topics.by_name)
            assert produce(connection, "fresh", batch(b"a")).base_offset == 0
        else:
            create_topic(connection, "other")
            assert "fresh" not in broker.image.topics.by_name


def test_old_segments_go_when_the_time_comes(tmp_path: Path) -> None:
    often = {"log.retention.check.interval.ms": "20"}
    with RunningCluster(tmp_path, overrides=often) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders", retention_ms="1")
        produce(connection, "orders", batch(b"old"))
        broker = cluster.node().broker
        assert broker is not None
        log = broker.data.logs.get("orders", 0)
        assert log is not None
        cluster.wait_until(lambda: log.log_start_offset == 1)
        cluster.wait_until(lambda: not (tmp_path / "orders-0" / f"{0:020d}.log").exists())


def test_waiting_fetch_is_told_that_its_topic_is_deleted(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection, cluster.connect() as other:
        create_topic(connection, "orders")
        broker = cluster.node().broker
        assert broker is not None
        log = broker.data.logs.get("orders", 0)
        assert log is not None
        answers: list[Any] = []
        reader = threading.Thread(target=lambda: answers.append(fetch(other, "orders", wait_ms=20_000)))
        reader.start()
        cluster.wait_until(lambda: bool(log.waiters))
        delete_topic(connection, "orders")
        reader.join(20)
        assert answers[0].responses[0].partitions[0].error_code == ErrorCode.unknown_topic_or_partition


def test_partitions_that_are_added_have_logs(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        more = [{"name": "orders", "count": 3, "assignments": None}]
        (answer,) = ask(connection, CREATE_PARTITIONS, 3, topics=more, timeout=timedelta(seconds=5)).results
        assert answer.error_code == 0
        assert produce(connection, "orders", batch(b"a"), partition=2).error_code == 0


# --- several directories ---


def test_new_partitions_go_to_the_directory_with_the_fewest(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    both = {"log.dirs": f"{first},{second}"}
    with RunningCluster(tmp_path, overrides=both) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders", partitions=5)
        counts = [len(partition_directories(folder, "orders")) for folder in (first, second)]
        assert sorted(counts) == [2, 3]
        for index in range(5):
            assert produce(connection, "orders", batch(b"%d" % index), partition=index).error_code == 0
        create_topic(connection, "more")
        emptier = first if counts[0] < counts[1] else second
        assert partition_directories(emptier, "more") == {"more-0"}
        described = ask(connection, DESCRIBE_LOG_DIRS, 4, topics=None).results
        assert {one.log_dir: sum(len(topic.partitions) for topic in one.topics) for one in described} == {
            str(first): 3,
            str(second): 3,
        }
    with RunningCluster(tmp_path, overrides=both) as cluster, cluster.connect() as connection:
        for index in range(5):
            assert fetched(fetch(connection, "orders", partition=index)) == [b"%d" % index]


def test_cordoned_directories_get_no_new_partitions(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    overrides = {"log.dirs": f"{first},{second}", "cordoned.log.dirs": str(second)}
    with RunningCluster(tmp_path, overrides=overrides) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders", partitions=3)
        assert len(partition_directories(first, "orders")) == 3
        cordon = Change(wire.BROKER, "1", (Operation("cordoned.log.dirs", str(first)),))
        assert wire.incremental_alter_configs(connection, [cordon])[0].code == 0
        create_topic(connection, "more", partitions=2)
        assert len(partition_directories(second, "more")) == 2
        cordoned = {one.log_dir: one.is_cordoned for one in ask(connection, DESCRIBE_LOG_DIRS, 5, topics=None).results}
        assert cordoned == {str(first): True, str(second): False}


# --- a disk that is full ---


def test_a_full_disk_stops_its_partitions_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = threading.Event()

    def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
        if full.is_set() and "unlucky-0" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(descriptor, data)

    monkeypatch.setattr(logs, "Surroundings", partial(Surroundings, disk=Disk(write=write)))
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        for topic in ("unlucky", "lucky"):
            create_topic(connection, topic)
        assert produce(connection, "unlucky", batch(b"before")).error_code == ErrorCode.none
        full.set()
        assert produce(connection, "unlucky", batch(b"lost")).error_code == ErrorCode.kafka_storage_error
        full.clear()
        assert produce(connection, "unlucky", batch(b"after")).error_code == ErrorCode.kafka_storage_error
        assert fetch(connection, "unlucky").responses[0].partitions[0].error_code == ErrorCode.kafka_storage_error
        assert produce(connection, "lucky", batch(b"fine")).error_code == ErrorCode.none
        assert fetched(fetch(connection, "lucky")) == [b"fine"]
    monkeypatch.undo()
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        assert produce(connection, "unlucky", batch(b"again")).base_offset == 1
        assert fetched(fetch(connection, "unlucky")) == [b"before", b"again"]
