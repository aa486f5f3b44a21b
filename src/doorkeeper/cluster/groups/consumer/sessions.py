"""Deadlines of the members of a consumer group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.cluster.groups.consumer.member import ConsumerMember, MemberState
from doorkeeper.cluster.groups.timers import TimerKey, TimerKind

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step

MEMBER_TIMERS = (
    TimerKind.CONSUMER_SESSION,
    TimerKind.CONSUMER_REBALANCE,
    TimerKind.CONSUMER_JOIN,
    TimerKind.CONSUMER_SYNC,
)


def schedule_session(
    state: CoordinatorState, step: Step, group_id: str, member_id: str, timeout_ms: int | None = None
) -> None:
    """Give a member its session's time again: the group's, or that of a classic member."""
    timeout = state.configs.session_timeout_ms(group_id) if timeout_ms is None else timeout_ms
    state.timers.schedule(TimerKey(TimerKind.CONSUMER_SESSION, group_id, member_id), step.now_ms + timeout)


def follow_revocation(state: CoordinatorState, step: Step, group_id: str, member: ConsumerMember) -> None:
    """Give a member that has to let partitions go its rebalance time-out to do so; one that has done so needs none."""
    key = TimerKey(TimerKind.CONSUMER_REBALANCE, group_id, member.member_id)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        state.timers.schedule(key, step.now_ms + member.rebalance_timeout_ms, (member.member_epoch,))
    else:
        state.timers.cancel(key)


def expect_rejoin(state: CoordinatorState, step: Step, group_id: str, member: ConsumerMember) -> None:
    """A classic member was told to join again: it has its rebalance time-out to do so."""
    key = TimerKey(TimerKind.CONSUMER_JOIN, group_id, member.member_id)
    state.timers.schedule_if_absent(key, step.now_ms + member.rebalance_timeout_ms)


def cancel_member_timers(state: CoordinatorState, group_id: str, member_id: str) -> None:
    for kind in MEMBER_TIMERS:
        state.timers.cancel(TimerKey(kind, group_id, member_id))
