"""Hypothesis strategies for messages, drawn from their classes."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from doorkeeper.wire.messages import API_KEYS, message_classes, newest_version, oldest_version
from doorkeeper.wire.schema import Shape, shape_of

ALL_VERSIONS = [
    (api_key, version)
    for api_key in sorted(API_KEYS)
    for version in range(oldest_version(api_key), newest_version(api_key) + 1)
]
ALL_CLASSES = [entity for api_key, version in ALL_VERSIONS for entity in message_classes(api_key, version)]
"""Every request and response class of kio."""


def _integers(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def _whole_seconds(limit: int) -> st.SearchStrategy[timedelta]:
    return st.integers(-limit, limit).map(lambda seconds: timedelta(seconds=seconds))


PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "int8": _integers(8),
    "uint8": _integers(8, signed=False),
    "int16": _integers(16),
    "uint16": _integers(16, signed=False),
    "int32": _integers(32),
    "uint32": _integers(32, signed=False),
    "int64": _integers(64),
    "uint64": _integers(64, signed=False),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "string": st.text(max_size=200),
    "bytes": st.binary(max_size=200),
    "records": st.binary(max_size=200),
    "error_code": st.sampled_from(ErrorCode),
    "timedelta_i32": _whole_seconds(2**31 // 1000 - 1),
    "timedelta_i64": _whole_seconds(10**9),
    "datetime_i64": st.integers(0, 10**10).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    # kio reads the zero UUID as None, so that is how "none" is drawn.
    "uuid": st.none() | st.uuids(),
}


def _values(shape: Shape, *, max_size: int) -> st.SearchStrategy[Any]:
    if shape.entity is not None:
        item = messages(shape.entity, max_size=max_size)
    else:
        assert shape.kafka_type is not None
        item = PRIMITIVES[shape.kafka_type]
    if shape.array:
        item = st.lists(item, max_size=max_size).map(tuple)
    return st.none() | item if shape.nullable else item


def messages(entity: type[Any], *, max_size: int = 2) -> st.SearchStrategy[Any]:
    """Instances of a message class."""
    return st.builds(entity, **{one.name: _values(shape_of(one), max_size=max_size) for one in fields(entity)})


def any_message() -> st.SearchStrategy[Any]:
    """Instances of any message class of kio."""
    return st.sampled_from(ALL_CLASSES).flatmap(messages)
