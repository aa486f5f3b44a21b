"""Produce (0): records into partition logs. From KafkaApis.handleProduceRequest and ReplicaManager.appendToLocalLog.

With one replica the leader's disk is all there is: acks=-1 and acks=1 are answered alike, once the log has the batch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import now_ms
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.leaders import LeaderHints
from doorkeeper.cluster.handlers.partitions import INTERNAL_TOPICS
from doorkeeper.cluster.handlers.transactional_records import FREE, Leave, Leaves, ask_leave, is_transactional
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.validation import check_produce_batch
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.produced import Written, encode_written
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(0, 3, 13, frozenset((Door.BROKER,)))
LAWFUL_ACKS: Final = frozenset((-1, 0, 1))
NO_ANSWER: Final = 0
NO_TIMESTAMP: Final = -1
NO_ID: Final = UUID(int=0)
ADMIN_CLIENT: Final = "__admin_client"
"""The client id that may write to internal topics: Kafka's own admin tools have it."""
_START_UNKNOWN: Final = frozenset(
    (
        LogError.MESSAGE_TOO_LARGE,
        LogError.RECORD_LIST_TOO_LARGE,
        LogError.CORRUPT_MESSAGE,
        LogError.KAFKA_STORAGE_ERROR,
    )
)
"""Refusals that Kafka answers without the log's start."""


class _Topic(NamedTuple):
    name: str | None
    """None: no topic has the id."""
    key: str | UUID
    """As the request has it: the name, or the id."""


_Asked = list[tuple[_Topic, Sequence[Any]]]


def at_broker(broker: BrokerRole, call: Call) -> Any:
    if not any(is_transactional(one.records) for asked in call.body.topic_data for one in asked.partition_data):
        return _produce(broker, call, {})
    if call.body.transactional_id is None:
        return _refuse(call, ErrorCode.transactional_id_authorization_failed)
    leaves = ask_leave(broker, call, _transactional(broker, call))
    if isinstance(leaves, ErrorCode):
        return _refuse(call, leaves)
    return _produce_later(broker, call, leaves) if isinstance(leaves, Awaitable) else _produce(broker, call, leaves)


def _transactional(broker: BrokerRole, call: Call) -> Iterator[tuple[str, Any]]:
    """The partitions that are there and are sent lawful records of a transaction, each with its topic's name."""
    for asked in call.body.topic_data:
        name = _topic(broker, asked).name
        for one in asked.partition_data:
            if name is not None and is_transactional(one.records) and _check(broker, call, name, one) is None:
                yield name, one


async def _produce_later(broker: BrokerRole, call: Call, leaves: Awaitable[Leaves]) -> Any:
    return _produce(broker, call, await leaves)


def _refuse(call: Call, code: ErrorCode) -> Any:
    if call.body.acks == NO_ANSWER:
        raise RemoteProtocolError(f"Produce without acks failed: {code.name}")
    return call.refuse(code)


def _produce(broker: BrokerRole, call: Call, leaves: Leaves) -> Any:
    outcomes = []
    failed = ErrorCode.none
    for topic, asked in _once(
        broker, call, [(_topic(broker, one), one.partition_data) for one in call.body.topic_data]
    ):
        partitions: dict[int, Written | dict[str, Any]] = {}
        for one in asked:
            leave = leaves.get((topic.name or "", one.index), FREE) if leaves else FREE
            outcome = _append(broker, call, topic.name, one, leave)
            if not isinstance(outcome, Written):
                failed = outcome["error_code"]
            partitions[one.index] = outcome
        outcomes.append((topic, list(partitions.values())))
    if call.body.acks == NO_ANSWER:
        if failed:
            # The producer expects no answer: that the connection ends is how it learns of the failure.
            raise RemoteProtocolError(f"Produce without acks failed: {ErrorCode(failed).name}")
        return None
    if not failed:
        return encode_written(call.version, [(topic.key, cast("list[Written]", found)) for topic, found in outcomes])
    return _answer_with_failures(broker, call, outcomes)


