"""Thousands of partitions that come or go at once, and partitions whose log the disk refuses."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import broker, cluster, replayed, topic
from tests.cluster.log.conftest import UNSYNCED
from tests.cluster.records import ask, batch, create_topic, fetch, fetched, produce
from tests.cluster.running import RunningCluster
from tests.kafka.requests import make_request

from doorkeeper.cluster.broker import logs, pending_logs
from doorkeeper.cluster.broker.coordinated_topic import coordinator_partition
from doorkeeper.cluster.broker.logs import LOGS_AT_ONCE, LOGS_PER_TURN, BrokerLogs, LedPartition, open_logs
from doorkeeper.cluster.layout import Wishes, lay_out
from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.wire.metadata.types import RemoveTopicRecord

MANY = 1_000
PATIENCE = 120
"""Seconds, for a machine that has much else to do."""
HEARTBEAT = 12


@pytest.fixture
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "Surroundings", partial(Surroundings, disk=UNSYNCED))


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """No log is made behind the metadata until this is called."""
    monkeypatch.setattr(logs, "LOGS_PER_TURN", 0)
    return lambda: monkeypatch.setattr(logs, "LOGS_PER_TURN", LOGS_PER_TURN)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No log is made before its turn."""
    monkeypatch.setattr(logs, "EAGER_SECONDS", 0)


