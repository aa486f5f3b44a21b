"""The throttle time inside answers of any shape: read, and written."""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, Final

from doorkeeper.net.service import Answer
from doorkeeper.wire.cloning import with_plain_codes
from doorkeeper.wire.codec import decode_body, encode_body
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import message_classes

THROTTLE_TIME: Final = "throttle_time"
ABSENT, LEADING, INSIDE = range(3)
_INT32: Final = struct.Struct(">i")


@remembered
def _place(api_key: int, version: int) -> int:
    """Where an API's response says the throttle time."""
    names = [one.name for one in fields(message_classes(api_key, version).response)]
    if THROTTLE_TIME not in names:
        return ABSENT
    return LEADING if names[0] == THROTTLE_TIME else INSIDE


def read_throttle_ms(api_key: int, version: int, answer: Answer) -> int:
    """The throttle time that an answer says, if it is plain to see: in a message, or at the head of bytes."""
    if isinstance(answer, bytes | memoryview):
        if _place(api_key, version) != LEADING:
            return 0
        milliseconds: int = _INT32.unpack_from(answer)[0]
        return milliseconds
    time = getattr(answer, THROTTLE_TIME, None)
    return round(time.total_seconds() * 1000) if isinstance(time, timedelta) else 0


def with_throttle_ms(api_key: int, version: int, answer: Answer, milliseconds: int) -> Answer:
    """The answer with this throttle time; an answer of a version without the field stays as it is."""
    if answer is None or _place(api_key, version) == ABSENT:
        return answer
    if not isinstance(answer, bytes | memoryview | tuple):
        return replace(answer, throttle_time=timedelta(milliseconds=milliseconds))
    whole = b"".join(answer) if isinstance(answer, tuple) else bytes(answer)
    if _place(api_key, version) == LEADING:
        return _INT32.pack(milliseconds) + whole[_INT32.size :]
    entity: type[Any] = with_plain_codes(message_classes(api_key, version).response)
    body = decode_body(entity, whole, 0)
    return encode_body(replace(body, throttle_time=timedelta(milliseconds=milliseconds)))
