"""The broker's half of Fetch: records of topics for consumers. From KafkaApis.handleFetchRequest."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.fetch_sessions import FINAL_EPOCH, NO_SESSION, FetchContext, read_wanted
from doorkeeper.cluster.broker.fetching import Bounds, PartitionRead, Reading
from doorkeeper.cluster.handlers.call import BulkAnswer, Call
from doorkeeper.cluster.handlers.leaders import MOVED, LeaderHints
from doorkeeper.cluster.log.reading import Isolation
from doorkeeper.wire.codec import encode_parts

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

FIRST_WITH_IDS: Final = 13
MAX_INT: Final = 2**31 - 1
LENGTH_BYTES: Final = 4
NOT_LOOKED_AT: Final = frozenset((ErrorCode.unknown_topic_id, ErrorCode.unknown_topic_or_partition))
"""Refused before any log is asked: Kafka then says "none" of aborted transactions, where a log says null."""


def fetch_records(broker: BrokerRole, call: Call) -> Any | Awaitable[Any]:
    """Answer at once if there is enough, or when there is."""
    context = _context(broker, call)
    if isinstance(context, ErrorCode):
        return call.answer({"error_code": context, "session_id": NO_SESSION, "responses": ()})
    reading = Reading(broker.data.logs, context.wanted, _bounds(broker, call), call.peer)
    if reading.look(broker.image.topics):
        return _answer(broker, call, context, reading.reads)
    return _answer_later(broker, call, context, reading)


async def _answer_later(broker: BrokerRole, call: Call, context: FetchContext, reading: Reading) -> Any:
    while await reading.wait():
        if reading.look(broker.image.topics):
            break
    else:
        reading.look(broker.image.topics)
    return _answer(broker, call, context, reading.reads)


def _context(broker: BrokerRole, call: Call) -> FetchContext | ErrorCode:
    body = call.body
    wanted, forgotten = read_wanted(body)
    return broker.data.sessions.open(
        getattr(body, "session_id", NO_SESSION),
        getattr(body, "session_epoch", FINAL_EPOCH),
        wanted,
        forgotten,
        by_id=call.version >= FIRST_WITH_IDS,
    )


def _bounds(broker: BrokerRole, call: Call) -> Bounds:
    """At most what the client's quota lets through at once: more would be throttled each time, and never arrive."""
    body = call.body
    allowed = broker.meter.most_to_fetch(call)
    most = min(getattr(body, "max_bytes", MAX_INT), broker.data.fetch_max_bytes)
    max_bytes = max(0, most if allowed is None else min(most, int(allowed)))
    isolation = Isolation.READ_COMMITTED if getattr(body, "isolation_level", 0) == 1 else Isolation.READ_UNCOMMITTED
    return Bounds(min(body.min_bytes, max_bytes), max_bytes, body.max_wait.total_seconds(), isolation)


def _answer(broker: BrokerRole, call: Call, context: FetchContext, reads: Iterable[PartitionRead]) -> BulkAnswer:
    """The response in pieces, so that records are not copied into it."""
    hints = LeaderHints(broker, call)
    responses: dict[UUID | str, dict[str, Any]] = {}
    looked_at = [(read, read.records()) for read in reads]
    for read, records in looked_at:
        if not _is_news(context, read, records):
            continue
        values = _partition(read, records)
        if read.error in MOVED and read.topic is not None:
            values |= hints.add(read.topic, read.key.partition)
        topic = responses.get(read.key.topic)
        if topic is None:
            topic = responses[read.key.topic] = {"topic": read.topic, "topic_id": read.key.topic, "partitions": []}
        topic["partitions"].append(values)
    response = call.answer(
        {
            "error_code": ErrorCode.none,
            "session_id": context.session_id,
            "responses": list(responses.values()),
            "node_endpoints": hints.endpoints(),
        }
    )
    parts = tuple(encode_parts(response))
    return BulkAnswer(
        response,
        parts,
        size=LENGTH_BYTES + sum(map(len, parts)),
        confirm=lambda: _note_told(context, looked_at),
        withheld=lambda: _withheld(broker, call, context),
    )


def _withheld(broker: BrokerRole, call: Call, context: FetchContext) -> Any:
    """What a throttled client gets: no records, and no new session (FetchContext.getThrottledResponse)."""
    if context.is_incremental:
        return call.answer({"session_id": context.session_id, "responses": ()})
    if context.session is not None:
        broker.data.sessions.forget(context.session)
    return call.answer({"session_id": NO_SESSION, "responses": ()})


def _told(read: PartitionRead) -> tuple[int, int] | None:
    return None if read.result is None else (read.result.high_watermark, read.result.log_start_offset)


def _is_news(context: FetchContext, read: PartitionRead, records: bytes) -> bool:
    """Whether a client must be told of a partition (FetchSession.CachedPartition)."""
    told = _told(read)
    is_news = told != read.wanted.told or bool(records) or told is None or read.diverging is not None
    return is_news or not context.is_incremental


def _note_told(context: FetchContext, looked_at: Iterable[tuple[PartitionRead, bytes]]) -> None:
    """The session remembers what the client knows now, and whose turn is next."""
    for read, records in looked_at:
        read.wanted.told = _told(read)
        if context.session is not None and records and context.is_incremental:
            context.session.move_to_end(read.key)


def _partition(read: PartitionRead, records: bytes) -> dict[str, Any]:
    result = read.result
    if result is None:
        return {
            "partition_index": read.key.partition,
            "error_code": read.error,
            "high_watermark": -1,
            "aborted_transactions": () if read.error in NOT_LOOKED_AT else None,
            "records": b"",
        }
    aborted = result.aborted
    values: dict[str, Any] = {
        "partition_index": read.key.partition,
        "error_code": ErrorCode.none,
        "high_watermark": result.high_watermark,
        "last_stable_offset": result.last_stable_offset,
        "log_start_offset": result.log_start_offset,
        "aborted_transactions": None if aborted is None else [one._asdict() for one in aborted],
        "records": records,
    }
    if read.diverging is not None:
        values["diverging_epoch"] = {"epoch": read.diverging.epoch, "end_offset": read.diverging.end_offset}
    return values
