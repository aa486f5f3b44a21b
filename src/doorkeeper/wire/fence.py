"""The fence before kio's decoder.

kio 0.6.5 reserves memory for as many elements as a message *claims* to hold, so that five bytes can end the process (a
failed allocation aborts it), and it refuses tagged fields that it does not know, which KIP-482 says to skip. So a
message is walked first (`walking`): absurd lengths are refused, unknown tagged fields are cut out. Bytes left over
behind a message are passed over, as Kafka does (RequestContext.parseRequest); librdkafka 2.16 sends some with Metadata.

A walk costs about 1 us for a small message and twice kio's own reading for a dense one. So messages in which no length
can be absurd skip it: see `is_harmless`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.mending import mending_walk
from doorkeeper.wire.schema import shape_of
from doorkeeper.wire.walking import MAX_ELEMENTS, Edits, Span, Walk, generate_walk

_CONTINUES: Final = bytes(byte >> 7 for byte in range(256))
"""Maps each byte to 1 when it continues a varint, else to 0."""


@remembered
def _walk(entity: type[Any], paths: tuple[str, ...] = ()) -> Walk:
    return generate_walk(entity, paths)


@remembered
def has_payload(entity: type[Any]) -> bool:
    """Whether the message carries bytes that are not ours to read (records, assignments, tokens)."""
    shapes = [shape_of(field) for field in fields(entity)]
    return any(
        has_payload(shape.entity) if shape.entity is not None else shape.kafka_type in {"bytes", "records"}
        for shape in shapes
    )


@remembered
def is_screened(entity: type[Any]) -> bool:
    """Whether `is_harmless` can speak for messages of this class: compact lengths, and no payload to search through."""
    return bool(entity.__flexible__) and not has_payload(entity)


def is_harmless(frame: bytes, offset: int) -> bool:
    """Whether no compact length in these bytes can be 2**21 or more: that takes three bytes with their high bit set.

    A search at the speed of memory. What is short and plain passes, and kio can read it unfenced; it refuses unknown
    tagged fields with a KeyError.
    """
    return len(frame) <= MAX_ELEMENTS and frame.translate(_CONTINUES).find(b"\1\1\1", offset) < 0


def fenced(entity: type[Any], frame: Frame, offset: int) -> tuple[Frame, int]:
    """Bytes and offset that kio may read as `entity`: those given, or a copy without unknown tagged fields.

    :raises RemoteProtocolError: when lengths don't add up.
    """
    return _edited(_walk(entity), frame, offset)


def mended(entity: type[Any], frame: Frame, offset: int) -> tuple[Frame, int]:
    """The same, with every string in UTF-8: for a message in which kio has met one that is not.

    :raises RemoteProtocolError: when lengths don't add up.
    """
    return _edited(mending_walk(entity), frame, offset)


def _edited(walk: Walk, frame: Frame, offset: int) -> tuple[Frame, int]:
    edits: Edits = []
    _run(walk, frame, offset, edits, [])
    if not edits:
        return frame, offset
    return _apply(edits, frame, offset), 0


def find_in_place(entity: type[Any], paths: tuple[str, ...], frame: Frame, offset: int) -> list[Span]:
    """Where the fields at `paths` lie in a message of that class, in order; nothing is built or copied.

        find_in_place(ProduceRequest, ("topic_data.name", "topic_data.partition_data.records"), frame, body_offset)

    :raises RemoteProtocolError: for bytes that are no such message.
    """
    spans: list[Span] = []
    _run(_walk(entity, paths), frame, offset, [], spans)
    return spans


def _run(walk: Walk, frame: Frame, offset: int, edits: Edits, spans: list[Span]) -> None:
    try:
        end = walk(frame, offset, edits, spans)
    except IndexError:
        end = len(frame) + 1
    if end > len(frame):
        raise RemoteProtocolError("it ends before its last field does")


def _apply(edits: Edits, frame: Frame, offset: int) -> bytes:
    parts: list[Frame] = []
    for start, end, replacement in sorted(edits):
        parts += (frame[offset:start], replacement)
        offset = end
    parts.append(frame[offset:])
    return b"".join(parts)
