"""kill -9 in a stream of records: what was acknowledged is there, once, and groups are where they were."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.processes import ServeProcess
from tests.cluster.records import INIT_PRODUCER_ID, ask, batch, create_topic, fetch, produce, values_in
from tests.kafka.requests import Connection

RECORDS_PER_ROUND = 150
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
TOPIC = "orders"


class Sender:
    """An idempotent producer that sends one record after the other until the connection ends."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.sequence = 0
        self.acknowledged: list[bytes] = []
        self.enough = threading.Event()

    def run(self, connection: Connection, goal: int) -> None:
        """Send until the broker is gone; `enough` is set after so many acknowledgements."""
        for sent in itertools.count(1):
            value = b"%d" % self.sequence
            header: dict[str, Any] = {
                "producer_id": self.producer_id,
                "producer_epoch": 0,
                "base_sequence": self.sequence,
            }
            try:
                answer = produce(connection, TOPIC, batch(value, **header))
            except OSError:
                return
            assert answer.error_code == ErrorCode.none
            self.acknowledged.append(value)
            self.sequence += 1
            if sent == goal:
                self.enough.set()


def read_all(connection: Connection) -> list[bytes | None]:
    values: list[bytes | None] = []
    while True:
        partition = fetch(connection, TOPIC, len(values)).responses[0].partitions[0]
        assert partition.error_code == ErrorCode.none
        if len(values) == partition.high_watermark:
            return values
        values += values_in(partition.records)


def commit(connection: Connection, offset: int) -> None:
    partitions = [{"partition_index": 0, "committed_offset": offset}]
    topics = [{"name": TOPIC, "partitions": partitions}]
    answer = ask(connection, OFFSET_COMMIT, 8, group_id="readers", generation_id_or_member_epoch=-1, topics=topics)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.none


def committed(connection: Connection) -> int:
    asked = {"group_id": "readers", "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
    while True:
        response = ask(connection, OFFSET_FETCH, 7, **asked)
        if response.error_code != ErrorCode.coordinator_load_in_progress:
            return int(response.topics[0].partitions[0].committed_offset)


class Story:
    """The lives of one broker, each ended by a kill."""

    def __init__(self, folder: Path) -> None:
        self._arguments = ("--port", "0", "--data", str(folder), "--override", "offsets.topic.num.partitions=2")
        self._sender: Sender | None = None
        self._committed = -1

    def live(self, *, to_be_killed: bool) -> None:
        """Look at what is left of the life before, and send more until the end."""
        with ServeProcess(*self._arguments) as served:
            served.wait_until_listening()
            with served.connect() as connection, served.connect() as other:
                if self._sender is None:
                    self._sender = begin(connection)
                else:
                    self.check(connection, self._sender)
                if to_be_killed:
                    self.kill(served, self._sender, connection, other)

    def check(self, connection: Connection, sender: Sender) -> None:
        found = read_all(connection)
        assert found[: len(sender.acknowledged)] == sender.acknowledged
        assert len(found) <= len(sender.acknowledged) + 1
        assert len(set(found)) == len(found)
        assert committed(connection) == self._committed

    def kill(self, served: ServeProcess, sender: Sender, connection: Connection, other: Connection) -> None:
        # A record that was written and not acknowledged is repeated with its sequence, and so not doubled.
        sender.enough.clear()
        sending = threading.Thread(target=sender.run, args=(connection, RECORDS_PER_ROUND))
        sending.start()
        assert sender.enough.wait(60)
        self._committed = len(sender.acknowledged)
        commit(other, self._committed)
        served.kill()
        sending.join(60)


def begin(connection: Connection) -> Sender:
    create_topic(connection, TOPIC)
    ask(connection, FIND_COORDINATOR, 4, coordinator_keys=["readers"])
    return Sender(ask(connection, INIT_PRODUCER_ID, 4, transactional_id=None).producer_id)


def check_kills(folder: Path, rounds: int) -> None:
    story = Story(folder)
    for _ in range(rounds):
        story.live(to_be_killed=True)
    story.live(to_be_killed=False)


def test_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    check_kills(tmp_path, 2)


@pytest.mark.long
def test_nothing_acknowledged_is_lost_or_doubled_in_many_rounds(tmp_path: Path) -> None:
    check_kills(tmp_path, 200)
