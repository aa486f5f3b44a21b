"""Random requests to a real Kafka and to our coordinator: every answer is the same."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.asking import beat, commit, consume, describe, fetch, join_fields, span, sync_fields
from tests.cluster.groups.both import JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP, Both

from doorkeeper.cluster.groups.topics import TopicsView
from doorkeeper.wire.consumer_protocol import NamedPartitions, Subscription, read_assignment, write_subscription

pytestmark = pytest.mark.kafka


class Walk:
    """Random requests of consumers and classic members to one group; one consumer never leaves it."""

    def __init__(self, both: Both, group: str, topics: TopicsView, seed: int) -> None:
        self.both = both
        self.group = group
        self.topics = topics
        self.lot = Random(seed)
        self.epochs: dict[str, int] = {}
        self.told: dict[str, dict[UUID, tuple[int, ...]]] = {}
        consume(both, group, "anchor", subscribed_topic_names=("bar",))

    def names(self) -> tuple[str, ...]:
        return tuple(self.lot.sample(["foo", "bar", "nope"], self.lot.randint(0, 3)))

    def owned(self, member: str) -> list[dict[str, Any]]:
        """All that the member was told to hold, or a part of it."""
        told = self.told.get(member, {})
        entries = [
            {"topic_id": topic_id, "partitions": tuple(p for p in partitions if self.lot.random() < 0.9)}
            for topic_id, partitions in told.items()
        ]
        return [entry for entry in entries if self.lot.random() < 0.9]

    def epoch(self, member: str) -> int:
        known = self.epochs.get(member, 0)
        return self.lot.choices([known, 0, known - 1, known + 1], [85, 7, 4, 4])[0]

    def consumer(self) -> None:
        member = self.lot.choice(["m1", "m2", "m3", "anchor"])
        epoch = max(self.epoch(member), 0)
        fields: dict[str, Any] = {}
        if member == "m3":
            fields["instance_id"] = "i"
        if epoch == 0 or self.lot.random() < 0.2:
            fields |= {"subscribed_topic_names": self.names(), "rebalance_timeout": span(20_000)}
        if epoch > 0 and self.lot.random() < 0.7:
            fields["topic_partitions"] = self.owned(member)
        if member != "anchor" and self.lot.random() < 0.1:
            epoch = -2 if member == "m3" and self.lot.random() < 0.5 else -1
            fields.pop("topic_partitions", None)
        answer = consume(self.both, self.group, member, epoch, **fields)
        self.epochs[member] = max(answer["member_epoch"], 0)
        if answer["assignment"] is not None:
            entries = answer["assignment"]["topic_partitions"]
            self.told[member] = {entry["topic_id"]: tuple(entry["partitions"]) for entry in entries}

    def classic(self) -> None:
        member = self.lot.choice(["c1", "c2"])
        kind = self.lot.choice(["join", "join", "sync", "sync", "beat", "beat", "leave"])
        if kind == "join":
            names = {topic.topic_id: topic.name for topic in self.topics.topics.values()}
            owned = [
                NamedPartitions(topic=names[e["topic_id"]], partitions=e["partitions"]) for e in self.owned(member)
            ]
            subscription = Subscription(topics=self.names(), owned_partitions=tuple(owned))
            protocols = [{"name": "range", "metadata": write_subscription(subscription)}]
            fields = {**join_fields(self.group, member), "protocols": protocols}
            answer = self.both.call(member, JOIN_GROUP, 9, **fields)
            self.epochs[member] = max(answer["generation_id"], 0)
        elif kind == "sync":
            answer = self.sync(member)
            if answer["error_code"] == "none":
                assigned = read_assignment(answer["assignment"]).assigned_partitions
                self.told[member] = {self.topics.topics[e.topic].topic_id: e.partitions for e in assigned}
        elif kind == "beat":
            beat(self.both, self.group, member, self.epoch(member))
        elif self.lot.random() < 0.3:
            self.both.call("l", LEAVE_GROUP, 5, group_id=self.group, members=[{"member_id": member}])

    def sync(self, member: str) -> Any:
        """The order of topics in an assignment is that of a hash map in Kafka; so they are compared sorted."""
        self.both.start(member, SYNC_GROUP, 5, **sync_fields(self.group, member, self.epoch(member)))
        theirs, ours = self.both.theirs.finish(member), self.both.ours.finish(member)
        assert theirs.error_code == ours.error_code
        if theirs.error_code is ErrorCode.none:
            sorted_topics = [
                sorted((e.topic, sorted(e.partitions)) for e in read_assignment(side.assignment).assigned_partitions)
                for side in (theirs, ours)
            ]
            assert sorted_topics[0] == sorted_topics[1]
        return {"error_code": ours.error_code.name, "assignment": ours.assignment}

    def offsets(self) -> None:
        member = self.lot.choice(["m1", "m2", "c1"])
        version = self.lot.choice([8, 9, 10])
        commit(
            self.both,
            self.group,
            version,
            self.topics,
            generation_id_or_member_epoch=self.epoch(member),
            member_id=member,
        )
        fetch(self.both, self.group, 9, self.topics, member_id=member, member_epoch=self.epoch(member))


@pytest.mark.parametrize("seed", range(6))
def test_random_requests(both: Both, group: str, topics: TopicsView, seed: int) -> None:
    walk = Walk(both, group, topics, seed)
    for _ in range(250):
        walk.lot.choices([walk.consumer, walk.classic, walk.offsets], [6, 3, 1])[0]()
        if walk.lot.random() < 0.2:
            describe(both, group)
