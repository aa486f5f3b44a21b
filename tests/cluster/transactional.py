"""A transactional producer by hand, as clients are before KIP-890 and since: it finds its way among several brokers."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from tests.cluster.records import INIT_PRODUCER_ID, PRODUCE, ask, batch, fetch, values_in
from tests.kafka.requests import Connection

from doorkeeper.cluster.log.batch import MarkerType, iter_whole, read_marker
from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.codec import decode_response

METADATA, FIND_COORDINATOR = 3, 10
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, WRITE_TXN_MARKERS, TXN_OFFSET_COMMIT = 24, 25, 26, 27, 28
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
TRANSACTION = 1
PATIENCE_SECONDS = 20
LATER = frozenset(
    (
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
        ErrorCode.concurrent_transactions,
        ErrorCode.not_enough_replicas,
        ErrorCode.not_leader_or_follower,  # a new leader of a real Kafka that has not heard of it yet
    )
)
"""A client that hears this tries again."""


class Deadline:
    """`while deadline.holds():`; a test that goes on for too long fails there."""

    def __init__(self, what: str, seconds: float = PATIENCE_SECONDS) -> None:
        self._what = what
        self._end = time.monotonic() + seconds

    def holds(self) -> bool:
        assert time.monotonic() < self._end, f"{self._what} takes too long"
        return True


class Cluster:
    """The connections to all brokers, and who does what."""

    def __init__(self, nodes: Mapping[int, Connection]) -> None:
        self.nodes = nodes

    @property
    def any(self) -> Connection:
        return next(iter(self.nodes.values()))

    def leader(self, topic: str, partition: int) -> Connection:
        deadline = Deadline(f"a leader of {topic}-{partition}")
        while deadline.holds():
            answer = ask(self.any, METADATA, 12, topics=[{"name": topic, "topic_id": None}])
            for one in answer.topics[0].partitions:
                if one.partition_index == partition and one.leader_id in self.nodes:
                    return self.nodes[one.leader_id]
        raise AssertionError

    def coordinator(self, key: str, key_type: int) -> Connection:
        deadline = Deadline(f"a coordinator of {key}")
        while deadline.holds():
            (found,) = ask(self.any, FIND_COORDINATOR, 6, key_type=key_type, coordinator_keys=[key]).coordinators
            if found.error_code is ErrorCode.none:
                return self.nodes[found.node_id]
        raise AssertionError

    def committed(self, topic: str, partition: int = 0) -> list[bytes | None]:
        """What a reader of committed records sees, without what the client has to leave out."""
        leader = self.leader(topic, partition)
        reader = CommittedReader()
        while True:
            response = fetch(leader, topic, reader.offset, partition=partition, isolation_level=1, max_bytes=1 << 24)
            (found,) = response.responses[0].partitions
            assert found.error_code is ErrorCode.none
            if reader.offset >= found.last_stable_offset:
                return reader.values
            aborted = [(int(one.producer_id), int(one.first_offset)) for one in found.aborted_transactions]
            reader.read(bytes(found.records), aborted)


class CommittedReader:
    """What is left when a client has dropped control batches and aborted transactions (KIP-98)."""

    def __init__(self) -> None:
        self.offset = 0
        self.values: list[bytes | None] = []
        self._dropping: set[int] = set()

    def read(self, data: bytes, aborted: list[tuple[int, int]]) -> None:
        pending = sorted(aborted, key=lambda one: one[1])
        for position, view in iter_whole(data):
            while pending and pending[0][1] <= view.last_offset:
                self._dropping.add(pending.pop(0)[0])
            if view.is_control:
                marker = read_marker(data, position)
                if marker is not None and marker.type is MarkerType.ABORT:
                    self._dropping.discard(view.producer_id)
            elif not (view.is_transactional and view.producer_id in self._dropping):
                self.values += values_in(data[position : position + view.size])
            self.offset = view.last_offset + 1


def described(connection: Connection, transactional_ids: Sequence[str]) -> Any:
    """The answer to DescribeTransactions."""
    request = make_request(DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": transactional_ids})
    # A transaction that has not begun has the start -1, and kio's reader knows no time before 1970.
    frame = connection.exchange(request).replace(b"\xff" * 8, bytes(8))
    return decode_response(DESCRIBE_TRANSACTIONS, 0, frame)


class HandProducer:
    """One transactional producer. Transaction version 2 lets Produce and TxnOffsetCommit add partitions."""

    def __init__(self, cluster: Cluster, transactional_id: str, version: int = 2, timeout_ms: int = 60_000) -> None:
        self.cluster = cluster
        self.transactional_id = transactional_id
        self.version = version
        self.timeout_ms = timeout_ms
        self.producer_id = -1
        self.producer_epoch = -1
        self.sequences: dict[tuple[str, int], int] = defaultdict(int)

    @property
    def coordinator(self) -> Connection:
        return self.cluster.coordinator(self.transactional_id, TRANSACTION)

    @property
    def _me(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }

    def init(self) -> HandProducer:
        deadline = Deadline("InitProducerId")
        timeout = timedelta(milliseconds=self.timeout_ms)
        asked = {"transactional_id": self.transactional_id, "producer_id": -1, "producer_epoch": -1}
        while deadline.holds():
            answer = ask(self.coordinator, INIT_PRODUCER_ID, 5, **asked, transaction_timeout=timeout)
            if answer.error_code not in LATER:
                break
        assert answer.error_code is ErrorCode.none, answer
        self._become(answer.producer_id, answer.producer_epoch)
        return self

    def _become(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.sequences.clear()

    def add(self, topic: str, partition: int = 0) -> ErrorCode:
        """AddPartitionsToTxn, as clients before KIP-890."""
        answer = ask(
            self.coordinator,
            ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[{"name": topic, "partitions": [partition]}],
        )
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def produce(self, topic: str, *values: bytes, partition: int = 0, version: int | None = None) -> Any:
        """A Produce alone; the answer for the partition."""
        records = batch(
            *values,
            is_transactional=True,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.sequences[topic, partition],
        )
        data = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
        answer = ask(
            self.cluster.leader(topic, partition),
            PRODUCE,
            version or (12 if self.version == 2 else 11),
            transactional_id=self.transactional_id,
            acks=-1,
            timeout=timedelta(seconds=5),
            topic_data=data,
        )
        return answer.responses[0].partition_responses[0]

    def write(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """Records in the transaction, which begins if there is none."""
        deadline = Deadline("a write")
        while self.version < 2 and deadline.holds():
            code = self.add(topic, partition)
            if code not in LATER:
                assert code is ErrorCode.none, code
                break
        while deadline.holds():
            answer = self.produce(topic, *values, partition=partition)
            if answer.error_code not in LATER:
                break
        assert answer.error_code is ErrorCode.none, answer
        self.sequences[topic, partition] += len(values)

    def commit_offset(self, group: str, topic: str, offset: int) -> ErrorCode:
        """TxnOffsetCommit, after AddOffsetsToTxn if the client is old."""
        if self.version < 2:
            answer = ask(self.coordinator, ADD_OFFSETS_TO_TXN, 3, **self._me, group_id=group)
            if answer.error_code is not ErrorCode.none:
                return ErrorCode(answer.error_code)
        partitions = [{"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1}]
        answer = ask(
            self.cluster.coordinator(group, 0),
            TXN_OFFSET_COMMIT,
            5 if self.version == 2 else 4,
            **self._me,
            group_id=group,
            generation_id=-1,
            topics=[{"name": topic, "partitions": partitions}],
        )
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool) -> ErrorCode:
        deadline = Deadline("EndTxn")
        while deadline.holds():
            answer = ask(self.coordinator, END_TXN, 5 if self.version == 2 else 4, **self._me, committed=commit)
            if answer.error_code not in LATER:
                break
        if answer.error_code is ErrorCode.none and self.version == 2:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def commit(self) -> None:
        assert self.end(commit=True) is ErrorCode.none

    def abort(self) -> None:
        assert self.end(commit=False) is ErrorCode.none

    def state(self) -> str:
        """What DescribeTransactions says; an error's name if there is one."""
        (state,) = described(self.coordinator, [self.transactional_id]).transaction_states
        return ErrorCode(state.error_code).name if state.error_code else str(state.transaction_state)

    def wait_for(self, state: str) -> None:
        deadline = Deadline(f"state {state}")
        while deadline.holds() and self.state() != state:
            pass
