"""Drive a coordinator by hand: a clock that is set, a log that is a list, answers that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitTopic,
    OffsetFetchGroup,
    OffsetFetchTopic,
    Protocol,
    RequestContext,
    SyncGroupAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartitions,
)
from doorkeeper.cluster.groups.settings import GroupConfigs, GroupSettings
from doorkeeper.cluster.groups.step import Decision
from doorkeeper.cluster.groups.topics import TopicsView, TopicView
from doorkeeper.wire.consumer_protocol import Subscription, write_subscription
from doorkeeper.wire.coordinator_records import (
    CoordinatorRecord,
    read_coordinator_record,
    write_coordinator_record,
)

START_MS = 1_000_000
GROUP = "g"


def topic_id(number: int) -> UUID:
    return UUID(int=number)


FOO = TopicView("foo", topic_id(1), 6)
BAR = TopicView("bar", topic_id(2), 3)


def topics(*views: TopicView, version: int = 1) -> TopicsView:
    return TopicsView.of(views, version)


def subscription(*names: str, owned: Iterable[Any] = (), version: int = 3) -> bytes:
    return write_subscription(Subscription(topics=names, owned_partitions=tuple(owned)), version)


RANGE = (Protocol("range", subscription("foo")),)


def owned(**partitions: Sequence[int]) -> tuple[TopicPartitions, ...]:
    """What a member holds, by the names of the two topics above."""
    ids = {"foo": FOO.topic_id, "bar": BAR.topic_id}
    return tuple(TopicPartitions(ids[name], tuple(numbers)) for name, numbers in partitions.items())


@dataclass
class Driver:
    """A coordinator and the world around it."""

    settings: GroupSettings = field(default_factory=lambda: GroupSettings(consumer_assignment_interval_ms=0))
    topics: TopicsView = field(default_factory=lambda: topics(FOO, BAR))
    now_ms: int = START_MS
    log: list[tuple[bytes, bytes | None, int]] = field(default_factory=list)
    replies: dict[object, Any] = field(default_factory=dict)
    last: Decision = field(default_factory=Decision)

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._tokens = count(1)
        self.coordinator = self._new_coordinator()
        self.take(self.coordinator.loaded(self.now_ms))

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(
            new_member_id=lambda: str(UUID(int=next(self._numbers))),
            configs=GroupConfigs(self.settings),
            topics=self.topics,
        )

    # --- what an owner does ---

    def take(self, decision: Decision) -> Decision:
        """Append the records, as bytes, and keep the answers; no request is answered twice."""
        producer_id = -1 if decision.producer is None else decision.producer.producer_id
        for record in decision.records:
            self.log.append((*write_coordinator_record(record), producer_id))
        for reply in decision.replies:
            assert reply.token not in self.replies, "answered twice"
            self.replies[reply.token] = reply.response
        self.last = decision
        return decision

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.coordinator.end_transaction(producer_id, commit=commit)
        self.log.append((b"COMMIT" if commit else b"ABORT", None, producer_id))

    def advance(self, milliseconds: int) -> list[CoordinatorRecord]:
        """Let time pass, deadline by deadline; return what was written meanwhile."""
        end = self.now_ms + milliseconds
        written: list[CoordinatorRecord] = []
        while (deadline := self.coordinator.next_deadline()) is not None and deadline <= end:
            self.now_ms = max(self.now_ms, deadline)
            written.extend(self.take(self.coordinator.expire(self.now_ms)).records)
        self.now_ms = end
        return written

    def settle(self) -> list[CoordinatorRecord]:
        """Do what is due right now."""
        return self.advance(0)

    def set_topics(self, *views: TopicView) -> Decision:
        self.topics = topics(*views, version=self.topics.version + 1)
        return self.take(self.coordinator.update_topics(self.topics, self.now_ms))

    def restart(self, records: int | None = None) -> None:
        """Another coordinator, from the log, or from its first records only."""
        self.coordinator = self.replayed(records)
        self.take(self.coordinator.loaded(self.now_ms))

    def replayed(self, records: int | None = None) -> GroupCoordinator:
        coordinator = self._new_coordinator()
        for offset, (key, value, producer_id) in enumerate(self.log[:records]):
            if key in (b"COMMIT", b"ABORT"):
                coordinator.end_transaction(producer_id, commit=key == b"COMMIT")
                continue
            record = read_coordinator_record(key, value)
            assert isinstance(record, CoordinatorRecord)
            coordinator.replay(record, offset, producer_id)
        return coordinator

    def token(self) -> int:
        return next(self._tokens)

    # --- classic requests; those that may wait return their token ---

    def start_join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[Protocol, ...] = RANGE,
        version: int = 9,
        group: str = GROUP,
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
        protocol_type: str = "consumer",
        client_id: str = "client",
    ) -> int:
        token = self.token()
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=protocols,
        )
        context = RequestContext(version, client_id, "/127.0.0.1")
        self.take(self.coordinator.join_group(context, request, token, self.now_ms))
        return token

    def join(self, member_id: str = "", **options: Any) -> JoinGroupResponse:
        """A join that is answered at once."""
        response = self.replies[self.start_join(member_id, **options)]
        assert isinstance(response, JoinGroupResponse)
        return response

    def new_member_id(self, **options: Any) -> str:
        """The first half of joining, since version 4."""
        response = self.join(**options)
        assert response.error_code is ErrorCode.member_id_required
        return response.member_id

    def start_sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        group: str = GROUP,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> int:
        token = self.token()
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=tuple(SyncGroupAssignment(*entry) for entry in (assignments or {}).items()),
        )
        self.take(self.coordinator.sync_group(request, token, self.now_ms))
        return token

    def sync(self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, **options: Any) -> Any:
        response = self.replies[self.start_sync(member_id, generation, assignments, **options)]
        assert isinstance(response, SyncGroupResponse)
        return response

    def beat(self, member_id: str, generation: int, *, instance: str | None = None, group: str = GROUP) -> ErrorCode:
        token = self.token()
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        self.take(self.coordinator.heartbeat(request, token, self.now_ms))
        code = self.replies[token].error_code
        assert isinstance(code, ErrorCode)
        return code

    def leave(self, *members: MemberIdentity | str, group: str = GROUP) -> LeaveGroupResponse:
        token = self.token()
        identities = tuple(MemberIdentity(member_id=m) if isinstance(m, str) else m for m in members)
        request = LeaveGroupRequest(group_id=group, members=identities)
        self.take(self.coordinator.leave_group(request, token, self.now_ms))
        response = self.replies[token]
        assert isinstance(response, LeaveGroupResponse)
        return response

    def stable_group(self, members: int = 1, **options: Any) -> list[str]:
        """A classic group whose members have joined and synced; the first one leads."""
        ids = [self.new_member_id(**options) for _ in range(members)]
        tokens = [self.start_join(member_id, **options) for member_id in ids]
        self.advance(self.settings.classic_initial_rebalance_delay_ms * 3)
        leader = self.replies[tokens[0]].leader
        generation = self.replies[tokens[0]].generation_id
        ids.sort(key=lambda member_id: member_id != leader)
        waiting = [self.start_sync(member_id, generation) for member_id in ids[1:]]
        self.start_sync(leader, generation, {member_id: member_id.encode() for member_id in ids})
        assert all(self.replies[token].error_code is ErrorCode.none for token in waiting)
        return ids

    # --- the consumer protocol ---

    def consume(
        self,
        member_id: str = "m1",
        epoch: int = 0,
        *,
        names: Sequence[str] | None = None,
        regex: str | None = None,
        held: Sequence[TopicPartitions] | None = None,
        version: int = 1,
        group: str = GROUP,
        rebalance_ms: int | None = None,
        may_describe: Callable[[str], bool] | None = None,
        **options: Any,
    ) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat; one with epoch 0 brings all that a first request has to."""
        joins = epoch == 0
        token = self.token()
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=rebalance_ms if rebalance_ms is not None else (60_000 if joins else -1),
            subscribed_topic_names=("foo",) if joins and names is None and regex is None else _tuple(names),
            subscribed_topic_regex=regex,
            topic_partitions=() if joins and held is None else _tuple(held),
            **options,
        )
        context = RequestContext(version, "client", "/127.0.0.1", may_describe)
        self.take(self.coordinator.consumer_group_heartbeat(context, request, token, self.now_ms))
        response = self.replies[token]
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return response

    def raw_consume(self, request: ConsumerGroupHeartbeatRequest, version: int = 1) -> ConsumerGroupHeartbeatResponse:
        token = self.token()
        context = RequestContext(version, "client", "/127.0.0.1")
        self.take(self.coordinator.consumer_group_heartbeat(context, request, token, self.now_ms))
        response = self.replies[token]
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return response

    # --- offsets ---

    def commit(
        self,
        offset: int = 5,
        *,
        topic: str = "foo",
        partition: int = 0,
        member_id: str = "",
        epoch: int = -1,
        version: int = 9,
        group: str = GROUP,
        metadata: str | None = None,
        **options: Any,
    ) -> ErrorCode:
        """Commit one partition and return its code."""
        by_id = self.topics.topics[topic].topic_id if version >= 10 and topic in self.topics.topics else None
        entry = OffsetCommitPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata)
        asked = OffsetCommitTopic(name="" if version >= 10 else topic, topic_id=by_id, partitions=(entry,))
        request = OffsetCommitRequest(
            group_id=group, generation_id_or_member_epoch=epoch, member_id=member_id, topics=(asked,), **options
        )
        token = self.token()
        self.take(self.coordinator.commit_offsets(RequestContext(version), request, token, self.now_ms))
        response = self.replies[token]
        assert isinstance(response, OffsetCommitResponse)
        return response.topics[0].partitions[0].error_code

    def fetch(self, topic: str = "foo", partition: int = 0, *, group: str = GROUP, require_stable: bool = False) -> Any:
        """The committed offset of one partition, or the code that stands in its place."""
        asked = OffsetFetchGroup(group_id=group, topics=(OffsetFetchTopic(name=topic, partition_indexes=(partition,)),))
        result = self.coordinator.fetch_offsets(RequestContext(9), asked, require_stable=require_stable)
        entry = result.topics[0].partitions[0]
        return entry.committed_offset if entry.error_code is ErrorCode.none else entry.error_code

    # --- looking in ---

    @property
    def classic(self) -> ClassicGroup:
        group = self.coordinator.state.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def consumer(self) -> ConsumerGroup:
        group = self.coordinator.state.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def kinds(self, decision: Decision | None = None) -> list[str]:
        """The records of the last decision, by the names of their keys; a tombstone with a minus."""
        return [
            ("-" if record.value is None else "") + type(record.key).__name__.removesuffix("Key")
            for record in (decision or self.last).records
        ]


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def durable(coordinator: GroupCoordinator) -> dict[str, Any]:
    """What the log has to bring back: consumer groups and offsets whole, classic groups by what they last settled."""
    view: dict[str, Any] = {"offsets": coordinator.state.offsets}
    for group_id, group in coordinator.state.groups.items():
        if isinstance(group, ConsumerGroup):
            view[group_id] = replace(group, metadata_refresh_ms=0, metadata_refresh_epoch=0)
        elif group.state.value == "Stable":
            members = {m.member_id: (m.group_instance_id, m.assignment) for m in group.members.values()}
            view[group_id] = (group.generation_id, group.protocol_name, group.leader_id, members)
        else:
            view[group_id] = "classic"
    return view
