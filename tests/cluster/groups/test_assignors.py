"""The uniform and range assignors: what they give, and laws that hold for any group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cluster.groups.assignors import ASSIGNORS
from doorkeeper.cluster.groups.assignors.contract import GroupAssignment, GroupSpec, MemberSpec, SubscriptionType
from doorkeeper.cluster.groups.assignors.range import assign_range
from doorkeeper.cluster.groups.assignors.uniform import assign_uniform

TOPICS = [UUID(int=number) for number in range(1, 6)]


def spec(counts: Mapping[UUID, int], members: Mapping[str, MemberSpec]) -> GroupSpec:
    read = {topic for member in members.values() for topic in member.subscribed}
    same = len({member.subscribed for member in members.values()}) <= 1
    kind = SubscriptionType.HOMOGENEOUS if same else SubscriptionType.HETEROGENEOUS
    return GroupSpec(members, {topic: count for topic, count in counts.items() if topic in read}, kind)


def uniform_group(*names: str, partitions: int = 6) -> GroupSpec:
    return spec({TOPICS[0]: partitions}, {name: MemberSpec(frozenset(TOPICS[:1])) for name in names})


def after(group: GroupSpec, assignment: GroupAssignment) -> GroupSpec:
    """The group with an assignment as its present one."""
    members = {name: replace(member, current=assignment.get(name, {})) for name, member in group.members.items()}
    return replace(group, members=members)


def load(assignment: GroupAssignment, name: str) -> int:
    return sum(len(partitions) for partitions in assignment.get(name, {}).values())


def owners(assignment: GroupAssignment) -> dict[tuple[UUID, int], str]:
    found: dict[tuple[UUID, int], str] = {}
    for name, topics in assignment.items():
        for topic, partitions in topics.items():
            for partition in partitions:
                assert (topic, partition) not in found, "in two hands"
                found[topic, partition] = name
    return found


@st.composite
def groups(draw: st.DrawFn, *, same_topics: bool | None = None) -> GroupSpec:
    counts = {topic: draw(st.integers(1, 12)) for topic in TOPICS[: draw(st.integers(1, 5))]}
    names = [f"m{number}" for number in range(draw(st.integers(1, 8)))]
    topics = st.frozensets(st.sampled_from(sorted(counts)), min_size=0 if same_topics is None else 1)
    shared = draw(topics)
    free = {(topic, partition) for topic, count in counts.items() for partition in range(count)}
    members = {}
    for name in names:
        subscribed = shared if same_topics else draw(topics)
        current: dict[UUID, set[int]] = {}
        for topic, partition in draw(st.sets(st.sampled_from(sorted(free)))) if free else ():
            free.discard((topic, partition))
            current.setdefault(topic, set()).add(partition)
        frozen = {topic: frozenset(partitions) for topic, partitions in current.items()}
        instance = draw(st.none() | st.just(f"instance-{name}"))
        members[name] = MemberSpec(subscribed, frozen, instance)
    return spec(counts, members)


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
@given(group=groups())
def test_assigns_every_partition_once_and_only_to_subscribers(assignor: object, group: GroupSpec) -> None:
    assert callable(assignor)
    assignment = assignor(group)
    held = owners(assignment)
    assert held.keys() == {(topic, p) for topic, count in group.partition_counts.items() for p in range(count)}
    assert all(topic in group.members[name].subscribed for (topic, _), name in held.items())


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
@given(group=groups())
def test_leaves_an_assignment_that_it_made_as_it_is(assignor: object, group: GroupSpec) -> None:
    assert callable(assignor)
    assignment = assignor(group)
    again = assignor(after(group, assignment))
    assert owners(again) == owners(assignment)


@given(groups(same_topics=True))
def test_uniform_is_even_to_one_partition_where_all_read_the_same(group: GroupSpec) -> None:
    assignment = assign_uniform(group)
    loads = [load(assignment, name) for name in group.members]
    assert max(loads) - min(loads) <= 1


@given(groups(same_topics=True))
def test_uniform_moves_no_partition_that_need_not_move(group: GroupSpec) -> None:
    """A member gives something up only if it had more than an even share."""
    held = owners(assign_uniform(group))
    total = sum(group.partition_counts.values())
    largest = -(-total // len(group.members))
    for name, member in group.members.items():
        had = {(topic, p) for topic, ps in member.current.items() for p in ps if topic in group.partition_counts}
        kept = sum(held[key] == name for key in had)
        assert kept >= min(len(had), total // len(group.members))
        assert kept == len(had) or len(had) > total // len(group.members)
        assert kept <= largest


@given(groups(same_topics=False))
def test_uniform_leaves_no_single_move_that_would_even_things_out(group: GroupSpec) -> None:
    """For no topic could the busiest of its owners hand a partition to a subscriber with two fewer."""
    assignment = assign_uniform(replace(group, subscription_type=SubscriptionType.HETEROGENEOUS))
    loads = {name: load(assignment, name) for name in group.members}
    for (topic, _), owner in owners(assignment).items():
        for name, member in group.members.items():
            if topic in member.subscribed:
                assert loads[owner] - loads[name] <= 1


def test_uniform_takes_only_what_a_newcomer_needs() -> None:
    before = assign_uniform(uniform_group("a", "b"))
    joined = uniform_group("a", "b", "c")
    members = {**after(uniform_group("a", "b"), before).members, "c": joined.members["c"]}
    now = owners(assign_uniform(replace(joined, members=members)))
    moved = [key for key, name in now.items() if owners(before)[key] != name]
    assert len(moved) == 2
    assert {now[key] for key in moved} == {"c"}


def test_uniform_gives_nothing_to_members_beyond_the_partitions() -> None:
    assignment = assign_uniform(uniform_group("a", "b", "c", partitions=2))
    assert sorted(load(assignment, name) for name in "abc") == [0, 1, 1]


def test_assigns_nothing_where_nobody_reads_anything() -> None:
    nobody = spec({}, {"a": MemberSpec(frozenset())})
    assert assign_uniform(nobody) == {}
    assert assign_range(nobody) == {"a": {}}
    assert assign_uniform(spec({}, {})) == assign_range(spec({}, {})) == {}


def test_range_gives_runs_with_one_more_to_the_first() -> None:
    assignment = assign_range(uniform_group("b", "a", "c", partitions=8))
    runs = {name: sorted(assignment[name][TOPICS[0]]) for name in "abc"}
    assert runs == {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7]}


def test_range_puts_equal_numbers_of_topics_of_equal_size_into_the_same_hands() -> None:
    both = frozenset(TOPICS[:2])
    group = spec({TOPICS[0]: 5, TOPICS[1]: 5}, {name: MemberSpec(both) for name in "ab"})
    for topics in assign_range(group).values():
        assert topics[TOPICS[0]] == topics[TOPICS[1]]


def test_range_puts_static_members_first_and_ignores_their_member_ids() -> None:
    topic = frozenset(TOPICS[:1])
    members = {
        "a": MemberSpec(topic),
        "z": MemberSpec(topic, instance_id="1"),
        "y": MemberSpec(topic, instance_id="2"),
    }
    assignment = assign_range(spec({TOPICS[0]: 3}, members))
    assert {name: sorted(assignment[name][TOPICS[0]]) for name in members} == {"z": [0], "y": [1], "a": [2]}


def test_range_divides_each_topic_among_its_own_subscribers() -> None:
    members = {"a": MemberSpec(frozenset(TOPICS[:2])), "b": MemberSpec(frozenset(TOPICS[1:2]))}
    assignment = assign_range(spec({TOPICS[0]: 2, TOPICS[1]: 3}, members))
    assert assignment["a"] == {TOPICS[0]: frozenset({0, 1}), TOPICS[1]: frozenset({0, 1})}
    assert assignment["b"] == {TOPICS[1]: frozenset({2})}


def test_drops_partitions_that_do_not_exist_any_more() -> None:
    members = {"a": MemberSpec(frozenset(TOPICS[:1]), {TOPICS[0]: frozenset({0, 9})})}
    assert assign_uniform(spec({TOPICS[0]: 2}, members)) == {"a": {TOPICS[0]: frozenset({0, 1})}}
