"""Between kio's classes, one per version of each API, and the coordinator's messages, one for all versions.

Fields go by their names. kio has time spans as `timedelta` without `_ms` in the name, and the zero UUID as None. A
field that a version does not have keeps its default in a request and is left out of a response.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.messages import (
    NONE,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetFetchGroup,
    OffsetFetchGroupResult,
    OffsetFetchPartitionResult,
    OffsetFetchTopic,
    OffsetFetchTopicResult,
)

T = TypeVar("T")

_MILLISECOND: Final = timedelta(milliseconds=1)
_NO_THROTTLE: Final = timedelta(0)


def _inner_class(annotation: Any) -> type | None:
    """The dataclass that a field holds, inside of tuples and unions; None for plain values."""
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return annotation
    if typing.get_origin(annotation) in (tuple, types.UnionType, typing.Union):
        found = (_inner_class(part) for part in typing.get_args(annotation))
        return next((inner for inner in found if inner is not None), None)
    return None


_FIELDS: Final[dict[type, dict[str, type | None]]] = {}


def _fields(kind: type) -> dict[str, type | None]:
    """The fields of a class, each with the dataclass that it holds, if any."""
    fields = _FIELDS.get(kind)
    if fields is None:
        hints = typing.get_type_hints(kind)
        fields = {field.name: _inner_class(hints[field.name]) for field in dataclasses.fields(kind)}
        _FIELDS[kind] = fields
    return fields


def _each(value: Any, inner: type | None, convert: Callable[[type, Any], Any]) -> Any:
    """Convert what a field holds: one structure, several, or a plain value."""
    if value is None or inner is None:
        return tuple(value) if isinstance(value, list) else value
    if isinstance(value, tuple | list):
        return tuple(convert(inner, item) for item in value)
    return convert(inner, value)


# --- requests ----------------------------------------------------------------------------------------------------


def read_request(kind: type[T], request: Any) -> T:
    """A message of the coordinator from a request of kio, whatever its version."""
    values: dict[str, Any] = {}
    for name, inner in _fields(kind).items():
        source = name.removesuffix("_ms")
        if not hasattr(request, source):
            continue
        value = getattr(request, source)
        if isinstance(value, timedelta):
            value = value // _MILLISECOND
        values[name] = _each(value, inner, read_request)
    return kind(**values)


def read_join_group(request: Any) -> JoinGroupRequest:
    """Version 0 of JoinGroup has no rebalance time-out: the session's serves."""
    message = read_request(JoinGroupRequest, request)
    if hasattr(request, "rebalance_timeout"):
        return message
    return dataclasses.replace(message, rebalance_timeout_ms=message.session_timeout_ms)


def read_leave_group(request: Any) -> LeaveGroupRequest:
    """LeaveGroup named one member before version 3."""
    if hasattr(request, "members"):
        return read_request(LeaveGroupRequest, request)
    return LeaveGroupRequest(group_id=request.group_id, members=(MemberIdentity(member_id=request.member_id),))


def read_offset_fetch(request: Any) -> tuple[OffsetFetchGroup, ...]:
    """OffsetFetch named one group before version 8; below version 2 it could not ask for all topics."""
    if hasattr(request, "groups"):
        return tuple(read_request(OffsetFetchGroup, group) for group in request.groups)
    topics = None
    if request.topics is not None:
        topics = tuple(read_request(OffsetFetchTopic, topic) for topic in request.topics)
    return (OffsetFetchGroup(group_id=request.group_id, topics=topics),)


# --- responses ---------------------------------------------------------------------------------------------------


def write_response(kind: type[T], message: Any) -> T:
    """A response of kio, of the version that `kind` is of, from a message of the coordinator."""
    values: dict[str, Any] = {}
    for name, inner in _fields(kind).items():
        if name == "throttle_time":
            values[name] = _NO_THROTTLE
        elif hasattr(message, name + "_ms"):
            values[name] = getattr(message, name + "_ms") * _MILLISECOND
        elif hasattr(message, name):
            values[name] = _each(getattr(message, name), inner, write_response)
    return kind(**values)


def write_listing(kind: type[T], field: str, items: Any) -> T:
    """A response that is one list of entries: DescribeGroups, DeleteGroups, ListGroups and their like."""
    inner = _fields(kind)[field]
    assert inner is not None
    values: dict[str, Any] = {field: tuple(write_response(inner, item) for item in items)}
    if "throttle_time" in _fields(kind):
        values["throttle_time"] = _NO_THROTTLE
    if "error_code" in _fields(kind):
        values["error_code"] = NONE
    return kind(**values)


def write_join_group(kind: type[T], message: JoinGroupResponse) -> T:
    """Before version 7 the protocol name must not be null."""
    if "protocol_type" not in _fields(kind) and message.protocol_name is None:
        message = dataclasses.replace(message, protocol_name="")
    return write_response(kind, message)


def write_leave_group(kind: type[T], message: LeaveGroupResponse) -> T:
    """Before version 3 the one member's code is that of the response."""
    if "members" in _fields(kind):
        return write_response(kind, message)
    code = message.error_code
    if code is NONE and message.members:
        code = message.members[0].error_code
    return write_response(kind, LeaveGroupResponse(error_code=code))


def write_offset_fetch(
    kind: type[T], asked: tuple[OffsetFetchGroup, ...], results: tuple[OffsetFetchGroupResult, ...]
) -> T:
    """Before version 8 there is one group, and before version 2 its code stands in every partition."""
    if "groups" in _fields(kind):
        return write_listing(kind, "groups", results)
    (group,), (request,) = results, asked
    if "error_code" not in _fields(kind) and group.error_code is not NONE:
        group = _code_in_partitions(request, group.error_code)
    return write_response(kind, group)


def _code_in_partitions(request: OffsetFetchGroup, code: ErrorCode) -> OffsetFetchGroupResult:
    topics = tuple(
        OffsetFetchTopicResult(
            name=topic.name,
            partitions=tuple(
                OffsetFetchPartitionResult(partition_index=index, error_code=code) for index in topic.partition_indexes
            ),
        )
        for topic in request.topics or ()
    )
    return OffsetFetchGroupResult(group_id=request.group_id, topics=topics)