@pytest.fixture
def eagerness(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the disk is, there is time for every log that is asked for."""
    monkeypatch.setattr(logs, "EAGER_SECONDS", PATIENCE)


def open_broker_logs(folder: Path) -> BrokerLogs:
    (config,) = lay_out(None, Wishes(port=0, data=folder))
    return open_logs(config, [folder], cluster(broker(1)))


async def sizes_while_running(opened: BrokerLogs, target: int) -> list[int]:
    """How many logs there are at every turn of the loop until there are so many."""
    (store,) = opened.stores
    running = asyncio.create_task(opened.run())
    sizes = [len(store)]
    try:
        async with asyncio.timeout(PATIENCE):
            while sizes[-1] != target:
                await asyncio.sleep(0)
                sizes.append(len(store))
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    return sizes


@pytest.mark.usefixtures("fast_disk")
def test_the_loop_turns_while_thousands_of_logs_are_made_and_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        opened = open_broker_logs(tmp_path)
        before = cluster(broker(1))
        opened.follow(replayed(before, *topic("big", *[1] * MANY)))
        made = await sizes_while_running(opened, MANY)
        assert made[0] == LOGS_AT_ONCE
        assert max(later - earlier for earlier, later in itertools.pairwise(made)) <= LOGS_PER_TURN
        opened.follow(before)
        removed = await sizes_while_running(opened, 0)
        assert removed[0] == MANY - LOGS_AT_ONCE
        assert max(earlier - later for earlier, later in itertools.pairwise(removed)) <= LOGS_PER_TURN
        opened.close(-1)

    asyncio.run(scenario())


@pytest.mark.usefixtures("fast_disk", "patience")
def test_the_log_of_a_topic_that_is_gone_is_not_taken_for_its_successors(tmp_path: Path) -> None:
    async def scenario() -> None:
        opened = open_broker_logs(tmp_path)
        count = LOGS_AT_ONCE + 1
        last = ("orders", LOGS_AT_ONCE)
        first_life = replayed(cluster(broker(1)), *topic("orders", *[1] * count, topic_id=UUID(int=1)))
        opened.follow(first_life)
        await sizes_while_running(opened, count)
        second_life = [RemoveTopicRecord(topic_id=UUID(int=1)), *topic("orders", *[1] * count, topic_id=UUID(int=2))]
        opened.follow(replayed(first_life, *second_life))
        assert opened.find(*last) == ErrorCode.not_leader_or_follower
        running = asyncio.create_task(opened.run())
        async with asyncio.timeout(PATIENCE):
            while not isinstance(opened.find(*last), LedPartition):
                await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        assert {log.topic_id for log in opened} == {UUID(int=2)}
        opened.close(-1)

    asyncio.run(scenario())


@pytest.mark.usefixtures("patience")
def test_requests_are_answered_while_logs_are_made_and_clients_told_to_ask_again(
    tmp_path: Path, gate: Callable[[], None]
) -> None:
    with RunningCluster(tmp_path) as running, running.connect() as connection:
        create_topic(connection, "big", partitions=LOGS_AT_ONCE + 1)
        for _ in range(3):
            assert produce(connection, "big", batch(b"now")).error_code == ErrorCode.none
            early = produce(connection, "big", batch(b"early"), partition=LOGS_AT_ONCE)
            assert early.error_code == ErrorCode.not_leader_or_follower
        create_topic(connection, "small")
        assert produce(connection, "small", batch(b"now")).error_code == ErrorCode.none
        gate()
        data = running.node().broker.data  # type: ignore[union-attr]
        running.wait_until(lambda: data.logs.get("big", LOGS_AT_ONCE) is not None)
        assert produce(connection, "big", batch(b"late"), partition=LOGS_AT_ONCE).error_code == ErrorCode.none


@pytest.mark.usefixtures("gate", "eagerness")
def test_a_log_that_is_asked_for_is_made_before_its_turn(tmp_path: Path) -> None:
    asked, quietly_asked, lacking = range(LOGS_AT_ONCE, LOGS_AT_ONCE + 3)
    with RunningCluster(tmp_path) as running, running.connect() as connection:
        create_topic(connection, "big", partitions=lacking + 1)
        assert produce(connection, "big", batch(b"now"), partition=asked).error_code == ErrorCode.none
        topics = [{"name": "big", "partition_data": [{"index": quietly_asked, "records": batch(b"at once")}]}]
        connection.send(make_request(0, 9, transactional_id=None, acks=0, timeout=timedelta(0), topic_data=topics))
        assert fetched(fetch(connection, "big", partition=quietly_asked)) == [b"at once"]
        data = running.node().broker.data  # type: ignore[union-attr]
        assert [index for index in range(lacking + 1) if data.logs.get("big", index) is None] == [lacking]


def last_group(count: int) -> dict[str, object]:
    """A member of a group that the last of so many partitions keeps."""
    names = (f"group-{number}" for number in itertools.count())
    group = next(name for name in names if coordinator_partition(name, count) == count - 1)
    return {"group_id": group, "generation_id": 1, "member_id": "nobody", "group_instance_id": None}


@pytest.mark.usefixtures("patience")
def test_a_group_is_coordinated_as_soon_as_its_partition_has_its_log(tmp_path: Path, gate: Callable[[], None]) -> None:
    count = LOGS_AT_ONCE + 1
    asked = last_group(count)
    overrides = {"offsets.topic.num.partitions": str(count)}
    with RunningCluster(tmp_path, overrides=overrides) as running, running.connect() as connection:
        role = running.node().broker
        assert role is not None
        running.run(_created(role.create_topic))
        assert ask(connection, HEARTBEAT, 4, **asked).error_code == ErrorCode.not_coordinator
        gate()
        running.wait_until(lambda: not isinstance(role.data.groups.find(str(asked["group_id"])), ErrorCode))
        assert ask(connection, HEARTBEAT, 4, **asked).error_code == ErrorCode.unknown_member_id


@pytest.mark.usefixtures("gate", "eagerness")
def test_a_group_that_is_asked_for_is_coordinated_before_its_turn(tmp_path: Path) -> None:
    count = LOGS_AT_ONCE + 2
    overrides = {"offsets.topic.num.partitions": str(count)}
    with RunningCluster(tmp_path, overrides=overrides) as running, running.connect() as connection:
        role = running.node().broker
        assert role is not None
        running.run(_created(role.create_topic))
        assert ask(connection, HEARTBEAT, 4, **last_group(count)).error_code == ErrorCode.unknown_member_id
        assert [one for one in range(count) if role.data.groups.get(one) is None] == [count - 2]


async def _created(create_topic: Callable[[str], asyncio.Task[None]]) -> None:
    await create_topic("__consumer_offsets")


def test_a_log_that_could_not_be_made_is_made_once_the_disk_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = threading.Event()
    full.set()

    def sync(descriptor: int) -> None:
        if full.is_set() and "unlucky-0" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(logs, "Surroundings", partial(Surroundings, disk=Disk(sync=sync)))
    monkeypatch.setattr(pending_logs, "FIRST_RETRY_MS", 10)
    with RunningCluster(tmp_path) as running, running.connect() as connection:
        for name in ("unlucky", "lucky"):
            create_topic(connection, name)
        assert produce(connection, "unlucky", batch(b"early")).error_code == ErrorCode.kafka_storage_error
        assert produce(connection, "lucky", batch(b"fine")).error_code == ErrorCode.none
        full.clear()
        data = running.node().broker.data  # type: ignore[union-attr]
        running.wait_until(lambda: data.logs.get("unlucky", 0) is not None)
        assert produce(connection, "unlucky", batch(b"late")).base_offset == 0
        assert fetched(fetch(connection, "unlucky")) == [b"late"]
