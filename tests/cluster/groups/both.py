"""The same requests to a real Kafka and to our coordinator, and their answers side by side."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from itertools import count
from typing import Any
from uuid import UUID

from kio.index import load_response_from_request
from kio.serial import entity_reader
from tests.kafka.cluster import KafkaCluster
from tests.kafka.requests import Connection, make_request

from doorkeeper.cluster.groups import messages, translation
from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.messages import RequestContext
from doorkeeper.cluster.groups.settings import GroupConfigs, GroupSettings
from doorkeeper.cluster.groups.step import Decision
from doorkeeper.cluster.groups.topics import TopicsView

OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 8, 9, 11, 12, 13, 14
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS, OFFSET_DELETE = 15, 16, 42, 47
CONSUMER_HEARTBEAT, CONSUMER_DESCRIBE = 68, 69
SETTINGS = GroupSettings(classic_initial_rebalance_delay_ms=0, consumer_assignment_interval_ms=0)
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "auto.create.topics.enable": "false",
}
"""What makes a Kafka's static configuration the same as SETTINGS."""

START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Ref:
    """A member id that each side gave in its own way."""

    name: str


@dataclass
class Theirs:
    """A real Kafka, with one connection for each client, since a join may wait."""

    kafka: KafkaCluster
    names: dict[str, str] = field(default_factory=dict)
    connections: dict[str, Connection] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)

    def start(self, client: str, request: Any) -> None:
        if client not in self.connections:
            self.connections[client] = self.kafka.connect_broker()
        frame = self.connections[client].frame(request)
        self.connections[client]._socket.sendall(struct.pack(">i", len(frame)) + frame)
        self.asked[client] = request

    def finish(self, client: str) -> Any:
        connection = self.connections[client]
        (size,) = struct.unpack(">i", connection._receive(4))
        buffer = connection._receive(size)
        response_type = load_response_from_request(type(self.asked.pop(client)))
        _, offset = entity_reader(response_type.__header_schema__)(buffer, 0)
        response, _ = entity_reader(response_type)(buffer, offset)
        return response

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()


