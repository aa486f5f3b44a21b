"""SyncGroup, Heartbeat, LeaveGroup and the end of sessions in classic groups."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import GROUP, START_MS, Driver, durable

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicState
from doorkeeper.cluster.groups.messages import MemberIdentity
from doorkeeper.cluster.groups.settings import GroupSettings

DELAY = 3_000


def joined(driver: Driver, members: int = 2, **options: Any) -> list[str]:
    """Members of generation 1 that have not synced; the first one leads."""
    tokens = [driver.start_join(version=3, **options) for _ in range(members)]
    while tokens[0] not in driver.replies:
        driver.advance(DELAY)
    ids = [driver.replies[token].member_id for token in tokens]
    return sorted(ids, key=lambda member: member != driver.classic.leader_id)


# --- SyncGroup ---------------------------------------------------------------------------------------------------


def test_followers_wait_for_the_leaders_assignments() -> None:
    driver = Driver()
    leader, follower = joined(driver)
    waiting = driver.start_sync(follower, 1)
    assert waiting not in driver.replies
    response = driver.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert (response.assignment, driver.replies[waiting].assignment) == (b"L", b"F")
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert driver.classic.state is ClassicState.STABLE
    assert driver.kinds() == ["GroupMetadata"]


def test_a_member_that_syncs_late_gets_what_the_leader_assigned() -> None:
    driver = Driver()
    leader, follower = joined(driver)
    driver.sync(leader, 1, {follower: b"F"})
    assert driver.sync(follower, 1).assignment == b"F"


def test_a_member_that_the_leader_forgot_gets_an_empty_assignment() -> None:
    driver = Driver()
    leader, follower = joined(driver)
    assert driver.sync(leader, 1, {follower: b"F", "stranger": b"S"}).assignment == b""
    assert driver.classic.members[leader].assignment == b""


def test_answers_an_earlier_sync_of_a_member_that_syncs_again() -> None:
    driver = Driver()
    _, follower = joined(driver)
    first = driver.start_sync(follower, 1)
    second = driver.start_sync(follower, 1)
    assert driver.replies[first].error_code is ErrorCode.rebalance_in_progress
    assert second not in driver.replies


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"group": ""}, ErrorCode.invalid_group_id),
        ({"group": "other"}, ErrorCode.unknown_member_id),
        ({"member_id": "nobody"}, ErrorCode.unknown_member_id),
        ({"instance": "i"}, ErrorCode.unknown_member_id),
        ({"generation": 0}, ErrorCode.illegal_generation),
        ({"generation": 2}, ErrorCode.illegal_generation),
        ({"protocol_type": "connect"}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_name": "sticky"}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_type": None, "protocol_name": None}, ErrorCode.none),
        ({}, ErrorCode.none),
    ],
)
def test_judges_a_sync(options: dict[str, Any], code: ErrorCode) -> None:
    driver = Driver()
    leader, _ = driver.stable_group(2)
    arguments: dict[str, Any] = {"member_id": leader, "generation": 1, **options}
    assert driver.sync(**arguments).error_code is code


def test_refuses_a_sync_to_a_group_that_is_empty() -> None:
    driver = Driver()
    driver.new_member_id()
    assert driver.sync("m", 0).error_code is ErrorCode.unknown_member_id


def test_refuses_a_sync_while_a_rebalance_is_prepared() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    driver.start_join(leader)
    assert driver.sync(follower, 1).error_code is ErrorCode.rebalance_in_progress


def test_sends_those_who_wait_to_sync_back_to_join_when_a_rebalance_starts() -> None:
    driver = Driver()
    _, follower = joined(driver)
    waiting = driver.start_sync(follower, 1)
    driver.start_join(version=3)
    assert driver.replies[waiting].error_code is ErrorCode.rebalance_in_progress
    assert driver.classic.members[follower].assignment == b""


def test_drops_members_that_never_sync() -> None:
    driver = Driver()
    leader, follower = joined(driver, session_ms=200_000)
    driver.sync(leader, 1)
    driver.advance(59_999)
    assert driver.classic.members.keys() == {leader, follower}
    driver.advance(1)
    assert driver.classic.members.keys() == {leader}
    assert driver.beat(leader, 1) is ErrorCode.rebalance_in_progress


def test_does_not_drop_members_that_have_all_synced() -> None:
    driver = Driver()
    leader, follower = joined(driver, session_ms=200_000)
    driver.start_sync(follower, 1)
    driver.sync(leader, 1)
    driver.advance(60_000)
    assert driver.classic.members.keys() == {leader, follower}
    assert driver.classic.state is ClassicState.STABLE


# --- Heartbeat ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"group": ""}, ErrorCode.invalid_group_id),
        ({"group": "other"}, ErrorCode.unknown_member_id),
        ({"member_id": "nobody"}, ErrorCode.unknown_member_id),
        ({"generation": 0}, ErrorCode.illegal_generation),
        ({"generation": 2}, ErrorCode.illegal_generation),
        ({}, ErrorCode.none),
    ],
)
def test_judges_a_heartbeat(options: dict[str, Any], code: ErrorCode) -> None:
    driver = Driver()
    (member,) = driver.stable_group()
    arguments: dict[str, Any] = {"member_id": member, "generation": 1, **options}
    assert driver.beat(**arguments) is code


def test_accepts_a_heartbeat_while_assignments_are_awaited() -> None:
    driver = Driver()
    leader, _ = joined(driver)
    assert driver.beat(leader, 1) is ErrorCode.none


def test_keeps_a_member_that_beats_and_drops_one_that_does_not() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2, session_ms=10_000)
    for _ in range(3):
        driver.advance(6_000)
        driver.beat(leader, 1)
    assert driver.classic.members.keys() == {leader}
    assert driver.beat(leader, 1) is ErrorCode.rebalance_in_progress
    assert driver.beat(follower, 1) is ErrorCode.unknown_member_id


def test_ends_a_session_at_its_timeout_and_not_a_millisecond_before() -> None:
    driver = Driver()
    (member,) = driver.stable_group(session_ms=10_000)
    driver.beat(member, 1)
    driver.advance(9_999)
    assert driver.classic.members
    driver.advance(1)
    assert not driver.classic.members


def test_a_group_whose_last_session_ended_is_empty_in_the_next_generation() -> None:
    driver = Driver()
    driver.stable_group()
    written = driver.advance(10_000)
    assert driver.classic.state is ClassicState.EMPTY
    assert driver.classic.generation_id == 2
    assert len(written) == 1
    again = driver.replayed().state.groups[GROUP]
    assert isinstance(again, ClassicGroup)
    assert (again.state, again.generation_id, again.protocol_type) == (ClassicState.EMPTY, 2, "consumer")


def test_a_new_member_that_waits_is_dropped_after_five_minutes_at_the_latest() -> None:
    driver = Driver(GroupSettings(classic_initial_rebalance_delay_ms=600_000))
    token = driver.start_join(version=3, rebalance_ms=1_200_000)
    driver.advance(299_999)
    assert token not in driver.replies
    driver.advance(1)
    assert driver.replies[token].error_code is ErrorCode.unknown_member_id


def test_a_member_that_waits_to_join_again_outlives_its_session() -> None:
    driver = Driver()
    leader, _ = driver.stable_group(2, session_ms=30_000)
    driver.advance(25_000)
    token = driver.start_join(leader, session_ms=30_000)
    driver.advance(10_000)
    assert driver.replies[token].error_code is ErrorCode.none


# --- LeaveGroup --------------------------------------------------------------------------------------------------


def test_answers_each_member_of_a_batch_and_rebalances_once() -> None:
    driver = Driver()
    leader, follower, third = driver.stable_group(3)
    pending = driver.new_member_id()
    response = driver.leave(
        follower,
        "nobody",
        MemberIdentity(member_id=third, group_instance_id="i"),
        pending,
        MemberIdentity(member_id="", group_instance_id="i"),
    )
    assert response.error_code is ErrorCode.none
    unknown = ErrorCode.unknown_member_id
    codes = [member.error_code for member in response.members]
    assert codes == [ErrorCode.none, unknown, unknown, ErrorCode.none, unknown]
    assert driver.classic.members.keys() == {leader, third}
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE
    assert not driver.classic.pending_join


def test_lets_an_administrator_remove_a_static_member_by_its_instance_alone() -> None:
    driver = Driver()
    token = driver.start_join(instance="i")
    driver.advance(DELAY)
    assert driver.replies[token].error_code is ErrorCode.none
    response = driver.leave(MemberIdentity(member_id="", group_instance_id="i"))
    assert [member.error_code for member in response.members] == [ErrorCode.none]
    assert response.members[0].member_id == ""
    assert not driver.classic.static_members


def test_fences_a_static_member_that_leaves_under_an_old_id() -> None:
    driver = Driver()
    driver.start_join(instance="i")
    driver.advance(DELAY)
    response = driver.leave(MemberIdentity(member_id="old", group_instance_id="i"))
    assert response.members[0].error_code is ErrorCode.fenced_instance_id


@pytest.mark.parametrize(("group", "code"), [("", ErrorCode.invalid_group_id), ("other", ErrorCode.none)])
def test_leaving_a_group_that_is_not_there_is_the_members_error(group: str, code: ErrorCode) -> None:
    response = Driver().leave("m", group=group)
    assert response.error_code is code
    if group:
        assert response.members[0].error_code is ErrorCode.unknown_member_id


def test_a_group_that_all_members_leave_is_empty_at_once() -> None:
    driver = Driver()
    members = driver.stable_group(2)
    driver.leave(*members)
    assert driver.classic.state is ClassicState.EMPTY
    assert driver.kinds() == ["GroupMetadata"]


def test_completes_the_join_phase_when_the_last_missing_member_leaves() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    token = driver.start_join(leader)
    driver.leave(follower)
    assert driver.replies[token].generation_id == 2


def test_answers_the_join_of_a_member_that_leaves() -> None:
    driver = Driver()
    leader, _ = driver.stable_group(2)
    token = driver.start_join(leader)
    driver.leave(leader)
    assert driver.replies[token].error_code is ErrorCode.unknown_member_id


def test_answers_the_sync_of_a_member_that_leaves() -> None:
    driver = Driver()
    _, follower = joined(driver)
    token = driver.start_sync(follower, 1)
    driver.leave(follower)
    assert driver.replies[token].error_code is ErrorCode.unknown_member_id


# --- restarts ----------------------------------------------------------------------------------------------------


def test_members_go_on_after_a_restart_as_if_nothing_had_happened() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    before = durable(driver.coordinator)
    driver.restart()
    assert durable(driver.coordinator) == before
    assert driver.beat(follower, 1) is ErrorCode.none
    assert driver.sync(leader, 1).assignment == leader.encode()
    driver.advance(10_000)
    assert driver.classic.state is ClassicState.EMPTY


def test_a_restart_amid_a_rebalance_goes_back_to_the_last_generation() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    driver.start_join(leader)
    driver.restart()
    assert driver.classic.state is ClassicState.STABLE
    assert driver.beat(follower, 1) is ErrorCode.none


def test_rebalances_a_group_that_is_larger_than_the_limit_after_a_restart() -> None:
    driver = Driver()
    members = driver.stable_group(3)
    driver.settings = GroupSettings(classic_max_size=2)
    driver.restart()
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE
    tokens = [driver.start_join(member, session_ms=6_000) for member in members]
    assert driver.replies[tokens[2]].error_code is ErrorCode.group_max_size_reached
    driver.advance(60_000)
    assert driver.replies[tokens[0]].error_code is driver.replies[tokens[1]].error_code is ErrorCode.none


def test_sends_everybody_who_waits_away_when_it_closes() -> None:
    driver = Driver()
    _, follower = joined(driver)
    syncing = driver.start_sync(follower, 1)
    joining = driver.start_join(version=3, group="other")
    driver.take(driver.coordinator.close(driver.now_ms))
    assert driver.replies[syncing].error_code is ErrorCode.not_coordinator
    assert driver.replies[joining].error_code is ErrorCode.not_coordinator


def test_a_closed_coordinator_lets_nobody_wait() -> None:
    driver = Driver()
    leader, _ = driver.stable_group(2)
    driver.take(driver.coordinator.close(driver.now_ms))
    gone = ErrorCode.coordinator_not_available
    assert driver.join(leader).error_code is gone
    assert driver.join(version=3).error_code is gone
    assert driver.sync(leader, 1).error_code is gone
    assert driver.beat(leader, 1) is gone
    assert driver.leave(leader).error_code is gone
    assert driver.commit(member_id=leader, epoch=1) is gone


def test_a_group_takes_no_way_that_the_diagram_does_not_show() -> None:
    group = ClassicGroup(GROUP)
    with pytest.raises(AssertionError, match="a group can't go from Empty to Stable"):
        group.transition_to(ClassicState.STABLE, 0)


def test_remembers_since_when_a_group_is_in_its_state() -> None:
    driver = Driver()
    driver.stable_group()
    assert driver.classic.state_since_ms == driver.now_ms > START_MS
    driver.restart()
    assert driver.classic.state_since_ms == START_MS + DELAY  # written before the group was stable
