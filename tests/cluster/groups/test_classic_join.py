"""JoinGroup to classic groups."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import GROUP, RANGE, Driver, subscription

from doorkeeper.cluster.groups.classic.group import ClassicState
from doorkeeper.cluster.groups.messages import Protocol
from doorkeeper.cluster.groups.settings import GroupSettings

UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DELAY = 3_000


# --- ids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 9])
def test_hands_out_a_plain_uuid_and_asks_to_join_again_with_it(version: int) -> None:
    driver = Driver()
    response = driver.join(version=version, client_id="a-very-long-client-id")
    assert response.error_code is ErrorCode.member_id_required
    assert UUID_TEXT.fullmatch(response.member_id)
    assert driver.classic.pending_join == {response.member_id}


@pytest.mark.parametrize("version", [0, 3])
def test_takes_a_member_without_an_id_in_at_once_before_version_4(version: int) -> None:
    driver = Driver()
    token = driver.start_join(version=version)
    driver.advance(DELAY)
    response = driver.replies[token]
    assert response.error_code is ErrorCode.none
    assert UUID_TEXT.fullmatch(response.member_id)


def test_gives_a_static_member_its_id_at_once() -> None:
    driver = Driver()
    token = driver.start_join(instance="i")
    driver.advance(DELAY)
    assert UUID_TEXT.fullmatch(driver.replies[token].member_id)
    assert driver.classic.static_members == {"i": driver.replies[token].member_id}


def test_forgets_an_id_that_does_not_come_back_within_the_session_timeout() -> None:
    driver = Driver()
    driver.new_member_id(session_ms=10_000)
    driver.advance(9_999)
    assert driver.classic.pending_join
    driver.advance(1)
    assert not driver.classic.pending_join


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"group": ""}, ErrorCode.invalid_group_id),
        ({"session_ms": 5_999}, ErrorCode.invalid_session_timeout),
        ({"session_ms": 1_800_001}, ErrorCode.invalid_session_timeout),
        ({"session_ms": 6_000}, ErrorCode.member_id_required),
        ({"session_ms": 1_800_000}, ErrorCode.member_id_required),
        ({"protocols": ()}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_type": ""}, ErrorCode.inconsistent_group_protocol),
        ({"member_id": "nobody"}, ErrorCode.unknown_member_id),
    ],
)
def test_judges_the_request_before_anything_else(options: dict[str, Any], code: ErrorCode) -> None:
    assert Driver().join(**options).error_code is code


def test_refuses_a_member_that_shares_no_protocol_with_the_others() -> None:
    driver = Driver()
    driver.stable_group()
    other = (Protocol("roundrobin", b""),)
    assert driver.join(protocols=other).error_code is ErrorCode.inconsistent_group_protocol


def test_refuses_a_member_of_another_protocol_type() -> None:
    driver = Driver()
    driver.stable_group()
    assert driver.join(protocol_type="connect").error_code is ErrorCode.inconsistent_group_protocol


def test_refuses_an_id_that_the_group_never_gave() -> None:
    driver = Driver()
    driver.stable_group()
    response = driver.join("somebody")
    assert (response.error_code, response.member_id) == (ErrorCode.unknown_member_id, "somebody")


def test_refuses_a_member_beyond_group_max_size() -> None:
    driver = Driver(GroupSettings(classic_max_size=1))
    (member,) = driver.stable_group()
    assert driver.join(version=3).error_code is ErrorCode.group_max_size_reached
    assert driver.join(member).error_code is ErrorCode.none
    assert driver.classic.members.keys() == {member}


def test_counts_those_who_wait_against_group_max_size_while_a_rebalance_is_prepared() -> None:
    driver = Driver(GroupSettings(classic_max_size=2))
    first = driver.start_join(version=3)
    second = driver.start_join(version=3)
    assert driver.join(version=3).error_code is ErrorCode.group_max_size_reached
    driver.advance(DELAY * 3)
    assert {driver.replies[token].error_code for token in (first, second)} == {ErrorCode.none}


# --- the join phase ----------------------------------------------------------------------------------------------


def test_writes_a_new_group_down_before_any_member_has_joined() -> None:
    driver = Driver()
    driver.new_member_id()
    assert driver.kinds() == ["GroupMetadata"]
    assert driver.replayed().list_groups()[0].group_state == "Empty"


def test_waits_for_the_initial_rebalance_delay() -> None:
    driver = Driver()
    token = driver.start_join(driver.new_member_id())
    driver.advance(DELAY - 1)
    assert token not in driver.replies
    driver.advance(1)
    assert driver.replies[token].generation_id == 1


def test_waits_once_more_for_each_newcomer_up_to_the_rebalance_timeout() -> None:
    driver = Driver()
    first = driver.start_join(version=3, rebalance_ms=7_000)
    driver.advance(DELAY - 1)
    driver.start_join(version=3, rebalance_ms=7_000)
    driver.advance(DELAY)
    assert first not in driver.replies
    driver.start_join(version=3, rebalance_ms=7_000)
    driver.advance(7_000 - 2 * DELAY)
    assert first not in driver.replies
    driver.advance(1)
    assert driver.replies[first].generation_id == 1
    assert len(driver.replies[first].members) == 3


def test_does_not_wait_again_if_nobody_came() -> None:
    driver = Driver()
    first = driver.start_join(version=3)
    second = driver.start_join(version=3)
    driver.advance(DELAY)
    assert first not in driver.replies
    driver.advance(DELAY)
    assert driver.replies[first].error_code is driver.replies[second].error_code is ErrorCode.none


def test_tells_the_members_to_the_leader_alone() -> None:
    driver = Driver()
    tokens = [driver.start_join(version=9, instance=name) for name in ("a", "b")]
    driver.advance(DELAY * 2)
    leader, follower = (driver.replies[token] for token in tokens)
    assert leader.leader == follower.leader == leader.member_id
    assert {member.group_instance_id for member in leader.members} == {"a", "b"}
    assert {member.metadata for member in leader.members} == {subscription("foo")}
    assert follower.members == ()
    assert (leader.protocol_type, leader.protocol_name) == ("consumer", "range")


def test_chooses_the_protocol_that_most_members_like_best_among_those_all_support() -> None:
    driver = Driver()
    range_first = (Protocol("range", b"r"), Protocol("sticky", b"s"))
    sticky_first = (Protocol("only-mine", b"o"), Protocol("sticky", b"s"), Protocol("range", b"r"))
    tokens = [driver.start_join(version=3, protocols=p) for p in (range_first, sticky_first, sticky_first)]
    driver.advance(DELAY * 2)
    assert {driver.replies[token].protocol_name for token in tokens} == {"sticky"}
    assert {member.metadata for member in driver.replies[tokens[0]].members} == {b"s"}


def test_ends_the_join_phase_early_when_all_known_members_have_come() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    first = driver.start_join(leader)
    assert first not in driver.replies
    second = driver.start_join(follower)
    assert driver.replies[first].generation_id == driver.replies[second].generation_id == 2


def test_drops_members_that_do_not_come_within_the_rebalance_timeout() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2, session_ms=100_000)
    token = driver.start_join(leader, session_ms=100_000)
    driver.advance(59_999)
    assert token not in driver.replies
    driver.advance(1)
    assert driver.replies[token].error_code is ErrorCode.none
    assert driver.classic.members.keys() == {leader}
    assert driver.beat(follower, 1) is ErrorCode.unknown_member_id


def test_elects_another_leader_if_the_leader_does_not_come() -> None:
    driver = Driver()
    _, follower = driver.stable_group(2, session_ms=100_000)
    changed = (Protocol("range", subscription("foo", "bar")),)
    token = driver.start_join(follower, protocols=changed, session_ms=100_000)
    driver.advance(60_000)
    assert driver.replies[token].leader == follower


def test_elects_another_leader_if_a_static_leader_does_not_come() -> None:
    driver = Driver()
    members = static_group(driver, "a", "b")
    leader = driver.classic.leader_id
    follower = next(name for name, member in members.items() if member != leader)
    changed = (Protocol("range", subscription("foo", "bar")),)
    token = driver.start_join(members[follower], instance=follower, protocols=changed)
    driver.advance(9_000)
    driver.beat(str(leader), 1, instance=next(name for name, member in members.items() if member == leader))
    for _ in range(6):
        driver.advance(9_000)
        driver.beat(str(leader), 1, instance=next(name for name, member in members.items() if member == leader))
    assert driver.replies[token].leader == members[follower]
    assert driver.classic.members.keys() == set(members.values())


def test_keeps_waiting_for_static_members_when_nobody_came() -> None:
    driver = Driver()
    token = driver.start_join(instance="i", session_ms=1_000_000)
    driver.advance(DELAY)
    member = driver.replies[token].member_id
    newcomer = driver.start_join(version=3)
    driver.leave(driver.classic.members[next(m for m in driver.classic.members if m != member)].member_id)
    assert driver.replies[newcomer].error_code is ErrorCode.unknown_member_id
    driver.advance(120_000)
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE
    assert driver.classic.members.keys() == {member}


def test_lets_a_pending_id_hold_up_the_join_phase() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    pending = driver.new_member_id(session_ms=20_000)
    tokens = [driver.start_join(member) for member in (leader, follower)]
    assert not any(token in driver.replies for token in tokens)
    tokens.append(driver.start_join(pending))
    assert all(driver.replies[token].generation_id == 2 for token in tokens)


# --- members that join again -------------------------------------------------------------------------------------


def test_answers_a_follower_that_joins_again_unchanged_with_the_present_generation() -> None:
    driver = Driver()
    _, follower = driver.stable_group(2)
    response = driver.join(follower)
    assert (response.error_code, response.generation_id) == (ErrorCode.none, 1)
    assert driver.classic.state is ClassicState.STABLE


@pytest.mark.parametrize("position", [0, 1])
def test_rebalances_when_the_leader_or_other_metadata_comes(position: int) -> None:
    driver = Driver()
    members = driver.stable_group(2)
    protocols = RANGE if position == 0 else (Protocol("range", subscription("bar")),)
    token = driver.start_join(members[position], protocols=protocols)
    assert token not in driver.replies
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE
    assert driver.beat(members[1 - position], 1) is ErrorCode.rebalance_in_progress


def test_repeats_the_answer_to_a_member_that_joins_again_before_it_syncs() -> None:
    driver = Driver()
    token = driver.start_join(version=3)
    driver.advance(DELAY)
    first = driver.replies[token]
    again = driver.join(first.member_id)
    assert again == first


def test_answers_an_earlier_join_of_a_member_that_joins_again_while_it_waits() -> None:
    driver = Driver()
    leader, _ = driver.stable_group(2)
    first = driver.start_join(leader)
    second = driver.start_join(leader)
    assert driver.replies[first].error_code is ErrorCode.rebalance_in_progress
    assert second not in driver.replies
    assert driver.classic.awaiting_join == 1


# --- static members ----------------------------------------------------------------------------------------------


def static_group(driver: Driver, *instances: str) -> dict[str, str]:
    tokens = {name: driver.start_join(instance=name) for name in instances}
    driver.advance(DELAY * 3)
    members = {name: driver.replies[token].member_id for name, token in tokens.items()}
    leader = driver.classic.leader_id
    assert leader is not None
    for member in members.values():
        if member != leader:
            driver.start_sync(member, 1)
    driver.start_sync(leader, 1, dict.fromkeys(members.values(), b"x"))
    return members


@pytest.mark.parametrize(("version", "skips"), [(8, False), (9, True)])
def test_replaces_a_static_leader_without_a_rebalance(version: int, skips: bool) -> None:
    driver = Driver()
    members = static_group(driver, "a", "b")
    old = driver.classic.leader_id
    name = next(name for name, member in members.items() if member == old)
    response = driver.join(instance=name, version=version)
    assert response.error_code is ErrorCode.none
    assert response.member_id not in members.values()
    assert response.skip_assignment is skips
    assert bool(response.members) is skips
    assert response.leader == (response.member_id if skips else old)
    assert driver.classic.state is ClassicState.STABLE
    assert driver.classic.generation_id == 1
    assert driver.kinds() == ["GroupMetadata"]
    assert driver.beat(str(old), 1, instance=name) is ErrorCode.fenced_instance_id
    assert driver.beat(response.member_id, 1, instance=name) is ErrorCode.none
    assert driver.sync(response.member_id, 1, instance=name).assignment == b"x"


def test_rebalances_if_a_static_member_comes_back_with_another_protocol() -> None:
    driver = Driver()
    static_group(driver, "a")
    token = driver.start_join(instance="a", protocols=(Protocol("sticky", subscription("foo")), *RANGE))
    assert driver.replies[token].generation_id == 2
    assert driver.replies[token].protocol_name == "sticky"


def test_fences_the_join_that_a_replaced_static_member_was_waiting_for() -> None:
    driver = Driver()
    first = driver.start_join(instance="a")
    second = driver.start_join(instance="a")
    assert driver.replies[first].error_code is ErrorCode.fenced_instance_id
    driver.advance(DELAY * 2)
    assert driver.replies[second].error_code is ErrorCode.none


def test_fences_the_sync_that_a_replaced_static_member_was_waiting_for() -> None:
    driver = Driver()
    tokens = {name: driver.start_join(instance=name) for name in "ab"}
    driver.advance(DELAY * 2)
    leader = driver.replies[tokens["a"]].leader
    follower = next(name for name in "ab" if driver.replies[tokens[name]].member_id != leader)
    waiting = driver.start_sync(driver.replies[tokens[follower]].member_id, 1, instance=follower)
    driver.start_join(instance=follower)
    assert driver.replies[waiting].error_code is ErrorCode.fenced_instance_id
    assert driver.classic.state is ClassicState.PREPARING_REBALANCE


@pytest.mark.parametrize(
    ("member", "instance", "code"),
    [
        ("right", "a", ErrorCode.none),
        ("wrong", "a", ErrorCode.fenced_instance_id),
        ("right", "b", ErrorCode.unknown_member_id),
    ],
)
def test_checks_a_static_member_that_joins_with_its_id(member: str, instance: str, code: ErrorCode) -> None:
    driver = Driver()
    members = static_group(driver, "a", "c")
    follower = next(name for name, m in members.items() if m != driver.classic.leader_id)
    name = follower if instance == "a" else instance
    response = driver.join(members[follower] if member == "right" else "wrong", instance=name)
    assert response.error_code is code


def test_refuses_a_handed_out_id_together_with_an_instance_id() -> None:
    driver = Driver()
    pending = driver.new_member_id()
    assert driver.join(pending, instance="a").error_code is ErrorCode.unknown_server_error


def test_a_join_to_one_group_leaves_others_alone() -> None:
    driver = Driver()
    driver.stable_group()
    driver.new_member_id(group="other")
    assert driver.classic.group_id == GROUP
    assert driver.classic.state is ClassicState.STABLE
