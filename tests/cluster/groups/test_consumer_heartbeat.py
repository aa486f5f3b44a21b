"""ConsumerGroupHeartbeat: lawful requests, epochs, assignment, reconciliation, sessions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import BAR, FOO, GROUP, Driver, durable, owned

from doorkeeper.cluster.groups.consumer.member import MemberState
from doorkeeper.cluster.groups.messages import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from doorkeeper.cluster.groups.settings import GroupConfigs, GroupSettings
from doorkeeper.cluster.groups.topics import TopicView
from doorkeeper.wire.coordinator_records import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    CoordinatorRecord,
    write_coordinator_record,
)

JOIN = ConsumerGroupHeartbeatRequest(
    group_id=GROUP,
    member_id="m1",
    member_epoch=0,
    rebalance_timeout_ms=60_000,
    subscribed_topic_names=("foo",),
    topic_partitions=(),
)


def partitions(response: ConsumerGroupHeartbeatResponse) -> dict[str, list[int]]:
    names = {FOO.topic_id: "foo", BAR.topic_id: "bar"}
    assert response.error_code is ErrorCode.none, response
    assert response.assignment is not None
    return {names[entry.topic_id]: list(entry.partitions) for entry in response.assignment.topic_partitions}


# --- lawful requests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "version", "code", "message"),
    [
        ({"member_id": ""}, 1, ErrorCode.invalid_request, "MemberId can't be empty."),
        ({"member_id": " \t"}, 1, ErrorCode.invalid_request, "MemberId can't be empty."),
        ({"member_id": "", "member_epoch": 1}, 0, ErrorCode.invalid_request, "MemberId can't be empty."),
        ({"member_id": "", "member_epoch": -1}, 0, ErrorCode.invalid_request, "MemberId can't be empty."),
        ({"group_id": ""}, 1, ErrorCode.invalid_request, "GroupId can't be empty."),
        ({"instance_id": ""}, 1, ErrorCode.invalid_request, "InstanceId can't be empty."),
        ({"rack_id": " "}, 1, ErrorCode.invalid_request, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1},
            1,
            ErrorCode.invalid_request,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({"topic_partitions": None}, 1, ErrorCode.invalid_request, "TopicPartitions must be empty when (re-)joining."),
        (
            {"topic_partitions": (TopicPartitions(FOO.topic_id, (0,)),)},
            1,
            ErrorCode.invalid_request,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topic_names": None},
            1,
            ErrorCode.invalid_request,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"member_epoch": -2}, 1, ErrorCode.invalid_request, "InstanceId can't be null."),
        ({"member_epoch": -3}, 1, ErrorCode.invalid_request, "MemberEpoch is invalid."),
        (
            {"server_assignor": "mine"},
            1,
            ErrorCode.unsupported_assignor,
            "ServerAssignor mine is not supported. Supported assignors: uniform, range.",
        ),
        ({"server_assignor": "range"}, 1, ErrorCode.none, None),
        ({"subscribed_topic_names": ()}, 1, ErrorCode.none, None),
        ({"subscribed_topic_names": None, "subscribed_topic_regex": ""}, 1, ErrorCode.none, None),
        ({"member_epoch": 1}, 1, ErrorCode.group_id_not_found, "Consumer group g not found."),
        ({"member_epoch": -1}, 1, ErrorCode.group_id_not_found, "Group g not found."),
    ],
)
def test_judges_the_request(change: dict[str, Any], version: int, code: ErrorCode, message: str | None) -> None:
    driver = Driver()
    response = driver.raw_consume(replace(JOIN, **change), version)
    assert (response.error_code, response.error_message) == (code, message)
    if code is not ErrorCode.none:
        assert not driver.log
        assert not driver.coordinator.state.groups


def test_makes_an_id_for_a_client_of_version_0() -> None:
    response = Driver().raw_consume(replace(JOIN, member_id=""), 0)
    assert response.member_id is not None
    assert re.fullmatch(r"[0-9a-f-]{36}", response.member_id)


# --- joining -----------------------------------------------------------------------------------------------------


def test_gives_the_first_member_everything() -> None:
    driver = Driver()
    response = driver.consume("m1", names=["foo", "bar"])
    assert partitions(response) == {"foo": [0, 1, 2, 3, 4, 5], "bar": [0, 1, 2]}
    assert response.member_epoch == 2
    assert response.heartbeat_interval_ms == 5_000
    assert driver.kinds() == [
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupCurrentMemberAssignment",
    ]
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_says_nothing_and_writes_nothing_when_nothing_is_new() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    response = driver.consume("m1", epoch)
    assert response.assignment is None
    assert response.member_epoch == epoch
    assert driver.kinds() == []


def test_repeats_the_assignment_to_a_full_request() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    response = driver.consume("m1", epoch, names=["foo"], held=owned(foo=range(6)), rebalance_ms=60_000)
    assert partitions(response) == {"foo": [0, 1, 2, 3, 4, 5]}


def test_a_topic_that_does_not_exist_yet_is_assigned_once_it_does() -> None:
    driver = Driver()
    driver.set_topics(FOO)
    epoch = driver.consume(names=["bar"]).member_epoch
    assert driver.consume("m1", epoch).assignment is None
    driver.set_topics(FOO, BAR)
    response = driver.consume("m1", epoch)
    assert partitions(response) == {"bar": [0, 1, 2]}
    assert response.member_epoch == epoch + 1


def test_new_partitions_of_a_topic_raise_the_epoch() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    driver.set_topics(replace(FOO, partition_count=7), BAR)
    response = driver.consume("m1", epoch)
    assert partitions(response)["foo"] == list(range(7))
    assert response.member_epoch == epoch + 1


@pytest.mark.parametrize(
    "view",
    [
        replace(BAR, partition_count=9),
        replace(BAR, racks={0: ("a",)}),
        TopicView("baz", BAR.topic_id, 1),
    ],
)
def test_a_change_of_a_topic_that_nobody_reads_changes_nothing(view: TopicView) -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    driver.set_topics(FOO, view)
    assert driver.consume("m1", epoch).member_epoch == epoch


def test_a_change_of_racks_raises_the_epoch() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    driver.set_topics(replace(FOO, racks={0: ("a",)}), BAR)
    assert driver.consume("m1", epoch).member_epoch == epoch + 1


def test_a_deleted_topic_is_taken_away() -> None:
    driver = Driver()
    epoch = driver.consume(names=["foo", "bar"]).member_epoch
    driver.set_topics(FOO)
    response = driver.consume("m1", epoch)
    assert response.assignment == Assignment((TopicPartitions(FOO.topic_id, tuple(range(6))),))
    assert driver.consumer.members["m1"].state is MemberState.UNREVOKED_PARTITIONS


# --- reconciliation ----------------------------------------------------------------------------------------------


def test_a_newcomer_gets_partitions_only_when_they_are_let_go() -> None:
    driver = Driver()
    first = driver.consume("m1").member_epoch
    joined = driver.consume("m2")
    assert partitions(joined) == {}
    assert joined.member_epoch == first + 1
    revoking = driver.consume("m1", first)
    assert partitions(revoking) == {"foo": [0, 1, 2]}
    assert revoking.member_epoch == first
    assert driver.consume("m2", joined.member_epoch).assignment is None
    assert driver.consume("m1", first, held=owned(foo=[0, 1, 2])).member_epoch == first + 1
    assert partitions(driver.consume("m2", joined.member_epoch)) == {"foo": [3, 4, 5]}
    assert driver.consumer.state_name == "Stable"
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_a_member_that_still_holds_a_revoked_partition_stays_where_it_is() -> None:
    driver = Driver()
    first = driver.consume("m1").member_epoch
    driver.consume("m2")
    driver.consume("m1", first)
    response = driver.consume("m1", first, held=owned(foo=[0, 1, 2, 3]))
    assert response.member_epoch == first
    assert driver.consumer.members["m1"].state is MemberState.UNREVOKED_PARTITIONS


def test_partitions_become_free_one_owner_at_a_time() -> None:
    driver = Driver()
    one = driver.consume("m1").member_epoch
    two = driver.consume("m2").member_epoch
    driver.consume("m1", one)
    one = driver.consume("m1", one, held=owned(foo=[0, 1, 2])).member_epoch
    driver.consume("m2", two)
    three = driver.consume("m3")
    assert partitions(three) == {}
    driver.consume("m1", one)
    driver.consume("m1", one, held=owned(foo=[0, 1]))
    partial = driver.consume("m3", three.member_epoch)
    assert partitions(partial) == {"foo": [2]}
    assert driver.consumer.members["m3"].state is MemberState.UNRELEASED_PARTITIONS
    driver.consume("m2", two)
    driver.consume("m2", two, held=owned(foo=[3, 4]))
    assert partitions(driver.consume("m3", three.member_epoch)) == {"foo": [2, 5]}
    assert driver.consumer.state_name == "Stable"


def test_what_a_member_unsubscribes_from_it_loses_at_once_even_before_a_new_assignment() -> None:
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=10_000))
    epoch = driver.consume(names=["foo", "bar"]).member_epoch
    response = driver.consume("m1", epoch, names=["foo"])
    assert partitions(response) == {"foo": [0, 1, 2, 3, 4, 5]}
    assert response.member_epoch == epoch
    assert driver.consumer.members["m1"].pending_revocation.keys() == {BAR.topic_id}
    assert driver.consumer.state_name == "Assigning"


def test_what_a_member_unsubscribes_from_and_does_not_hold_is_simply_gone() -> None:
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=10_000))
    epoch = driver.consume(names=["foo", "bar"]).member_epoch
    driver.consume("m1", epoch, names=["foo"], held=owned(foo=range(6)))
    member = driver.consumer.members["m1"]
    assert (member.state, member.pending_revocation) == (MemberState.STABLE, {})
    assert member.assigned.keys() == {FOO.topic_id}


def test_a_member_that_unsubscribes_while_it_revokes_has_to_let_go_of_that_too() -> None:
    driver = Driver()
    first = driver.consume("m1", names=["foo", "bar"]).member_epoch
    driver.consume("m2", names=["foo", "bar"])
    driver.consume("m1", first)
    driver.consume("m1", first, names=["foo"])
    member = driver.consumer.members["m1"]
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    assert BAR.topic_id in member.pending_revocation
    assert member.assigned.keys() == {FOO.topic_id}


def test_waits_for_the_assignment_interval_between_two_assignments() -> None:
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=1_000))
    first = driver.consume("m1").member_epoch
    joined = driver.consume("m2")
    assert (joined.member_epoch, partitions(joined)) == (first, {})
    assert driver.consumer.state_name == "Assigning"
    driver.advance(999)
    assert driver.consume("m2", first).member_epoch == first
    driver.advance(1)
    assert driver.consume("m2", first).member_epoch == first + 1
    assert driver.consumer.assignment_epoch == first + 1


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_uses_the_assignor_that_most_members_ask_for(assignor: str) -> None:
    driver = Driver()
    driver.consume("m2", server_assignor=assignor)
    driver.consume("m1", server_assignor=assignor)
    driver.consume("m0", server_assignor="uniform" if assignor == "range" else "range")
    assert driver.coordinator.describe_consumer_groups([GROUP])[0].assignor_name == assignor
    kept = sorted(driver.consumer.target["m2"][FOO.topic_id])
    # The uniform one lets the first member keep what it had; the range one deals anew, by member id.
    assert kept == ([0, 1] if assignor == "uniform" else [4, 5])


# --- epochs ------------------------------------------------------------------------------------------------------


def test_fences_a_member_with_a_greater_epoch() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    response = driver.consume("m1", epoch + 1)
    assert response.error_code is ErrorCode.fenced_member_epoch
    assert response.error_message == (
        f"The consumer group member has a greater member epoch ({epoch + 1}) than the one known by the group "
        f"coordinator ({epoch}). The member must abandon all its partitions and rejoin."
    )


@pytest.mark.parametrize(
    ("back", "held", "code"),
    [
        (1, owned(foo=[0, 1]), ErrorCode.none),
        (1, (), ErrorCode.none),
        (1, owned(foo=[0, 5]), ErrorCode.fenced_member_epoch),
        (1, None, ErrorCode.fenced_member_epoch),
        (2, owned(foo=[0]), ErrorCode.fenced_member_epoch),
    ],
)
def test_forgives_a_lost_answer_if_nothing_was_lost_with_it(back: int, held: Any, code: ErrorCode) -> None:
    driver = Driver()
    first = driver.consume("m1").member_epoch
    driver.consume("m2")
    driver.consume("m1", first)
    second = driver.consume("m1", first, held=owned(foo=[0, 1, 2])).member_epoch
    assert driver.consume("m1", second - back, held=held).error_code is code


def test_refuses_a_stranger_in_a_group_that_exists() -> None:
    driver = Driver()
    driver.consume()
    response = driver.consume("m9", 1)
    assert response.error_code is ErrorCode.unknown_member_id
    assert response.error_message == "Member m9 is not a member of group g."


def test_a_member_that_joins_again_keeps_its_partitions() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    again = driver.consume("m1", 0)
    assert again.member_epoch == epoch
    assert partitions(again) == {"foo": [0, 1, 2, 3, 4, 5]}


def test_refuses_a_member_beyond_the_maximum_size_but_not_one_that_is_in() -> None:
    driver = Driver(GroupSettings(consumer_max_size=1))
    epoch = driver.consume("m1").member_epoch
    response = driver.consume("m2")
    assert response.error_code is ErrorCode.group_max_size_reached
    assert response.error_message == "The consumer group has reached its maximum capacity of 1 members."
    assert driver.consume("m1", epoch).error_code is ErrorCode.none


# --- going -------------------------------------------------------------------------------------------------------


def test_a_member_that_leaves_is_gone_and_its_partitions_are_free() -> None:
    driver = Driver()
    first = driver.consume("m1").member_epoch
    second = driver.consume("m2").member_epoch
    response = driver.consume("m1", -1)
    assert (response.error_code, response.member_epoch) == (ErrorCode.none, -1)
    assert driver.kinds() == [
        "-ConsumerGroupCurrentMemberAssignment",
        "-ConsumerGroupTargetAssignmentMember",
        "-ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
    ]
    assert partitions(driver.consume("m2", second)) == {"foo": [0, 1, 2, 3, 4, 5]}
    assert driver.consume("m1", first).error_code is ErrorCode.unknown_member_id
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_ends_a_session_at_its_timeout_and_not_a_millisecond_before() -> None:
    driver = Driver()
    epoch = driver.consume().member_epoch
    driver.advance(44_999)
    assert driver.consume("m1", epoch).error_code is ErrorCode.none
    driver.advance(44_999)
    assert driver.consumer.members
    driver.advance(1)
    assert not driver.consumer.members
    assert driver.consumer.state_name == "Empty"


def test_the_groups_own_session_timeout_and_heartbeat_interval_count() -> None:
    driver = Driver()
    overrides = {GROUP: {"consumer.session.timeout.ms": 50_000, "consumer.heartbeat.interval.ms": 99_000}}
    driver.coordinator.set_configs(GroupConfigs(driver.settings, overrides))
    assert driver.consume().heartbeat_interval_ms == 15_000  # no more than the broker's bound
    driver.advance(49_999)
    assert driver.consumer.members
    driver.advance(1)
    assert not driver.consumer.members


def test_fences_a_member_that_does_not_let_go_within_its_rebalance_timeout() -> None:
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=0, consumer_session_timeout_ms=60_000))
    first = driver.consume("m1", rebalance_ms=20_000).member_epoch
    second = driver.consume("m2").member_epoch
    driver.consume("m1", first)
    driver.advance(19_999)
    driver.consume("m1", first, held=owned(foo=range(6)))
    assert driver.consumer.members.keys() == {"m1", "m2"}
    driver.advance(1)
    assert driver.consumer.members.keys() == {"m2"}
    assert partitions(driver.consume("m2", second)) == {"foo": [0, 1, 2, 3, 4, 5]}


def test_does_not_fence_a_member_that_has_let_go_in_time() -> None:
    driver = Driver()
    first = driver.consume("m1", rebalance_ms=20_000).member_epoch
    driver.consume("m2")
    driver.consume("m1", first)
    driver.consume("m1", first, held=owned(foo=[0, 1, 2]))
    driver.advance(20_000)
    assert driver.consumer.members.keys() == {"m1", "m2"}


# --- static members ----------------------------------------------------------------------------------------------


def test_a_static_member_that_is_back_gets_its_partitions_without_a_rebalance() -> None:
    driver = Driver()
    driver.consume("m1", instance_id="i1")
    driver.consume("m2", instance_id="i2")
    driver.consume("m1", 2, instance_id="i1")
    one = driver.consume("m1", 2, instance_id="i1", held=owned(foo=[0, 1, 2])).member_epoch
    driver.consume("m2", 3, instance_id="i2")
    away = driver.consume("m1", -2, instance_id="i1")
    assert (away.error_code, away.member_epoch) == (ErrorCode.none, -2)
    assert driver.kinds() == ["ConsumerGroupCurrentMemberAssignment"]
    back = driver.consume("m3", instance_id="i1")
    assert back.member_epoch == one
    assert partitions(back) == {"foo": [0, 1, 2]}
    assert driver.consumer.members.keys() == {"m2", "m3"}
    assert driver.consumer.static_members == {"i1": "m3", "i2": "m2"}
    assert driver.consumer.group_epoch == one
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_keeps_the_partitions_of_a_static_member_that_is_away_from_others() -> None:
    driver = Driver()
    driver.consume("m1", instance_id="i1")
    driver.consume("m1", -2, instance_id="i1")
    joined = driver.consume("m2")
    assert partitions(joined) == {}
    driver.advance(5_000)
    assert driver.consume("m2", joined.member_epoch).assignment is None
    driver.restart()
    assert driver.consume("m2", joined.member_epoch).assignment is None


def test_refuses_an_instance_id_that_is_in_use() -> None:
    driver = Driver()
    driver.consume("m1", instance_id="i")
    response = driver.consume("m2", instance_id="i")
    assert response.error_code is ErrorCode.unreleased_instance_id
    assert response.error_message == (
        "Static member m2 with instance id i cannot join the group because the instance id is owned by m1 member."
    )


@pytest.mark.parametrize(
    ("member", "instance", "epoch", "code"),
    [
        ("m1", "i", 2, ErrorCode.none),
        ("m2", "i", 2, ErrorCode.fenced_instance_id),
        ("m1", "other", 2, ErrorCode.unknown_member_id),
        ("m1", "i", 9, ErrorCode.fenced_member_epoch),
        ("m2", "i", -1, ErrorCode.fenced_instance_id),
        ("m2", "i", -2, ErrorCode.fenced_instance_id),
        ("m1", "other", -2, ErrorCode.unknown_member_id),
        ("m1", "i", -1, ErrorCode.none),
    ],
)
def test_checks_a_static_member(member: str, instance: str, epoch: int, code: ErrorCode) -> None:
    driver = Driver()
    driver.consume("m1", instance_id="i")
    assert driver.consume(member, epoch, instance_id=instance).error_code is code


def test_a_static_member_that_does_not_come_back_loses_its_place_when_its_session_ends() -> None:
    driver = Driver()
    driver.consume("m1", instance_id="i")
    driver.consume("m1", -2, instance_id="i")
    driver.advance(44_999)
    assert driver.consumer.static_members == {"i": "m1"}
    driver.advance(1)
    assert not driver.consumer.members
    assert not driver.consumer.static_members


def test_a_static_member_that_is_back_with_another_subscription_causes_a_rebalance() -> None:
    driver = Driver()
    epoch = driver.consume("m1", instance_id="i").member_epoch
    driver.consume("m1", -2, instance_id="i")
    back = driver.consume("m2", instance_id="i", names=["bar"])
    assert partitions(back) == {"bar": [0, 1, 2]}
    assert back.member_epoch == epoch + 1


# --- restarts ----------------------------------------------------------------------------------------------------


def test_members_go_on_after_a_restart() -> None:
    driver = Driver()
    first = driver.consume("m1", rebalance_ms=20_000).member_epoch
    second = driver.consume("m2").member_epoch
    driver.consume("m1", first)
    driver.restart()
    assert driver.consume("m1", first, held=owned(foo=[0, 1, 2])).member_epoch == second
    assert partitions(driver.consume("m2", second)) == {"foo": [3, 4, 5]}


def test_a_restart_gives_revoking_members_their_time_again() -> None:
    driver = Driver()
    first = driver.consume("m1", rebalance_ms=20_000).member_epoch
    driver.consume("m2")
    driver.consume("m1", first)
    driver.advance(15_000)
    driver.restart()
    driver.advance(19_999)
    assert "m1" in driver.consumer.members
    driver.advance(1)
    assert "m1" not in driver.consumer.members


def test_a_member_in_a_state_of_a_later_release_has_to_start_over() -> None:
    driver = Driver()
    epoch = driver.consume("m1").member_epoch
    member = driver.consumer.members["m1"]
    driver.consumer.put_member(replace(member, state=MemberState.UNKNOWN))
    assert driver.consume("m1", epoch, held=owned(foo=[0])).error_code is ErrorCode.fenced_member_epoch
    assert driver.consume("m1", epoch, held=()).error_code is ErrorCode.none


def test_deletes_the_subscription_metadata_that_kafka_4_0_wrote() -> None:
    driver = Driver()
    driver.consume("m1")
    old = CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=GROUP), ConsumerGroupPartitionMetadataValue())
    driver.log.append((*write_coordinator_record(old), -1))
    driver.restart()
    driver.consume("m2")
    assert "-ConsumerGroupPartitionMetadata" in driver.kinds()
    driver.consume("m3")
    assert "-ConsumerGroupPartitionMetadata" not in driver.kinds()