@dataclass
class Ours:
    """Our coordinator, behind what a broker's handlers will be."""

    topics: TopicsView
    names: dict[str, str] = field(default_factory=dict)
    replies: dict[object, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = count(1)
        self.coordinator = GroupCoordinator(
            new_member_id=lambda: str(UUID(int=next(numbers))), configs=GroupConfigs(SETTINGS), topics=self.topics
        )

    def start(self, client: str, request: Any) -> None:
        self.asked[client] = request
        context = RequestContext(int(request.__version__), "oracle", "/127.0.0.1")
        READERS[int(request.__api_key__)](self, context, request, client)
        self._take(self.coordinator.expire(START_MS))

    def finish(self, client: str) -> Any:
        response_type = load_response_from_request(type(self.asked.pop(client)))
        write: Callable[[Any, Any], Any] = WRITERS.get(int(response_type.__api_key__), translation.write_response)
        return write(response_type, self.replies.pop(client))

    def _take(self, decision: Decision) -> None:
        for reply in decision.replies:
            self.replies[reply.token] = reply.response

    # --- one line for each API, as its handler will have ---

    def _write(self, decide: Callable[..., Decision], *arguments: Any) -> None:
        self._take(decide(*arguments, START_MS))

    def _fetch(self, context: RequestContext, request: Any, client: str) -> None:
        asked = translation.read_offset_fetch(request)
        stable = bool(getattr(request, "require_stable", False))
        results = tuple(self.coordinator.fetch_offsets(context, group, require_stable=stable) for group in asked)
        self.replies[client] = (asked, results)


Reader = Callable[[Ours, RequestContext, Any, str], None]


def _plain(kind: type, method: str) -> Reader:
    """An API whose request needs no context."""

    def read(ours: Ours, _: RequestContext, request: Any, client: str) -> None:
        ours._write(getattr(ours.coordinator, method), translation.read_request(kind, request), client)

    return read


def _with_context(read_request: Callable[[Any], Any], method: str) -> Reader:
    def read(ours: Ours, context: RequestContext, request: Any, client: str) -> None:
        ours._write(getattr(ours.coordinator, method), context, read_request(request), client)

    return read


def _leave(ours: Ours, _: RequestContext, request: Any, client: str) -> None:
    ours._write(ours.coordinator.leave_group, translation.read_leave_group(request), client)


def _delete(ours: Ours, _: RequestContext, request: Any, client: str) -> None:
    ours._write(ours.coordinator.delete_groups, request.groups_names, client)


def _describe(ours: Ours, context: RequestContext, request: Any, client: str) -> None:
    ours.replies[client] = ours.coordinator.describe_groups(context, request.groups)


def _describe_consumer(ours: Ours, _: RequestContext, request: Any, client: str) -> None:
    ours.replies[client] = ours.coordinator.describe_consumer_groups(request.group_ids)


def _list(ours: Ours, _: RequestContext, request: Any, client: str) -> None:
    states, types = getattr(request, "states_filter", ()), getattr(request, "types_filter", ())
    ours.replies[client] = ours.coordinator.list_groups(states, types)


def _commit(request: Any) -> messages.OffsetCommitRequest:
    return translation.read_request(messages.OffsetCommitRequest, request)


def _consumer_heartbeat(request: Any) -> messages.ConsumerGroupHeartbeatRequest:
    return translation.read_request(messages.ConsumerGroupHeartbeatRequest, request)


READERS: Mapping[int, Reader] = {
    OFFSET_COMMIT: _with_context(_commit, "commit_offsets"),
    OFFSET_FETCH: Ours._fetch,
    JOIN_GROUP: _with_context(translation.read_join_group, "join_group"),
    HEARTBEAT: _plain(messages.HeartbeatRequest, "heartbeat"),
    LEAVE_GROUP: _leave,
    SYNC_GROUP: _plain(messages.SyncGroupRequest, "sync_group"),
    DESCRIBE_GROUPS: _describe,
    LIST_GROUPS: _list,
    DELETE_GROUPS: _delete,
    OFFSET_DELETE: _plain(messages.OffsetDeleteRequest, "delete_offsets"),
    CONSUMER_HEARTBEAT: _with_context(_consumer_heartbeat, "consumer_group_heartbeat"),
    CONSUMER_DESCRIBE: _describe_consumer,
}
WRITERS: Mapping[int, Callable[[Any, Any], Any]] = {
    JOIN_GROUP: translation.write_join_group,
    LEAVE_GROUP: translation.write_leave_group,
    OFFSET_FETCH: lambda kind, reply: translation.write_offset_fetch(kind, *reply),
    DESCRIBE_GROUPS: lambda kind, reply: translation.write_listing(kind, "groups", reply),
    LIST_GROUPS: lambda kind, reply: translation.write_listing(kind, "groups", reply),
    DELETE_GROUPS: lambda kind, reply: translation.write_listing(kind, "results", reply),
    CONSUMER_DESCRIBE: lambda kind, reply: translation.write_listing(kind, "groups", reply),
}


@dataclass
class Both:
    """Two sides that are asked the same and have to say the same."""

    theirs: Theirs
    ours: Ours

    def start(self, client: str, api: int, version: int, **fields: Any) -> None:
        """Send a request that may have to wait for its answer."""
        for side in (self.theirs, self.ours):
            side.start(client, make_request(api, version, **_resolve(fields, side.names)))

    def finish(self, client: str, *, saves: str | None = None) -> Any:
        """Take the answers, which must be equal; `saves` is the name of the member id in them from now on."""
        answers = []
        for side in (self.theirs, self.ours):
            answer = side.finish(client)
            if saves is not None:
                side.names[saves] = answer.member_id
            answers.append(_comparable(answer, {member: name for name, member in side.names.items()}))
        assert answers[1] == answers[0], f"Kafka: {answers[0]}\nours:  {answers[1]}"
        return answers[0]

    def call(self, client: str, api: int, version: int, *, saves: str | None = None, **fields: Any) -> Any:
        self.start(client, api, version, **fields)
        return self.finish(client, saves=saves)


def _resolve(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Ref):
        return names[value.name]
    if isinstance(value, dict):
        return {key: _resolve(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve(item, names) for item in value]
    return value


def _comparable(value: Any, names: Mapping[str, str]) -> Any:
    """A response as plain data: members by the names of the story, lists in one order, no throttling."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _comparable(getattr(value, f.name), names) for f in dataclasses.fields(value)}
        fields.pop("throttle_time", None)
        return fields
    if isinstance(value, tuple | list):
        return sorted((_comparable(item, names) for item in value), key=repr)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        for member, name in names.items():
            value = value.replace(member, f"<{name}>") if member else value
    return value
