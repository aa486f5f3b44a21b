"""The way of a group's request: to the partition that keeps the group, and back in the version asked.

What the coordinator is made of is imported when the first such request comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.messages import message_classes

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.group_partition import Decide, GroupPartition
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.groups.messages import RequestContext

T = TypeVar("T")

_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS = 3, 6, 8, 10, 11
GROUP_OPERATIONS: Final = sum(1 << code for code in (_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS))
"""All operations on a group: without an authorizer everything is allowed."""


def context_of(call: Call) -> RequestContext:
    """Who asks, as groups remember it."""
    from doorkeeper.cluster.groups.messages import RequestContext

    return RequestContext(call.version, call.request.client_id or "", f"/{call.peer.address}")


def response_class(call: Call) -> type[Any]:
    return message_classes(call.request.api_key, call.version).response


def ask_coordinator(
    broker: BrokerRole,
    call: Call,
    decide: Decide,
    write: Callable[[type[Any], Any], Any] | None = None,
) -> Any | Awaitable[Any]:
    """Let the coordinator of the group that the request names decide, and write its response."""
    from doorkeeper.cluster.groups.translation import write_response

    partition = broker.data.groups.find(call.body.group_id)
    if isinstance(partition, ErrorCode):
        return call.refuse(partition)
    outcome = partition.submit(decide)
    writing = write or write_response
    if isinstance(outcome, asyncio.Future):
        return _write_later(call, outcome, writing)
    return _written(call, outcome, writing)


async def _write_later(call: Call, future: asyncio.Future[Any], write: Callable[[type[Any], Any], Any]) -> Any:
    return _written(call, await future, write)


def _written(call: Call, outcome: Any, write: Callable[[type[Any], Any], Any]) -> Any:
    return call.refuse(outcome) if isinstance(outcome, ErrorCode) else write(response_class(call), outcome)


def each_group(
    broker: BrokerRole,
    group_ids: Iterable[str],
    found: Callable[[GroupPartition, str], T],
    refused: Callable[[str, ErrorCode], T],
) -> list[T]:
    """One outcome for each group, in the order asked, from whichever partition keeps it."""
    outcomes = []
    for group_id in group_ids:
        partition = broker.data.groups.find(group_id)
        is_refused = isinstance(partition, ErrorCode)
        outcomes.append(refused(group_id, partition) if is_refused else found(partition, group_id))  # type: ignore[arg-type]
    return outcomes


def with_operations(call: Call, groups: Iterable[T]) -> list[T]:
    """Descriptions with what the client may do to each group, if it asked for that."""
    if not getattr(call.body, "include_authorized_operations", False):
        return list(groups)
    extra: Mapping[str, Any] = {"authorized_operations": GROUP_OPERATIONS}
    return [one if one.error_code else replace(one, **extra) for one in groups]  # type: ignore[attr-defined,type-var]
