"""Groups that change their kind while their members go on."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import FOO, GROUP, Driver, durable, subscription

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicState
from doorkeeper.cluster.groups.consumer.member import MemberState
from doorkeeper.cluster.groups.messages import JoinGroupResponse, MemberIdentity, Protocol
from doorkeeper.cluster.groups.settings import GroupSettings, MigrationPolicy
from doorkeeper.wire.consumer_protocol import Assignment, NamedPartitions, read_assignment, write_assignment

EVERYTHING = write_assignment(
    Assignment(assigned_partitions=(NamedPartitions(topic="foo", partitions=tuple(range(6))),))
)
DELAY = 3_000


def settings(**changes: Any) -> GroupSettings:
    return GroupSettings(consumer_assignment_interval_ms=0, **changes)


def classic_group(driver: Driver, assignment: bytes = EVERYTHING, **options: Any) -> str:
    """A stable classic group of one member, which has it all."""
    token = driver.start_join(version=3, **options)
    driver.advance(DELAY)
    member = driver.replies[token].member_id
    driver.sync(member, 1, {member: assignment}, instance=options.get("instance"))
    return str(member)


def named(response: Any) -> dict[str, list[int]]:
    assert response.error_code is ErrorCode.none
    return {entry.topic: list(entry.partitions) for entry in read_assignment(response.assignment).assigned_partitions}


def rejoin(driver: Driver, member: str, held: dict[str, list[int]] | None = None, **options: Any) -> JoinGroupResponse:
    entries = [NamedPartitions(topic=name, partitions=tuple(ps)) for name, ps in (held or {}).items()]
    return driver.join(member, protocols=(Protocol("range", subscription("foo", owned=entries)),), **options)


# --- upgrade -----------------------------------------------------------------------------------------------------


def test_a_member_of_the_consumer_protocol_turns_a_classic_group_into_a_consumer_group() -> None:
    driver = Driver()
    old = classic_group(driver)
    response = driver.consume("new")
    assert response.error_code is ErrorCode.none
    assert driver.kinds()[0] == "-GroupMetadata"
    member = driver.consumer.members[old]
    assert member.uses_classic_protocol
    assert member.member_epoch == 1
    assert sorted(member.assigned[FOO.topic_id]) == [0, 1, 2, 3, 4, 5]
    assert driver.consumer.group_epoch == 2
    assert len(driver.consumer.target["new"][FOO.topic_id]) == 3
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_a_classic_member_hands_over_through_rejoining() -> None:
    driver = Driver()
    old = classic_group(driver)
    new = driver.consume("new").member_epoch
    assert driver.beat(old, 1) is ErrorCode.rebalance_in_progress
    revoking = rejoin(driver, old, {"foo": [0, 1, 2, 3, 4, 5]})
    assert (revoking.error_code, revoking.generation_id) == (ErrorCode.none, 1)
    assert (revoking.protocol_type, revoking.protocol_name) == ("consumer", "range")
    kept = named(driver.sync(old, 1))["foo"]
    assert len(kept) == 3
    assert driver.beat(old, 1) is ErrorCode.rebalance_in_progress
    settled = rejoin(driver, old, {"foo": kept})
    assert settled.generation_id == 2
    assert named(driver.sync(old, 2)) == {"foo": kept}
    assert driver.beat(old, 2) is ErrorCode.none
    response = driver.consume("new", new)
    assert response.assignment is not None
    assert sorted(response.assignment.topic_partitions[0].partitions) == sorted(set(range(6)) - set(kept))
    assert driver.consumer.state_name == "Stable"


def test_sends_classic_members_that_wait_back_to_join() -> None:
    driver = Driver()
    old = classic_group(driver)
    token = driver.start_join(version=3)
    driver.consume("new")
    assert driver.replies[token].error_code is ErrorCode.rebalance_in_progress
    assert driver.consumer.members[old].uses_classic_protocol


def test_an_empty_classic_group_is_simply_replaced() -> None:
    driver = Driver()
    member = classic_group(driver)
    driver.leave(member)
    driver.commit(7, version=2)
    driver.consume("new")
    assert driver.consumer.members.keys() == {"new"}
    assert driver.fetch() == 7


@pytest.mark.parametrize(
    ("changes", "options", "assignment", "reason"),
    [
        ({"consumer_migration_policy": MigrationPolicy.DISABLED}, {}, EVERYTHING, "online upgrade is disabled."),
        ({"consumer_migration_policy": MigrationPolicy.DOWNGRADE}, {}, EVERYTHING, "online upgrade is disabled."),
        (
            {},
            {"protocol_type": "connect"},
            EVERYTHING,
            "the group does not use the consumer embedded protocol.",
        ),
        ({"consumer_max_size": 0}, {}, EVERYTHING, "the group size exceeds the consumer group maximum size."),
        ({}, {"protocols": (Protocol("range", b"\x00"),)}, EVERYTHING, "the embedded consumer protocol is malformed."),
        ({}, {}, b"\x00\x00\x00", "the embedded consumer protocol is malformed."),
        (
            {},
            {},
            write_assignment(Assignment(user_data=b"mine")),
            (
                "an unsupported custom assignor is in use. Please refer to the documentation "
                "or switch to a default assignor before re-attempting the upgrade."
            ),
        ),
    ],
)
def test_refuses_an_upgrade(changes: Any, options: Any, assignment: bytes, reason: str) -> None:
    driver = Driver(settings(**changes))
    token = driver.start_join(version=3, **options)
    driver.advance(DELAY)
    member = driver.replies[token].member_id
    driver.start_sync(member, 1, {member: assignment}, protocol_type=None)
    response = driver.consume("new")
    assert response.error_code is ErrorCode.group_id_not_found
    assert response.error_message == f"Cannot upgrade classic group g to consumer group because {reason}"
    assert driver.classic.state is ClassicState.STABLE
    assert driver.kinds() == []


def test_upgrades_a_group_in_its_first_join_phase() -> None:
    driver = Driver()
    token = driver.start_join(version=3)
    assert driver.consume("new").error_code is ErrorCode.none
    assert driver.replies[token].error_code is ErrorCode.rebalance_in_progress
    assert len(driver.consumer.members) == 2


# --- classic members in a consumer group -------------------------------------------------------------------------


def test_a_classic_member_may_join_a_consumer_group() -> None:
    driver = Driver()
    driver.consume("new", names=["bar"])
    member = driver.new_member_id()
    response = driver.join(member)
    assert response.error_code is ErrorCode.none
    assert response.members == ()
    assert response.leader == ""
    assert named(driver.sync(member, response.generation_id)) == {"foo": [0, 1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("changes", "options", "code"),
    [
        (
            {"consumer_migration_policy": MigrationPolicy.DISABLED},
            {},
            ErrorCode.inconsistent_group_protocol,
        ),
        ({"consumer_migration_policy": MigrationPolicy.DOWNGRADE}, {}, ErrorCode.member_id_required),
        ({"consumer_max_size": 1}, {}, ErrorCode.group_max_size_reached),
        ({}, {"protocol_type": "connect"}, ErrorCode.inconsistent_group_protocol),
        ({}, {"protocols": ()}, ErrorCode.inconsistent_group_protocol),
        ({}, {"protocols": (Protocol("range", b""),), "version": 3}, ErrorCode.inconsistent_group_protocol),
        ({}, {"version": 3}, ErrorCode.none),
        ({}, {"instance": "i"}, ErrorCode.none),
        ({}, {"member_id": "mine"}, ErrorCode.none),
        ({}, {"member_id": "mine", "instance": "i"}, ErrorCode.unknown_member_id),
    ],
)
def test_judges_a_classic_join_to_a_consumer_group(changes: Any, options: Any, code: ErrorCode) -> None:
    driver = Driver(settings(**changes))
    driver.consume("new")
    assert driver.join(**options).error_code is code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, ErrorCode.none),
        ({"member_id": "nobody"}, ErrorCode.unknown_member_id),
        ({"member_id": "new"}, ErrorCode.unknown_member_id),
        ({"instance": "i"}, ErrorCode.unknown_member_id),
        ({"generation": 1}, ErrorCode.illegal_generation),
        ({"protocol_type": "connect"}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_name": "sticky"}, ErrorCode.inconsistent_group_protocol),
    ],
)
def test_judges_a_classic_sync_to_a_consumer_group(options: dict[str, Any], code: ErrorCode) -> None:
    driver = Driver()
    driver.consume("new", names=["bar"])
    response = driver.join(version=3)
    arguments = {"member_id": response.member_id, "generation": response.generation_id, **options}
    assert driver.sync(**arguments).error_code is code


def test_a_classic_member_that_is_behind_has_to_join_before_it_may_sync() -> None:
    driver = Driver()
    driver.consume("new", names=["bar"])
    response = driver.join(version=3)
    driver.consume("newer", names=["bar"])
    assert driver.sync(response.member_id, response.generation_id).error_code is ErrorCode.rebalance_in_progress


def test_fences_a_classic_member_that_does_not_join_again_in_time() -> None:
    driver = Driver(settings(consumer_migration_policy=MigrationPolicy.UPGRADE))
    epoch = driver.consume("new", names=["bar"]).member_epoch
    response = driver.join(version=3, session_ms=100_000, rebalance_ms=30_000)
    driver.sync(response.member_id, response.generation_id)
    epoch = driver.consume("new", epoch, names=["foo", "bar"]).member_epoch
    assert driver.beat(response.member_id, response.generation_id) is ErrorCode.rebalance_in_progress
    driver.advance(29_999)
    assert driver.beat(response.member_id, response.generation_id) is ErrorCode.rebalance_in_progress
    driver.advance(1)
    assert driver.beat(response.member_id, response.generation_id) is ErrorCode.unknown_member_id


def test_fences_a_classic_member_that_does_not_sync_in_time() -> None:
    driver = Driver()
    driver.consume("new", names=["bar"])
    response = driver.join(version=3, session_ms=100_000, rebalance_ms=30_000)
    driver.advance(29_999)
    assert response.member_id in driver.consumer.members
    driver.advance(1)
    assert response.member_id not in driver.consumer.members


def test_a_classic_members_session_is_its_own() -> None:
    driver = Driver()
    driver.consume("new", names=["bar"])
    response = driver.join(version=3, session_ms=10_000)
    driver.sync(response.member_id, response.generation_id)
    driver.advance(9_999)
    assert driver.beat(response.member_id, response.generation_id) is ErrorCode.none
    driver.advance(10_000)
    assert response.member_id not in driver.consumer.members


def test_members_of_both_protocols_may_be_removed_by_leave_group() -> None:
    driver = Driver()
    driver.consume("m1", instance_id="i1")
    driver.consume("m2")
    classic = driver.join(version=3).member_id
    response = driver.leave(
        MemberIdentity(member_id="", group_instance_id="i1"),
        MemberIdentity(member_id="wrong", group_instance_id="i1"),
        "nobody",
        classic,
    )
    codes = [member.error_code for member in response.members]
    assert codes == [ErrorCode.none, ErrorCode.fenced_instance_id, ErrorCode.unknown_member_id, ErrorCode.none]
    assert driver.consumer.members.keys() == {"m2"}


def test_strangers_that_leave_change_nothing() -> None:
    driver = Driver()
    driver.consume("m1")
    assert driver.leave("nobody").members[0].error_code is ErrorCode.unknown_member_id
    assert driver.kinds() == []


def test_a_static_classic_member_syncs_and_beats_under_its_instance() -> None:
    driver = Driver()
    driver.consume("m1", names=["bar"])
    joined = driver.join(instance="i")
    assert named(driver.sync(joined.member_id, joined.generation_id, instance="i")) == {"foo": [0, 1, 2, 3, 4, 5]}
    assert driver.beat(joined.member_id, joined.generation_id, instance="i") is ErrorCode.none
    assert driver.beat("old", joined.generation_id, instance="i") is ErrorCode.fenced_instance_id


def test_a_classic_member_learns_when_partitions_that_it_waits_for_are_free() -> None:
    driver = Driver()
    first = driver.consume("m1").member_epoch
    response = driver.join(version=3)
    member = response.member_id
    assert driver.consumer.members[member].state is MemberState.UNRELEASED_PARTITIONS
    assert named(driver.sync(member, response.generation_id)) == {}
    assert driver.beat(member, response.generation_id) is ErrorCode.none
    kept = driver.consume("m1", first).assignment
    assert kept is not None
    driver.consume("m1", first, held=kept.topic_partitions)
    assert driver.beat(member, response.generation_id) is ErrorCode.rebalance_in_progress
    again = rejoin(driver, member)
    assert len(named(driver.sync(member, again.generation_id))["foo"]) == 3


# --- downgrade ---------------------------------------------------------------------------------------------------


def mixed_group(driver: Driver) -> tuple[str, str]:
    """A consumer group of `new`, static, and a classic member, settled."""
    old = classic_group(driver)
    driver.consume("new", instance_id="i")
    rejoin(driver, old, {"foo": [0, 1, 2, 3, 4, 5]})
    rejoin(driver, old, {"foo": [0, 1, 2]})
    driver.sync(old, 2)
    driver.consume("new", 2, instance_id="i")
    return old, "new"


def test_the_group_becomes_classic_when_the_last_consumer_leaves() -> None:
    driver = Driver()
    old, new = mixed_group(driver)
    driver.consume(new, -1, instance_id="i")
    assert driver.classic.members.keys() == {old}
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE
    assert driver.kinds()[-1] == "GroupMetadata"
    assert driver.beat(old, 2) is ErrorCode.rebalance_in_progress
    joined = driver.join(old)
    assert joined.generation_id == 3
    assert joined.leader == old
    again = driver.replayed().state.groups[GROUP]
    assert isinstance(again, ClassicGroup)
    assert again.members.keys() == {old}


def test_the_group_becomes_classic_when_the_last_consumers_session_ends() -> None:
    driver = Driver()
    old, _ = mixed_group(driver)
    for _ in range(9):
        driver.advance(5_000)
        driver.beat(old, 2)
    assert driver.classic.members.keys() == {old}


def test_the_group_becomes_classic_without_a_rebalance_when_the_last_consumer_is_back_as_a_classic_member() -> None:
    driver = Driver()
    old, new = mixed_group(driver)
    response = driver.join(instance="i")
    assert response.error_code is ErrorCode.none
    assert driver.classic.state is ClassicState.STABLE
    assert driver.classic.members.keys() == {old, response.member_id}
    assert new not in driver.classic.members
    assert driver.classic.generation_id == 2
    assert named(driver.sync(response.member_id, 2, instance="i")) == {"foo": [3, 4, 5]}
    assert driver.beat(old, 2) is ErrorCode.none
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_the_group_becomes_classic_with_a_rebalance_if_the_one_who_is_back_wants_something_else() -> None:
    driver = Driver()
    old, _ = mixed_group(driver)
    response = driver.join(instance="i", protocols=(Protocol("range", subscription("bar")),))
    assert response.error_code is ErrorCode.none
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE
    assert driver.beat(old, 2) is ErrorCode.rebalance_in_progress


@pytest.mark.parametrize(
    "changes",
    [
        {"consumer_migration_policy": MigrationPolicy.UPGRADE},
        {"classic_max_size": 0},
    ],
)
def test_the_group_stays_a_consumer_group_if_it_may_not_become_classic(changes: dict[str, Any]) -> None:
    driver = Driver()
    old, new = mixed_group(driver)
    driver.settings = settings(**changes)
    driver.restart()
    driver.consume(new, -1, instance_id="i")
    assert driver.consumer.members.keys() == {old}


def test_a_group_that_all_members_leave_stays_a_consumer_group_until_a_classic_member_comes() -> None:
    driver = Driver()
    driver.consume("m1")
    driver.consume("m1", -1)
    assert driver.consumer.is_empty
    driver.new_member_id()
    assert driver.classic.state is ClassicState.EMPTY
    assert driver.kinds()[-2:] == ["-ConsumerGroupMetadata", "GroupMetadata"]
    assert isinstance(driver.replayed().state.groups[GROUP], ClassicGroup)


def test_a_stranger_does_not_end_an_empty_consumer_group() -> None:
    driver = Driver()
    driver.consume("m1")
    driver.consume("m1", -1)
    assert driver.join("stranger").error_code is ErrorCode.unknown_member_id
    assert driver.consumer.is_empty
    assert driver.kinds() == []


def test_owned_partitions_of_topics_that_are_gone_count_as_let_go() -> None:
    driver = Driver()
    old = classic_group(driver)
    driver.consume("new")
    assert rejoin(driver, old, {"gone": [0]}).generation_id == 2
