"""The same requests to a real Kafka and to our coordinator, and their answers side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from kio.index import load_response_from_request
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32, i32Timedelta, i64
from tests.cluster.transactions.ledger import A0, A1, OFFSETS, Ledger
from tests.kafka.cluster import KafkaCluster
from tests.kafka.requests import Connection, make_request

from doorkeeper.cluster.transactions import translation
from doorkeeper.cluster.transactions.messages import NO_PRODUCER_ID, TopicPartition

CREATE_TOPICS, FIND_COORDINATOR = 19, 10
INIT, ADD_PARTITIONS, ADD_OFFSETS, END, LIST = 22, 24, 25, 26, 66
MAX_QUESTIONS = 20_000
EXISTING = {A0, A1}
NOWHERE = TopicPartition("a", 99)


def span(milliseconds: int) -> Any:
    return i32Timedelta.parse(timedelta(milliseconds=milliseconds))


def poll(is_so: Callable[[], bool]) -> None:
    """Ask until it is so; each question is a round trip, so this ends."""
    assert any(is_so() for _ in range(MAX_QUESTIONS)), "it never came to be so"


@dataclass
class Theirs:
    """A real Kafka; markers are written while we wait."""

    connection: Connection

    def ask(self, request: Any) -> Any:
        return self.connection.call(request)

    def settle(self, transactional_id: str) -> None:
        request = make_request(LIST, 0, state_filters=("PrepareCommit", "PrepareAbort"), producer_id_filters=())
        poll(lambda: all(one.transactional_id != transactional_id for one in self.ask(request).transaction_states))


@dataclass
class Ours:
    """Our coordinator, behind what a broker's handlers will be."""

    ledger: Ledger

    def ask(self, request: Any) -> Any:
        answer: Callable[[Any, int, Any], Any] = getattr(self, f"_ask_{int(request.__api_key__)}")
        return answer(request, int(request.__version__), load_response_from_request(type(request)))

    def settle(self, transactional_id: str) -> None:
        self.ledger.write_markers()
        assert not self.ledger.coordinator.state.transactions[transactional_id].state.is_ending

    def _ask_22(self, request: Any, version: int, kind: Any) -> Any:
        asked = translation.read_init_producer_id(request)
        decision = self.ledger.coordinator.init_producer_id(asked, version, self.ledger.now_ms)
        return translation.write_init_producer_id(kind, self.ledger.take(decision))

    def _ask_24(self, request: Any, version: int, kind: Any) -> Any:
        results = []
        for asked in translation.read_add_partitions(request):
            missing = set(asked.partitions) - EXISTING
            refused = dict.fromkeys(missing, ErrorCode.unknown_topic_or_partition)
            known = type(asked)(**{name: getattr(asked, name) for name in asked.__slots__} | {"refused": refused})
            decision = self.ledger.coordinator.add_partitions_to_txn(known, version, self.ledger.now_ms)
            results.append((asked.transactional_id, self.ledger.take(decision)))
        return translation.write_add_partitions(kind, results)

    def _ask_25(self, request: Any, version: int, kind: Any) -> Any:
        asked = translation.read_add_offsets(request, OFFSETS)
        decision = self.ledger.coordinator.add_offsets_to_txn(asked, version, self.ledger.now_ms)
        return translation.write_add_offsets(kind, self.ledger.take(decision))

    def _ask_26(self, request: Any, version: int, kind: Any) -> Any:
        decision = self.ledger.coordinator.end_txn(translation.read_end_txn(request), version, self.ledger.now_ms)
        return translation.write_end_txn(kind, self.ledger.take(decision))

    def _ask_66(self, request: Any, version: int, kind: Any) -> Any:
        del version
        asked = translation.read_list_transactions(request)
        listed = self.ledger.coordinator.list_transactions(asked, self.ledger.now_ms)
        return translation.write_list_transactions(kind, listed)


@dataclass
class Side:
    """One of the two, with the producer ids that it gave, in their order: the first is 0 on either side."""

    server: Theirs | Ours
    ids: list[int] = field(default_factory=list)

    def number(self, producer_id: int) -> int:
        if producer_id == NO_PRODUCER_ID:
            return NO_PRODUCER_ID
        if producer_id not in self.ids:
            self.ids.append(producer_id)
        return self.ids.index(producer_id)

    def producer_id(self, number: int) -> int:
        """The id with this number; one that was never given for a number that was not."""
        if number == NO_PRODUCER_ID:
            return NO_PRODUCER_ID
        return self.ids[number] if number < len(self.ids) else 2**60 + number


