"""The door's cost on Produce and Fetch, next to kio's own decoding of the same request.

*judge* is `judge_request` on the decoded message, *in place* is `may_breach` on the bytes (the gateway's way, which
decodes nothing), *peek* is `peek_identifiers`. The target of the proposal's issue is 5 µs a request; the evaluated
rulebook (switch off) and the enforced one cost the same, because a lawful request never gets to the switch.
"""

from __future__ import annotations

import time
from typing import Any

from kio.serial import entity_reader

from benchmarks.measure import Row, compare
from doorkeeper.door.in_place import may_breach, peek_identifiers
from doorkeeper.door.judge import judge_request
from doorkeeper.door.judged import Keeper
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.wire.answers import element_class
from doorkeeper.wire.codec import encode_request, read_request_header
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import FETCH, PRODUCE, message_classes

LOOPS = 20_000
MAX_MICROSECONDS = 5.0
CLIENT_ID = "orders-service-7f9c4b5d8-x2x1q"


def rows() -> list[Row]:
    """Produce of one batch of 16 KB, and Fetch of an empty session, of one partition and of twenty."""
    return [
        *_rows("Produce v12", produce()),
        *_rows("Fetch v17, empty session", fetch(0)),
        *_rows("Fetch v17, 1 partition", fetch(1)),
        *_rows("Fetch v17, 20 partitions", fetch(20)),
    ]


def produce() -> Any:
    """One topic, one partition, 16 KB of records."""
    request = message_classes(PRODUCE, 12).request
    topic = element_class(request, "topic_data")
    partition = element_class(topic, "partition_data")
    batch = build(partition, {"records": b"r" * 16_384})
    return build(
        request, {"acks": -1, "transactional_id": "tx-1", "topic_data": (build(topic, {"partition_data": (batch,)}),)}
    )


def fetch(partitions: int) -> Any:
    """One topic with so many partitions; none at all for 0, as sessions send (KIP-227)."""
    request = message_classes(FETCH, 17).request
    topic = element_class(request, "topics")
    partition = element_class(topic, "partitions")
    asked = tuple(build(partition, {"partition": number}) for number in range(partitions))
    topics = (build(topic, {"partitions": asked}),) if partitions else ()
    return build(request, {"rack_id": "eu-west-1a", "topics": topics})


def _rows(what: str, body: Any) -> list[Row]:
    frame = encode_request(body, 1, CLIENT_ID)
    view = memoryview(frame)
    header = read_request_header(view)
    read = entity_reader(type(body))
    enforced, evaluated = Rulebook.of_release("5.0"), Rulebook.of_release("4.x")
    ours = {
        "judge, limits on": lambda: judge_request(header, body, enforced),
        "judge, evaluate": lambda: judge_request(header, body, evaluated),
        "in place": lambda: may_breach(header, view, Keeper.GATEWAY),
        "peek": lambda: peek_identifiers(header, view, Keeper.GATEWAY),
    }
    return [
        _in_microseconds(
            compare(
                f"{what}: {name}",
                call,
                lambda: read(frame, header.body_offset),
                at_most=5.0,
                loops=LOOPS,
                clock=time.process_time,
            )
        )
        for name, call in ours.items()
    ]


def _in_microseconds(row: Row) -> Row:
    """The target is a time, not a ratio."""
    took = float(row.ours.split()[0])
    return Row(row.what, row.ours, row.peer, row.ratio, f"<= {MAX_MICROSECONDS:g} µs", took <= MAX_MICROSECONDS)
