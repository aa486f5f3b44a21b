"""Messages with strings that are no UTF-8: read with the text that Java would read, whatever else they hold."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from tests.wire.strategies import any_message

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.codec import decode_body, encode_body
from doorkeeper.wire.defaults import build
from doorkeeper.wire.mending import MAX_OLD_STRING
from doorkeeper.wire.messages import message_classes

HEARTBEAT = 12
OLD, FLEXIBLE = 3, 4
SNOWMAN = "\N{SNOWMAN}"


def with_strings(value: Any, before: str, after: str) -> Any:
    """A copy of a message: in every string `after` stands for `before`, or at the end if that is empty."""
    if isinstance(value, str):
        return value.replace(before, after) if before else value + after
    if isinstance(value, tuple):
        return tuple(with_strings(one, before, after) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        kept = {one.name: with_strings(getattr(value, one.name), before, after) for one in fields(value)}
        return type(value)(**kept)
    return value


@pytest.mark.parametrize(("broken", "read"), [(b"\xed\xa0\x80", "\ufffd"), (b"\xff\xfe\xff", "\ufffd" * 3)])
@given(message=any_message())
def test_every_string_of_every_message_is_read_as_java_reads_it(message: Any, broken: bytes, read: str) -> None:
    marked = with_strings(message, "", SNOWMAN)
    frame = encode_body(marked).replace(SNOWMAN.encode(), broken)
    assert decode_body(type(message), b"lead" + frame, 4) == with_strings(marked, SNOWMAN, read)


@pytest.mark.parametrize("version", [OLD, FLEXIBLE])
def test_a_broken_string_that_ends_too_early_is_refused(version: int) -> None:
    entity = message_classes(HEARTBEAT, version).request
    frame = encode_body(build(entity, {"group_id": SNOWMAN, "member_id": "m"})).replace(SNOWMAN.encode(), b"\xff" * 3)
    with pytest.raises(RemoteProtocolError):
        decode_body(entity, frame[:-3], 0)


@pytest.mark.parametrize(("length", "is_read"), [(MAX_OLD_STRING // 3, True), (MAX_OLD_STRING // 3 + 1, False)])
def test_an_old_string_has_an_end_also_when_it_is_mended(length: int, *, is_read: bool) -> None:
    entity = message_classes(HEARTBEAT, OLD).request
    frame = encode_body(build(entity, {"group_id": "~" * length, "member_id": "m"})).replace(b"~", b"\xff")
    if is_read:
        assert decode_body(entity, frame, 0).group_id == "\ufffd" * length
    else:
        with pytest.raises(RemoteProtocolError, match="too long when mended"):
            decode_body(entity, frame, 0)


def test_a_compact_string_may_be_longer_than_that() -> None:
    entity = message_classes(HEARTBEAT, FLEXIBLE).request
    frame = encode_body(build(entity, {"group_id": "~" * MAX_OLD_STRING, "member_id": "m"})).replace(b"~", b"\xff")
    assert decode_body(entity, frame, 0).group_id == "\ufffd" * MAX_OLD_STRING