@dataclass
class Both:
    """Ask both, and hold their answers to be the same. Producers are (number, epoch), as both sides know them."""

    transactional_id: str
    sides: tuple[Side, Side]

    def _same(self, ask: Callable[[Side], Any]) -> Any:
        theirs, ours = (ask(side) for side in self.sides)
        assert ours == theirs
        return theirs

    def init(self, version: int, producer: tuple[int, int] | None = None, timeout_ms: int = 60_000) -> Any:
        def ask(side: Side) -> Any:
            fields: dict[str, Any] = {
                "transactional_id": self.transactional_id,
                "transaction_timeout": span(timeout_ms),
            }
            if producer is not None:
                fields |= {"producer_id": i64(side.producer_id(producer[0])), "producer_epoch": i16(producer[1])}
            answer = side.server.ask(make_request(INIT, version, **fields))
            return answer.error_code, side.number(answer.producer_id), answer.producer_epoch

        return self._same(ask)

    def add(
        self, version: int, producer: tuple[int, int], *partitions: TopicPartition, verify_only: bool = False
    ) -> Any:
        def ask(side: Side) -> Any:
            fields: dict[str, Any] = {
                "transactional_id": self.transactional_id,
                "producer_id": i64(side.producer_id(producer[0])),
                "producer_epoch": i16(producer[1]),
                "topics": [{"name": "a", "partitions": tuple(i32(one.partition) for one in partitions)}],
            }
            if version < 4:
                fields = {f"v3_and_below_{name}": value for name, value in fields.items()}
                answer = side.server.ask(make_request(ADD_PARTITIONS, version, **fields))
                return _codes(answer.results_by_topic_v3_and_below)
            fields["verify_only"] = verify_only
            answer = side.server.ask(make_request(ADD_PARTITIONS, version, transactions=[fields]))
            (result,) = answer.results_by_transaction
            return answer.error_code, result.transactional_id, _codes(result.topic_results)

        return self._same(ask)

    def add_offsets(self, version: int, producer: tuple[int, int]) -> Any:
        def ask(side: Side) -> Any:
            request = make_request(
                ADD_OFFSETS,
                version,
                transactional_id=self.transactional_id,
                producer_id=i64(side.producer_id(producer[0])),
                producer_epoch=i16(producer[1]),
                group_id="g",
            )
            return side.server.ask(request).error_code

        return self._same(ask)

    def end(self, version: int, producer: tuple[int, int], *, commit: bool) -> Any:
        def ask(side: Side) -> Any:
            request = make_request(
                END,
                version,
                transactional_id=self.transactional_id,
                producer_id=i64(side.producer_id(producer[0])),
                producer_epoch=i16(producer[1]),
                committed=commit,
            )
            answer = side.server.ask(request)
            if version < 5:
                return answer.error_code
            return answer.error_code, side.number(answer.producer_id), answer.producer_epoch

        return self._same(ask)

    def settle(self) -> None:
        """Let the markers be written, on both sides."""
        for side in self.sides:
            side.server.settle(self.transactional_id)

    def listed(self) -> Any:
        """State and producer of the transactional id."""

        def ask(side: Side) -> Any:
            answer = side.server.ask(make_request(LIST, 0, state_filters=(), producer_id_filters=()))
            mine = [one for one in answer.transaction_states if one.transactional_id == self.transactional_id]
            return [(side.number(one.producer_id), one.transaction_state) for one in mine]

        return self._same(ask)


def _codes(topics: Any) -> dict[tuple[str, int], ErrorCode]:
    return {
        (topic.name, one.partition_index): one.partition_error_code
        for topic in topics
        for one in topic.results_by_partition
    }


def connect(kafka: KafkaCluster) -> Connection:
    """A connection to a Kafka that has the topic `a` and serves transactions."""
    connection = kafka.connect_broker()
    topic = {
        "name": "a",
        "num_partitions": i32(2),
        "replication_factor": i16(1),
        "assignments": [],
        "configs": [],
    }
    connection.call(make_request(CREATE_TOPICS, 7, topics=[topic], timeout=span(10_000), validate_only=False))
    find = make_request(FIND_COORDINATOR, 4, key_type=1, coordinator_keys=("x",))
    poll(lambda: connection.call(find).coordinators[0].error_code is ErrorCode.none)
    probe = make_request(INIT, 1, transactional_id="probe", transaction_timeout=span(1000))
    poll(lambda: connection.call(probe).error_code is ErrorCode.none)
    return connection
