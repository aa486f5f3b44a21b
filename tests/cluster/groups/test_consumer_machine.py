"""A consumer group under random clients: no partition is ever in two hands, and all find a hand in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import GROUP, Driver, durable, topic_id

from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.messages import ConsumerGroupHeartbeatResponse, TopicPartitions
from doorkeeper.cluster.groups.settings import GroupSettings
from doorkeeper.cluster.groups.topics import TopicView

NAMES = ("foo", "bar", "baz")
PATTERNS = ("ba.", "f.*", ".*", "none")
ROUNDS = 60


@dataclass(eq=False)
class Client:
    """A member as its consumer sees itself: what it holds, and what it was told to hold."""

    member_id: str
    instance: str | None
    names: tuple[str, ...]
    regex: str | None = None
    epoch: int = 0
    held: set[tuple[UUID, int]] = field(default_factory=set)
    told: set[tuple[UUID, int]] | None = None
    must_report: bool = True

    def report(self) -> tuple[TopicPartitions, ...]:
        topics = sorted({topic for topic, _ in self.held})
        return tuple(TopicPartitions(t, tuple(sorted(p for topic, p in self.held if topic == t))) for t in topics)

    def hear(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code is not ErrorCode.none:
            self.forget()
            return
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.told = {
                (entry.topic_id, p) for entry in response.assignment.topic_partitions for p in entry.partitions
            }

    def reconcile(self) -> None:
        if self.told is not None:
            self.held, self.told = self.told, None
            self.must_report = True

    def forget(self) -> None:
        self.epoch = 0
        self.held = set()
        self.told = None
        self.must_report = True


class ConsumerGroupMachine(RuleBasedStateMachine):
    clients = Bundle("clients")

    @initialize(interval=st.sampled_from([0, 1_000]), assignor=st.sampled_from([None, "range", "uniform"]))
    def start(self, interval: int, assignor: str | None) -> None:
        self.views = {name: TopicView(name, topic_id(number), number + 1) for number, name in enumerate(NAMES[:2], 1)}
        self.driver = Driver(GroupSettings(consumer_assignment_interval_ms=interval))
        self.driver.set_topics(*self.views.values())
        self.assignor = assignor
        self.everybody: list[Client] = []
        self.count = 0
        self.group_epoch = 0

    # --- clients ---

    @rule(
        target=clients,
        names=st.sets(st.sampled_from(NAMES)),
        regex=st.none() | st.sampled_from(PATTERNS),
        static=st.booleans(),
    )
    def join(self, names: set[str], regex: str | None, static: bool) -> Client:
        self.count += 1
        instance = f"i{self.count}" if static else None
        client = Client(f"m{self.count}", instance, tuple(sorted(names)), regex)
        self.everybody.append(client)
        self.beat(client)
        return client

    def send(self, client: Client, *, full: bool = False) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat; a first or repeated one says everything."""
        says_all = full or client.epoch == 0
        held: Sequence[TopicPartitions] | None = client.report() if says_all or client.must_report else None
        client.must_report = False
        return self.driver.consume(
            client.member_id,
            client.epoch,
            names=client.names if says_all else None,
            regex=(client.regex or "") if says_all else None,
            held=held,
            rebalance_ms=30_000 if says_all else None,
            instance_id=client.instance,
            server_assignor=self.assignor,
        )

    @rule(client=clients)
    def beat(self, client: Client) -> None:
        if client in self.everybody:
            client.hear(self.send(client))

    @rule(client=clients)
    def lose_an_answer(self, client: Client) -> None:
        if client in self.everybody:
            self.send(client)
            client.must_report = True
            client.hear(self.send(client, full=True))

    @rule(client=clients)
    def reconcile(self, client: Client) -> None:
        client.reconcile()

    @rule(client=clients, names=st.sets(st.sampled_from(NAMES)), regex=st.none() | st.sampled_from(PATTERNS))
    def resubscribe(self, client: Client, names: set[str], regex: str | None) -> None:
        if client in self.everybody:
            client.names, client.regex = tuple(sorted(names)), regex
            client.hear(self.send(client, full=True))

    @rule(client=consumes(clients))
    def leave(self, client: Client) -> None:
        if client in self.everybody:
            self.everybody.remove(client)
            self.driver.consume(client.member_id, -1, instance_id=client.instance)

    @rule(target=clients, client=consumes(clients))
    def restart_client(self, client: Client) -> Client:
        """A client goes and comes back as another member; a static one says that it will."""
        if client in self.everybody:
            self.everybody.remove(client)
            self.driver.consume(client.member_id, -1 if client.instance is None else -2, instance_id=client.instance)
        self.count += 1
        back = Client(f"m{self.count}", client.instance, client.names, client.regex)
        self.everybody.append(back)
        self.beat(back)
        return back

    # --- the world ---

    @rule(milliseconds=st.sampled_from([1, 500, 5_000, 15_000, 40_000]))
    def wait(self, milliseconds: int) -> None:
        self.driver.advance(milliseconds)

    @rule(name=st.sampled_from(NAMES), partitions=st.integers(1, 3))
    def grow_topic(self, name: str, partitions: int) -> None:
        present = self.views.get(name)
        self.count += 1
        if present is None:
            self.views[name] = TopicView(name, topic_id(100 + self.count), partitions)
        else:
            self.views[name] = TopicView(name, present.topic_id, present.partition_count + partitions)
        self.driver.set_topics(*self.views.values())

    @rule(name=st.sampled_from(NAMES))
    def delete_topic(self, name: str) -> None:
        self.views.pop(name, None)
        self.driver.set_topics(*self.views.values())

    @rule()
    def restart_broker(self) -> None:
        assert durable(self.driver.replayed()) == durable(self.driver.coordinator)
        self.driver.restart()

    # --- laws ---

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.driver.coordinator.state.groups.get(GROUP)
        assert group is None or isinstance(group, ConsumerGroup)
        return group

    @invariant()
    def no_partition_is_in_two_hands(self) -> None:
        """Of clients that the group still knows; one whose session ended will learn so from its next heartbeat."""
        seen: dict[tuple[UUID, int], str] = {}
        members = self.group.members if self.group is not None else {}
        for client in self.everybody:
            if client.member_id in members:
                for key in client.held:
                    assert key not in seen, f"{key} is with {seen[key]} and {client.member_id}"
                    seen[key] = client.member_id

    @invariant()
    def no_partition_is_assigned_twice(self) -> None:
        seen: set[tuple[UUID, int]] = set()
        for member in self.group.members.values() if self.group is not None else ():
            for part in (member.assigned, member.pending_revocation):
                for topic, partitions in part.items():
                    for partition in partitions:
                        assert (topic, partition) not in seen
                        seen.add((topic, partition))

    @invariant()
    def epochs_only_grow(self) -> None:
        if self.group is None:
            self.group_epoch = 0
            return
        assert self.group.group_epoch >= self.group_epoch
        self.group_epoch = self.group.group_epoch
        assert self.group.assignment_epoch <= self.group.group_epoch
        for member in self.group.members.values():
            assert member.member_epoch <= self.group.group_epoch

    def teardown(self) -> None:
        """Let everybody go on for a while: then every partition that anybody reads is with somebody who reads it."""
        if not hasattr(self, "driver"):
            return
        for _ in range(ROUNDS):
            for client in self.everybody:
                self.beat(client)
                client.reconcile()
            self.driver.advance(1_001)
        held = {key: client for client in self.everybody for key in client.held}
        assert len(held) == sum(len(client.held) for client in self.everybody)
        for view in self.views.values():
            readers = [client for client in self.everybody if self.reads(client, view.name)]
            for partition in range(view.partition_count) if readers else ():
                assert held.get((view.topic_id, partition)) in readers
        assert held.keys() <= {(v.topic_id, p) for v in self.views.values() for p in range(v.partition_count)}
        if self.everybody and self.group is not None:
            assert self.group.state_name == "Stable"
        assert durable(self.driver.replayed()) == durable(self.driver.coordinator)

    @staticmethod
    def reads(client: Client, name: str) -> bool:
        patterns = {"ba.": name.startswith("ba"), "f.*": name.startswith("f"), ".*": True}
        return name in client.names or patterns.get(client.regex or "", False)


TestConsumerGroupMachine = ConsumerGroupMachine.TestCase
TestConsumerGroupMachine.settings = settings(max_examples=60, stateful_step_count=40)


class LongConsumerGroupMachine(ConsumerGroupMachine):
    """The same, for many more and longer stories."""


TestLongConsumerGroupMachine = pytest.mark.long(LongConsumerGroupMachine.TestCase)
TestLongConsumerGroupMachine.settings = settings(max_examples=3_000, stateful_step_count=80)
