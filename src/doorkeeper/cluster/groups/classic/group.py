"""The state of a classic group and of its members."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.messages import JoinGroupResponse, JoinGroupResponseMember, Protocol, SyncGroupResponse
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.errors import RecordError
from doorkeeper.wire.consumer_protocol import PROTOCOL_TYPE, read_subscription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from doorkeeper.cluster.groups.step import Step

GROUP_TYPE: Final = "classic"


class ClassicState(Enum):
    """Phases of a classic group, by Kafka's names.

        EMPTY -> PREPARING_REBALANCE -> COMPLETING_REBALANCE -> STABLE
          ^             |  ^                    |                 |
          +-------------+  +--------------------+-----------------+

    A group that is DEAD is being unloaded; every state leads there.
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_EXITS: Final[Mapping[ClassicState, frozenset[ClassicState]]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY, ClassicState.DEAD}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}
    ),
    ClassicState.STABLE: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.DEAD: frozenset({ClassicState.DEAD}),
}


@dataclass(slots=True, kw_only=True)
class ClassicMember:
    """A member; `join_token` and `sync_token` are requests of its that wait for an answer."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    join_token: object | None = None
    sync_token: object | None = None
    is_new: bool = False

    def metadata(self, protocol_name: str | None) -> bytes:
        """What the member said for a protocol; empty if it does not support it."""
        return next((protocol.metadata for protocol in self.protocols if protocol.name == protocol_name), b"")

    @property
    def waits(self) -> bool:
        """Whether a request of the member is pending, which counts as a heartbeat, but not for one that is new."""
        return not self.is_new and (self.join_token is not None or self.sync_token is not None)


@dataclass(slots=True)
class ClassicGroup:
    """A classic group. Counters beside the members spare a look at all of them on each request."""

    group_id: str
    state: ClassicState = ClassicState.EMPTY
    previous_state: ClassicState = ClassicState.DEAD
    state_since_ms: int | None = None
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_join: set[str] = field(default_factory=set)
    """Ids that were handed out and have not come back yet (MEMBER_ID_REQUIRED)."""
    pending_sync: set[str] = field(default_factory=set)
    protocol_counts: Counter[str] = field(default_factory=Counter)
    awaiting_join: int = 0
    new_member_added: bool = False
    subscribed_topics: frozenset[str] | None = None
    """Topics that the members read, where their protocol is the consumer protocol and can be parsed."""

    # --- questions ---

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    @property
    def all_members_joined(self) -> bool:
        return len(self.members) == self.awaiting_join and not self.pending_join

    @property
    def can_rebalance(self) -> bool:
        return ClassicState.PREPARING_REBALANCE in _EXITS[self.state]

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_in(self, *states: ClassicState) -> bool:
        return self.state in states

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def supports_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols can live with the present ones."""
        names = list(names)
        if self.is_empty:
            return bool(protocol_type) and bool(names)
        return self.protocol_type == protocol_type and any(
            self.protocol_counts[name] == len(self.members) for name in names
        )

    def require_member(self, member_id: str, group_instance_id: str | None) -> ClassicMember:
        """The member that a request speaks for, or a refusal (ClassicGroup.validateMember)."""
        if group_instance_id is not None:
            existing = self.static_members.get(group_instance_id)
            if existing is None:
                raise GroupRefusedError(ErrorCode.unknown_member_id)
            if existing != member_id:
                raise GroupRefusedError(ErrorCode.fenced_instance_id)
        member = self.members.get(member_id)
        if member is None:
            raise GroupRefusedError(ErrorCode.unknown_member_id)
        return member

    # --- changes of membership ---

    def add(self, member: ClassicMember, join_token: object | None = None) -> None:
        """Take a member in; the first one brings the protocol type and leads."""
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.protocol_counts.update(protocol.name for protocol in member.protocols)
        self.set_join_token(member, join_token)
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Let a member, or an id that was handed out, go; another member leads if the leader goes."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self.protocol_counts.subtract(protocol.name for protocol in member.protocols)
            self.set_join_token(member, None)
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)

    def update(
        self,
        member: ClassicMember,
        protocols: tuple[Protocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        join_token: object | None,
    ) -> None:
        """Take over what a member says when it joins again."""
        self.protocol_counts.subtract(protocol.name for protocol in member.protocols)
        self.protocol_counts.update(protocol.name for protocol in protocols)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self.set_join_token(member, join_token)

    def set_join_token(self, member: ClassicMember, token: object | None) -> None:
        self.awaiting_join += (token is not None) - (member.join_token is not None)
        member.join_token = token

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who joined; False if nobody did."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].join_token is not None:
            return True
        joined = next((member for member in self.members.values() if member.join_token is not None), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    # --- phases ---

    def transition_to(self, state: ClassicState, now_ms: int) -> None:
        if state not in _EXITS[self.state]:
            raise AssertionError(f"a group can't go from {self.state.value} to {state.value}")
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = now_ms

    def start_next_generation(self, now_ms: int) -> None:
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.read_subscribed_topics()
        self.transition_to(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)
        self.pending_sync.clear()

    def select_protocol(self) -> str:
        """The protocol that most members like best, among those that all support."""
        candidates = {name for name, count in self.protocol_counts.items() if count == len(self.members)}
        votes = Counter(
            next(protocol.name for protocol in member.protocols if protocol.name in candidates)
            for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def read_subscribed_topics(self) -> frozenset[str] | None:
        """What the members read, if their metadata says so (ClassicGroup.computeSubscribedTopics)."""
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        try:
            return frozenset(
                topic
                for member in self.members.values()
                for topic in read_subscription(member.metadata(self.protocol_name), 0).topics
            )
        except RecordError:
            return None

    # --- answers to those who wait ---

    def answer_join(self, step: Step, member: ClassicMember, response: JoinGroupResponse) -> bool:
        token = member.join_token
        if token is None:
            return False
        self.set_join_token(member, None)
        step.reply(token, response)
        return True

    @staticmethod
    def answer_sync(step: Step, member: ClassicMember, response: SyncGroupResponse) -> bool:
        token = member.sync_token
        if token is None:
            return False
        member.sync_token = None
        step.reply(token, response)
        return True

    def answer_all(self, step: Step, code: ErrorCode) -> None:
        """Send everybody who waits away."""
        for member in self.members.values():
            self.answer_join(step, member, JoinGroupResponse(member_id=member.member_id, error_code=code))
            self.answer_sync(step, member, SyncGroupResponse(error_code=code))

    def joined_response(
        self, member_id: str, *, with_members: bool = False, skip_assignment: bool = False
    ) -> JoinGroupResponse:
        """What a member learns about the present generation; the leader learns the members too."""
        members = tuple(
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in (self.members.values() if with_members else ())
        )
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=members,
        )