def _once(broker: BrokerRole, call: Call, asked: _Asked) -> _Asked:
    """What is asked, without repetitions: of several batches for one partition the last counts.

    Kafka keeps them in maps, one for those that fail at first sight: what that one holds is answered in the end.
    """
    if _names_each_once(asked):
        return asked
    topics: dict[_Topic, tuple[dict[int, Any], dict[int, Any]]] = {}
    for topic, partitions in asked:
        lawful, unlawful = topics.setdefault(topic, ({}, {}))
        for one in partitions:
            is_lawful = topic.name is not None and _check(broker, call, topic.name, one) is None
            (lawful if is_lawful else unlawful)[one.index] = one
    return [(topic, [*lawful.values(), *unlawful.values()]) for topic, (lawful, unlawful) in topics.items()]


def _names_each_once(asked: _Asked) -> bool:
    if len(asked) == 1:
        partitions = asked[0][1]
        return len(partitions) == 1 or len({one.index for one in partitions}) == len(partitions)
    return len({topic for topic, _ in asked}) == len(asked) and all(_names_each_once([one]) for one in asked)


def _answer_with_failures(
    broker: BrokerRole, call: Call, outcomes: Sequence[tuple[_Topic, Sequence[Written | dict[str, Any]]]]
) -> Any:
    hints = LeaderHints(broker, call)
    responses = []
    for topic, partitions in outcomes:
        answered = []
        for one in partitions:
            values = _written(one) if isinstance(one, Written) else one
            if values["error_code"] == ErrorCode.not_leader_or_follower and topic.name is not None:
                values |= hints.add(topic.name, values["index"])
            answered.append(values)
        field = "topic_id" if isinstance(topic.key, UUID) else "name"
        responses.append({field: topic.key, "partition_responses": answered})
    return call.answer({"responses": responses, "node_endpoints": hints.endpoints()})


def _topic(broker: BrokerRole, asked: Any) -> _Topic:
    if hasattr(asked, "topic_id"):
        topic_id = asked.topic_id or NO_ID
        known = broker.image.topics.by_id.get(topic_id)
        return _Topic(None if known is None else known.name, topic_id)
    return _Topic(str(asked.name), str(asked.name))


def _check(broker: BrokerRole, call: Call, topic: str, asked: Any) -> ErrorCode | None:
    """What is wrong at first sight."""
    if broker.data.logs.registration(topic, asked.index) is None:
        return ErrorCode.unknown_topic_or_partition
    refused = check_produce_batch(asked.records or b"", call.version)
    return None if refused is None else ErrorCode(refused.code)


def _append(broker: BrokerRole, call: Call, topic: str | None, asked: Any, leave: Leave) -> Written | dict[str, Any]:
    values = {"index": asked.index, "base_offset": -1, "log_append_time": None}
    if topic is None:
        return values | {"error_code": ErrorCode.unknown_topic_id}
    code = _check(broker, call, topic, asked)
    if code is not None:
        return values | {"error_code": code}
    if leave.code:
        return values | {"error_code": leave.code, "error_message": leave.message}
    if call.body.acks not in LAWFUL_ACKS:
        return values | {"error_code": ErrorCode.invalid_required_acks}
    if topic in INTERNAL_TOPICS and call.request.client_id != ADMIN_CLIENT:
        return values | {"error_code": ErrorCode.invalid_topic_exception}
    led = broker.data.logs.find(topic, asked.index)
    if isinstance(led, ErrorCode):
        return values | {"error_code": led}
    outcome = led.log.append(asked.records, leader_epoch=led.leader_epoch, now=now_ms(), verification=leave.guard)
    if isinstance(outcome, Refusal):
        return values | _refused(outcome, led.log.log_start_offset)
    return Written(asked.index, outcome.base_offset, outcome.log_append_time, outcome.log_start_offset)


def _written(outcome: Written) -> dict[str, Any]:
    time = outcome.log_append_time
    return {
        "index": outcome.partition,
        "error_code": ErrorCode.none,
        "base_offset": outcome.base_offset,
        "log_append_time": None if time == NO_TIMESTAMP else datetime.fromtimestamp(time / 1000, UTC),
        "log_start_offset": outcome.log_start_offset,
    }


def _refused(refusal: Refusal, log_start_offset: int) -> dict[str, Any]:
    """Only for single records does Kafka say more than the code."""
    return {
        "error_code": refusal.code,
        "log_start_offset": -1 if refusal.code in _START_UNKNOWN else log_start_offset,
        "record_errors": [
            {"batch_index": one.batch_index, "batch_index_error_message": one.message} for one in refusal.records
        ],
        "error_message": refusal.message if refusal.records else None,
    }
