"""Groups and waiting consumers on a node of ours and on a real Kafka 4.3.1: how soon they learn what they wait for.

A group of 100 members is joined by one more: the time until all 101 have their assignment. (Not on kfake, where the
members of a new group can't be made to found it together.) And records at 2,000 a second, produced on one connection
and fetched by long polling on another: the time from one to the other.
"""

from __future__ import annotations

import statistics
import struct
import tempfile
import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from kio.schema.errors import ErrorCode
from tests.kafka.requests import Connection, make_request

from benchmarks.control_plane import comparison
from benchmarks.data_plane import (
    AGAINST_KFAKE,
    Server,
    fetch_request,
    make_topic,
    produce_request,
    running,
    without_target,
)
from benchmarks.measure import Row
from doorkeeper.wire.records import Record, iter_batches, write_batch

MEMBERS = 100
ROUNDS = 5
RECORDS_PER_SECOND = 2000
SECONDS = 4.0
JOIN_GROUP, SYNC_GROUP, HEARTBEAT, FIND_COORDINATOR = 11, 14, 12, 10
DELAY = "group.initial.rebalance.delay.ms"
DELAY_MS = "500"  # so that the first members found the group together, which is not measured


def rows() -> list[Row]:
    settled: dict[Server, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), {DELAY: DELAY_MS}) as servers:
        ours, kafkas, kfakes = servers
        for number in range(ROUNDS):
            for server in (kafkas, ours):
                settled.setdefault(server, []).append(_settle(server, f"group-{number}"))
        delays = {server: _delay(server) for server in reversed(servers)}
    what = f"a group of {MEMBERS} settles after one more has joined"
    delay = f"end to end at {RECORDS_PER_SECOND} records/s, p50"
    return [
        comparison(what, statistics.median(settled[ours]), statistics.median(settled[kafkas]), "s", at_most=1.0),
        comparison(delay, delays[ours], delays[kafkas], "ms", at_most=1),
        without_target(comparison(delay + AGAINST_KFAKE, delays[ours], delays[kfakes], "ms", at_most=1)),
    ]


class Member:
    """One member of a classic group, driven by hand."""

    def __init__(self, connection: Connection, group: str) -> None:
        self.connection = connection
        self.group = group
        self.id = ""
        self.joined: Any = None
        self._sent: Any = None

    def send_join(self) -> None:
        protocol = {"name": "range", "metadata": b""}
        self._sent = make_request(
            JOIN_GROUP, 5, group_id=self.group, session_timeout=timedelta(seconds=30),
            rebalance_timeout=timedelta(seconds=60), member_id=self.id, group_instance_id=None,
            protocol_type="consumer", protocols=[protocol],
        )  # fmt: skip
        self.connection.send(self._sent)

    def ask_for_id(self) -> None:
        """The first answer only says which id to come back with, once the coordinator has loaded."""
        while not self.id:
            self.send_join()
            self.receive_join()

    def receive_join(self) -> None:
        self.joined = self.receive()
        self.id = self.joined.member_id

    def heartbeat(self) -> ErrorCode:
        """How a member learns that another wants to join."""
        generation = self.joined.generation_id
        answer = self.connection.call(
            make_request(
                HEARTBEAT, 3, group_id=self.group, generation_id=generation, member_id=self.id, group_instance_id=None
            )
        )
        code: ErrorCode = answer.error_code
        return code

    def send_sync(self) -> None:
        assigned = [{"member_id": one.member_id, "assignment": b"a"} for one in self.joined.members]
        self._sent = make_request(
            SYNC_GROUP, 3, group_id=self.group, generation_id=self.joined.generation_id, member_id=self.id,
            group_instance_id=None, assignments=assigned,
        )  # fmt: skip
        self.connection.send(self._sent)

    def receive(self) -> Any:
        """The answer to what was sent last."""
        return self.connection.receive(self._sent)


def _settle(server: Server, group: str) -> float:
    with ExitStack() as cleanup:
        members = [Member(cleanup.enter_context(server.connect()), group) for _ in range(MEMBERS + 1)]
        _wait_for_coordinator(members[0].connection, group)
        *first, newest = members
        for member in first:
            member.ask_for_id()
        _rebalance(first)
        begin = time.perf_counter()
        newest.ask_for_id()
        newest.send_join()
        while first[0].heartbeat() is not ErrorCode.rebalance_in_progress:
            pass
        _rebalance(first, newest)
        return time.perf_counter() - begin


def _wait_for_coordinator(connection: Connection, group: str) -> None:
    while True:
        answer = connection.call(make_request(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[group]))
        if answer.coordinators[0].error_code is ErrorCode.none:
            return
        time.sleep(0.05)


def _rebalance(first: list[Member], *joining: Member) -> None:
    """All join, but for those who have asked to already, and all have their assignment."""
    members = [*first, *joining]
    for member in first:
        member.send_join()
    for member in members:
        member.receive_join()
    assert {int(member.joined.error_code) for member in members} == {0}
    assert len({member.joined.generation_id for member in members}) == 1
    for member in members:
        member.send_sync()
    answers = [member.receive() for member in members]
    assert {int(one.error_code) for one in answers} == {0}


def _delay(server: Server) -> float:
    """The median in milliseconds."""
    make_topic(server, "paced")
    delays: list[float] = []
    done = threading.Event()
    reader = threading.Thread(target=_consume, args=(server, delays, done))
    reader.start()
    try:
        with server.connect() as connection:
            begin = time.perf_counter()
            for number in range(int(RECORDS_PER_SECOND * SECONDS)):
                due = begin + number / RECORDS_PER_SECOND
                while (now := time.perf_counter()) < due:
                    time.sleep(due - now)
                value = struct.pack(">d", time.perf_counter())
                connection.exchange(produce_request("paced", write_batch([Record(value, timestamp=0)], base_offset=0)))
    finally:
        done.set()
        reader.join()
    return statistics.median(delays) * 1000


def _consume(server: Server, delays: list[float], done: threading.Event) -> None:
    offset = 0
    with server.connect() as connection:
        while not done.is_set():
            (topic,) = connection.call(fetch_request("paced", offset)).responses
            now = time.perf_counter()
            for _, batch in iter_batches(topic.partitions[0].records or b""):
                for record in batch.records:
                    (sent,) = struct.unpack(">d", record.value or b"")
                    delays.append(now - sent)
                    offset = record.offset + 1
