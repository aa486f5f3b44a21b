"""A classic group under random clients: every request is answered once, and all members settle in one generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import GROUP, Driver, durable, subscription

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicState
from doorkeeper.cluster.groups.messages import MemberIdentity, Protocol
from doorkeeper.cluster.groups.settings import GroupSettings

SESSION_MS = 10_000
REBALANCE_MS = 20_000
PROTOCOLS = (
    (Protocol("range", subscription("foo")),),
    (Protocol("range", subscription("foo", "bar")), Protocol("sticky", subscription("foo"))),
)
ROUNDS = 150  # seconds: an id that was turned away holds a join phase up until the rebalance time-out, as in Kafka
STEP_MS = 1_000


@dataclass(eq=False)
class Client:
    """A consumer: joins, syncs, beats, and starts over when it is told to."""

    instance: str | None
    protocols: tuple[Protocol, ...]
    member_id: str = ""
    generation: int = -1
    joined: bool = False
    synced: bool = False
    leader: bool = False
    members: tuple[str, ...] = ()
    waiting: int | None = None
    assignment: bytes = b""

    def start_over(self, *, keep_id: bool) -> None:
        self.joined = self.synced = False
        if not keep_id:
            self.member_id = ""


class ClassicGroupMachine(RuleBasedStateMachine):
    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(GroupSettings(classic_initial_rebalance_delay_ms=100, classic_max_size=5))
        self.everybody: list[Client] = []
        self.gone: list[int] = []
        self.count = 0
        self.generation = 0

    # --- clients ---

    @rule(target=clients, protocols=st.sampled_from(PROTOCOLS), static=st.booleans())
    def arrive(self, protocols: tuple[Protocol, ...], static: bool) -> Client:
        self.count += 1
        client = Client(f"i{self.count}" if static else None, protocols)
        self.everybody.append(client)
        self.act(client)
        return client

    @rule(client=clients)
    def act(self, client: Client) -> None:
        """Do the next thing that a consumer would do."""
        if client not in self.everybody:
            return
        self.hear(client)
        if client.waiting is not None:
            return
        if not client.joined:
            client.waiting = self.driver.start_join(
                client.member_id,
                instance=client.instance,
                protocols=client.protocols,
                session_ms=SESSION_MS,
                rebalance_ms=REBALANCE_MS,
            )
        elif not client.synced:
            assignments = {member: member.encode() for member in client.members} if client.leader else None
            client.waiting = self.driver.start_sync(
                client.member_id, client.generation, assignments, instance=client.instance, protocol_name=None
            )
        else:
            code = self.driver.beat(client.member_id, client.generation, instance=client.instance)
            self.heed(client, code)
        self.hear(client)

    def hear(self, client: Client) -> None:
        if client.waiting is None or client.waiting not in self.driver.replies:
            return
        response: Any = self.driver.replies[client.waiting]
        client.waiting = None
        if response.error_code is not ErrorCode.none:
            if response.error_code is ErrorCode.member_id_required:
                client.member_id = response.member_id
            self.heed(client, response.error_code)
        elif client.joined:
            client.synced = True
            client.assignment = response.assignment
        else:
            client.joined = True
            client.member_id, client.generation = response.member_id, response.generation_id
            client.leader = response.leader == response.member_id and not response.skip_assignment
            client.members = tuple(member.member_id for member in response.members)

    @staticmethod
    def heed(client: Client, code: ErrorCode) -> None:
        """As a consumer does: join again with its id, or as somebody new."""
        if code is ErrorCode.none:
            return
        known = (ErrorCode.rebalance_in_progress, ErrorCode.member_id_required, ErrorCode.illegal_generation)
        client.start_over(keep_id=code in known)

    @rule(client=clients)
    def hang_up(self, client: Client) -> None:
        """The connection breaks while an answer is awaited; the client asks again on another one."""
        if client.waiting is not None:
            self.gone.append(client.waiting)
            client.waiting = None
            client.start_over(keep_id=True)

    @rule(client=clients)
    def crash_and_return(self, client: Client) -> None:
        """A static member comes back without its id."""
        if client.waiting is not None:
            self.gone.append(client.waiting)
            client.waiting = None
        client.start_over(keep_id=False)

    @rule(client=clients, protocols=st.sampled_from(PROTOCOLS))
    def resubscribe(self, client: Client, protocols: tuple[Protocol, ...]) -> None:
        if client.waiting is None:
            client.protocols = protocols
            client.start_over(keep_id=True)

    @rule(client=consumes(clients))
    def leave(self, client: Client) -> None:
        if client in self.everybody:
            self.everybody.remove(client)
            if client.waiting is not None:
                self.gone.append(client.waiting)
            self.driver.leave(MemberIdentity(member_id=client.member_id, group_instance_id=client.instance))

    # --- the world ---

    @rule(milliseconds=st.sampled_from([1, 99, 1_000, 6_000, 20_000]))
    def wait(self, milliseconds: int) -> None:
        self.driver.advance(milliseconds)

    @rule()
    def restart_broker(self) -> None:
        """Connections break, and so does all waiting."""
        for client in self.everybody:
            self.hear(client)
            if client.waiting is not None:
                client.waiting = None
                client.start_over(keep_id=True)
        self.gone.clear()
        self.generation = 0
        self.driver.restart()

    # --- laws ---

    @property
    def group(self) -> ClassicGroup | None:
        group = self.driver.coordinator.state.groups.get(GROUP)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    @invariant()
    def counters_agree_with_members(self) -> None:
        group = self.group
        if group is None:
            return
        members = group.members.values()
        assert group.awaiting_join == sum(member.join_token is not None for member in members)
        assert +group.protocol_counts == _counts(group)
        assert group.static_members == {
            member.group_instance_id: member.member_id for member in members if member.group_instance_id is not None
        }
        assert group.leader_id in {None, *group.members}
        assert group.pending_sync <= group.members.keys()
        assert group.is_empty <= (not group.members)

    @invariant()
    def generations_only_grow(self) -> None:
        if self.group is None:
            self.generation = 0
            return
        assert self.group.generation_id >= self.generation
        self.generation = self.group.generation_id

    @invariant()
    def nobody_waits_without_a_deadline(self) -> None:
        group = self.group
        if group is not None and group.is_in(ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE):
            assert self.driver.coordinator.next_deadline() is not None

    def teardown(self) -> None:
        """Let everybody go on for a while: then who found room is in one generation, with what the leader gave."""
        for _ in range(ROUNDS):
            for client in self.everybody:
                self.act(client)
            self.driver.advance(STEP_MS)
        for client in self.everybody:
            self.hear(client)
        group = self.group
        settled = [client for client in self.everybody if client.synced]
        assert len(settled) == min(len(self.everybody), 5)
        if settled:
            assert group is not None
            assert group.state is ClassicState.STABLE
            assert group.members.keys() == {client.member_id for client in settled}
            assert {client.generation for client in settled} == {group.generation_id}
            assert all(client.assignment == group.members[client.member_id].assignment for client in settled)
        assert all(token in self.driver.replies for token in self.gone)
        assert durable(self.driver.replayed()) == durable(self.driver.coordinator)


def _counts(group: ClassicGroup) -> dict[str, int]:
    counts: dict[str, int] = {}
    for member in group.members.values():
        for protocol in member.protocols:
            counts[protocol.name] = counts.get(protocol.name, 0) + 1
    return counts


TestClassicGroupMachine = ClassicGroupMachine.TestCase
TestClassicGroupMachine.settings = settings(max_examples=60, stateful_step_count=40)
