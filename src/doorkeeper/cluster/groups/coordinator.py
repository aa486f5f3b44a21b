"""The group coordinator: the one entry to this package.

One coordinator serves the groups of one partition of `__consumer_offsets`. It does no I/O and has no clock: requests
come with the time and with a token; answers come back in decisions, with the token of the request that they answer, at
once or when somebody else's request or a deadline brings them about. See `Decision` for what the owner does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups import descriptions, offset_removal, offsets
from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicState
from doorkeeper.cluster.groups.classic.join import Joining, join_classic_group
from doorkeeper.cluster.groups.classic.membership import heartbeat_to_classic_group, leave_classic_group
from doorkeeper.cluster.groups.classic.rebalance import (
    complete_join,
    expire_heartbeat,
    expire_initial_join,
    expire_sync,
    prepare_rebalance,
    schedule_heartbeat,
)
from doorkeeper.cluster.groups.classic.sync import sync_classic_group
from doorkeeper.cluster.groups.consumer.classic_members import (
    heartbeat_to_consumer_group,
    join_consumer_group,
    leave_consumer_group,
    sync_consumer_group,
)
from doorkeeper.cluster.groups.consumer.fencing import fence_by_timer, leave
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.heartbeat import heartbeat, require_lawful_heartbeat
from doorkeeper.cluster.groups.consumer.member import LEAVE_EPOCH, LEAVE_STATIC_EPOCH, MemberState
from doorkeeper.cluster.groups.consumer.regexes import run_regex_job
from doorkeeper.cluster.groups.consumer.sessions import follow_revocation, schedule_session
from doorkeeper.cluster.groups.messages import (
    NONE,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeletedGroup,
    DescribedConsumerGroup,
    DescribedGroup,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedGroup,
    MemberResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchGroup,
    OffsetFetchGroupResult,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
)
from doorkeeper.cluster.groups.offset_store import NO_PRODUCER_ID
from doorkeeper.cluster.groups.replay import replay_record
from doorkeeper.cluster.groups.settings import GroupConfigs
from doorkeeper.cluster.groups.state import CoordinatorState
from doorkeeper.cluster.groups.step import Decision, GroupRefusedError, Producer, Step
from doorkeeper.cluster.groups.timers import Due, TimerKey, TimerKind
from doorkeeper.cluster.groups.topics import TopicsView

if TYPE_CHECKING:
    from doorkeeper.wire.coordinator_records import CoordinatorRecord

CLEANUP: Final = TimerKey(TimerKind.CLEANUP)


class GroupCoordinator:
    """The groups and offsets of one partition."""

    def __init__(
        self,
        *,
        new_member_id: Callable[[], str],
        configs: GroupConfigs | None = None,
        topics: TopicsView | None = None,
    ) -> None:
        self.state = CoordinatorState(new_member_id, configs or GroupConfigs(), topics or TopicsView())
        self.state.newest_topics_version = self.state.topics.version
        self._next_offset = 0

    # --- loading, and the world around ---

    def replay(self, record: CoordinatorRecord, record_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take in a record of the log, before `loaded`."""
        replay_record(self.state, record, record_offset, producer_id)
        self._next_offset = record_offset + 1

    def loaded(self, now_ms: int) -> Decision:
        """The log is read: start the deadlines of all members, who may have been without us for a while."""
        step = Step(now_ms)
        for group in list(self.state.groups.values()):
            if isinstance(group, ConsumerGroup):
                self._start_consumer_deadlines(step, group)
                continue
            for member in group.members.values():
                schedule_heartbeat(self.state, step, group, member)
            if len(group.members) > self.state.settings.classic_max_size:
                prepare_rebalance(self.state, step, group)
        self._schedule_cleanup(now_ms)
        return self._finish(step)

    def _start_consumer_deadlines(self, step: Step, group: ConsumerGroup) -> None:
        for member in group.members.values():
            timeout = None if member.classic is None else member.classic.session_timeout_ms
            schedule_session(self.state, step, group.group_id, member.member_id, timeout)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                follow_revocation(self.state, step, group.group_id, member)

    def close(self, now_ms: int) -> Decision:
        """This broker no longer keeps the groups: send everybody who waits to find the one that does.

        Nobody should ask a closed coordinator. A classic request that does all the same is answered
        COORDINATOR_NOT_AVAILABLE, so that it does not wait for ever.
        """
        step = Step(now_ms)
        for group in self.state.groups.values():
            if isinstance(group, ClassicGroup):
                group.answer_all(step, ErrorCode.not_coordinator)
                group.transition_to(ClassicState.DEAD, now_ms)
        return self._finish(step)

    def set_configs(self, configs: GroupConfigs) -> None:
        """Other settings, from the next request on."""
        self.state.configs = configs

    def update_topics(self, topics: TopicsView, now_ms: int) -> Decision:
        """Topics came, went or grew: groups that read them look again, and offsets of deleted ones go."""
        before, self.state.topics = self.state.topics, topics
        step = Step(now_ms)
        if topics.topics.keys() - before.topics.keys() or any(
            topics.topics[name].topic_id != topic.topic_id
            for name, topic in before.topics.items()
            if name in topics.topics
        ):
            self.state.newest_topics_version = topics.version
        changed = {name for name, topic in before.topics.items() if topics.by_name(name) != topic}
        changed |= topics.topics.keys() - before.topics.keys()
        for group in self.state.groups.values():
            if isinstance(group, ConsumerGroup) and any(group.is_subscribed_to(name) for name in changed):
                group.metadata_refresh_ms = 0
                group.metadata_refresh_epoch = 0
        for name in sorted(changed):
            gone = before.by_name(name)
            if gone is not None and topics.by_id(gone.topic_id) is None:
                offset_removal.forget_topic(self.state, step, name, gone.topic_id)
        return self._finish(step)

    # --- classic membership ---

    def join_group(self, context: RequestContext, request: JoinGroupRequest, token: object, now_ms: int) -> Decision:
        """Answered now, or when the group's join phase ends."""
        step = Step(now_ms)
        code = self._join_code(request)
        group = self.state.groups.get(request.group_id)
        if code is not NONE:
            step.reply(token, JoinGroupResponse(member_id=request.member_id, error_code=code))
        elif isinstance(group, ConsumerGroup) and not group.is_empty:
            self._answer(
                step,
                token,
                lambda: join_consumer_group(self.state, step, context, request, group),
                lambda refusal: JoinGroupResponse(error_code=refusal.code),
            )
        else:
            join_classic_group(Joining(self.state, step, context, request, token))
        return self._finish(step)

    def _join_code(self, request: JoinGroupRequest) -> ErrorCode:
        settings = self.state.settings
        if not request.group_id:
            return ErrorCode.invalid_group_id
        lawful = range(settings.classic_min_session_timeout_ms, settings.classic_max_session_timeout_ms + 1)
        return NONE if request.session_timeout_ms in lawful else ErrorCode.invalid_session_timeout

    def sync_group(self, request: SyncGroupRequest, token: object, now_ms: int) -> Decision:
        """Answered now, or when the leader has synced."""
        step = Step(now_ms)
        try:
            self._sync(step, request, token)
        except GroupRefusedError as refusal:
            step.reply(token, SyncGroupResponse(error_code=refusal.code))
        return self._finish(step)

    def _sync(self, step: Step, request: SyncGroupRequest, token: object) -> None:
        if not request.group_id:
            raise GroupRefusedError(ErrorCode.invalid_group_id)
        group = self.state.groups.get(request.group_id)
        if group is None or group.is_empty:
            raise GroupRefusedError(ErrorCode.unknown_member_id)
        if isinstance(group, ConsumerGroup):
            step.reply(token, sync_consumer_group(self.state, step, group, request))
        else:
            sync_classic_group(self.state, step, group, request, token)

    def heartbeat(self, request: HeartbeatRequest, token: object, now_ms: int) -> Decision:
        step = Step(now_ms)

        def decide() -> HeartbeatResponse:
            if not request.group_id:
                raise GroupRefusedError(ErrorCode.invalid_group_id)
            group = self.state.groups.get(request.group_id)
            if group is None:
                raise GroupRefusedError(ErrorCode.unknown_member_id, f"Group {request.group_id} not found.")
            if isinstance(group, ConsumerGroup):
                code = heartbeat_to_consumer_group(self.state, step, group, request)
            else:
                code = heartbeat_to_classic_group(self.state, step, group, request)
            return HeartbeatResponse(error_code=code)

        self._answer(step, token, decide, lambda refusal: HeartbeatResponse(error_code=refusal.code))
        return self._finish(step)

    def leave_group(self, request: LeaveGroupRequest, token: object, now_ms: int) -> Decision:
        step = Step(now_ms)
        group = self.state.groups.get(request.group_id)
        if not request.group_id:
            response = LeaveGroupResponse(error_code=ErrorCode.invalid_group_id)
        elif isinstance(group, ConsumerGroup):
            response = leave_consumer_group(self.state, step, group, request)
        elif group is not None:
            response = leave_classic_group(self.state, step, group, request)
        else:
            unknown = ErrorCode.unknown_member_id
            members = (
                MemberResponse(member_id=m.member_id, group_instance_id=m.group_instance_id, error_code=unknown)
                for m in request.members
            )
            response = LeaveGroupResponse(members=tuple(members))
        step.reply(token, response)
        return self._finish(step)

    # --- the consumer protocol ---

    def consumer_group_heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest, token: object, now_ms: int
    ) -> Decision:
        step = Step(now_ms)

        def decide() -> ConsumerGroupHeartbeatResponse:
            require_lawful_heartbeat(self.state, context, request)
            if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
                return leave(self.state, step, request)
            return heartbeat(self.state, step, context, request)

        self._answer(
            step,
            token,
            decide,
            lambda refusal: ConsumerGroupHeartbeatResponse(error_code=refusal.code, error_message=refusal.message),
        )
        return self._finish(step)

    # --- offsets ---

    def commit_offsets(
        self, context: RequestContext, request: OffsetCommitRequest, token: object, now_ms: int
    ) -> Decision:
        step = Step(now_ms)
        step.reply(token, offsets.commit_offsets(self.state, step, context, request))
        return self._finish(step)

    def commit_transactional_offsets(
        self, context: RequestContext, request: TxnOffsetCommitRequest, token: object, now_ms: int
    ) -> Decision:
        """The records of the decision belong into a batch of its producer's transaction."""
        step = Step(now_ms)
        step.reply(token, offsets.commit_transactional_offsets(self.state, step, context, request))
        return self._finish(step, Producer(request.producer_id, request.producer_epoch))

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a transaction is in the log; while loading, and afterwards."""
        self.state.offsets.end_transaction(producer_id, commit=commit)
        self._next_offset += 1

    def fetch_offsets(
        self, context: RequestContext, request: OffsetFetchGroup, *, require_stable: bool
    ) -> OffsetFetchGroupResult:
        try:
            return offsets.fetch_offsets(self.state, context, request, require_stable=require_stable)
        except GroupRefusedError as refusal:
            return OffsetFetchGroupResult(group_id=request.group_id, error_code=refusal.code)

    def delete_offsets(self, request: OffsetDeleteRequest, token: object, now_ms: int) -> Decision:
        step = Step(now_ms)

        def decide() -> OffsetDeleteResponse:
            if not request.group_id:
                raise GroupRefusedError(ErrorCode.invalid_group_id)
            return offset_removal.delete_offsets(self.state, step, request)

        self._answer(step, token, decide, lambda refusal: OffsetDeleteResponse(error_code=refusal.code))
        return self._finish(step)

    # --- groups as things ---

    def list_groups(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[ListedGroup]:
        return descriptions.list_groups(self.state, states, types)

    def describe_groups(self, context: RequestContext, group_ids: Iterable[str]) -> list[DescribedGroup]:
        return descriptions.describe_groups(self.state, context, group_ids)

    def describe_consumer_groups(self, group_ids: Iterable[str]) -> list[DescribedConsumerGroup]:
        return descriptions.describe_consumer_groups(self.state, group_ids)

    def delete_groups(self, group_ids: Iterable[str], token: object, now_ms: int) -> Decision:
        """Answered with a list of DeletedGroup."""
        step = Step(now_ms)
        step.reply(token, [self._delete_group(step, group_id) for group_id in dict.fromkeys(group_ids)])
        return self._finish(step)

    def _delete_group(self, step: Step, group_id: str) -> DeletedGroup:
        group = self.state.groups.get(group_id)
        if group is None:
            return DeletedGroup(group_id, ErrorCode.group_id_not_found)
        if not group.is_empty:
            return DeletedGroup(group_id, ErrorCode.non_empty_group)
        for topic, partition in self.state.offsets.partitions_of(group_id):
            step.write(offset_removal.offset_tombstone(group_id, topic, partition))
        offset_removal.end_group(self.state, step, group)
        return DeletedGroup(group_id)

    # --- time ---

    def next_deadline(self) -> int | None:
        """When `expire` has something to do; it may be now. None: not before another request."""
        return self.state.timers.next_deadline()

    def expire(self, now_ms: int) -> Decision:
        """Do everything whose deadline is not later than now."""
        records: list[CoordinatorRecord] = []
        replies: list[Any] = []
        while (due := self.state.timers.pop_due(now_ms)) is not None:
            step = Step(now_ms)
            self._expire(step, due)
            decision = self._finish(step)
            records.extend(decision.records)
            replies.extend(decision.replies)
        return Decision(tuple(records), tuple(replies))

    def _expire(self, step: Step, due: Due) -> None:
        kind, group_id, member_id = due.key
        if kind is TimerKind.CLEANUP:
            offset_removal.expire_offsets(self.state, step)
            self._schedule_cleanup(step.now_ms)
        elif kind is TimerKind.REGEX:
            run_regex_job(self.state, step, group_id)
        elif kind in (TimerKind.CONSUMER_SESSION, TimerKind.CONSUMER_JOIN, TimerKind.CONSUMER_SYNC):
            fence_by_timer(self.state, step, group_id, member_id)
        elif kind is TimerKind.CONSUMER_REBALANCE:
            fence_by_timer(self.state, step, group_id, member_id, due.detail[0])
        else:
            group = self.state.classic_group(group_id)
            if group is not None:
                self._expire_classic(step, group, due)

    def _expire_classic(self, step: Step, group: ClassicGroup, due: Due) -> None:
        joining = group.is_in(ClassicState.PREPARING_REBALANCE)
        match due.key.kind:
            case TimerKind.CLASSIC_HEARTBEAT:
                expire_heartbeat(self.state, step, group, due.key.member_id)
            case TimerKind.CLASSIC_SYNC:
                expire_sync(self.state, step, group, due.detail[0])
            case TimerKind.CLASSIC_JOIN if joining:
                complete_join(self.state, step, group)
            case TimerKind.CLASSIC_INITIAL_JOIN if joining:
                delay_ms, remaining_ms = due.detail
                expire_initial_join(self.state, step, group, delay_ms, remaining_ms)

    def _schedule_cleanup(self, now_ms: int) -> None:
        self.state.timers.schedule(CLEANUP, now_ms + self.state.settings.offsets_retention_check_interval_ms)

    # --- steps ---

    @staticmethod
    def _answer(
        step: Step, token: object, decide: Callable[[], Any], refused: Callable[[GroupRefusedError], Any]
    ) -> None:
        """Reply with what is decided; a refusal leaves nothing written."""
        try:
            step.reply(token, decide())
        except GroupRefusedError as refusal:
            step.forget_records()
            step.reply(token, refused(refusal))

    def _finish(self, step: Step, producer: Producer | None = None) -> Decision:
        """Replay what was decided, as the log would."""
        producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
        for record in step.to_replay:
            replay_record(self.state, record, self._next_offset, producer_id)
            self._next_offset += 1
        self._next_offset += len(step.records) - len(step.to_replay)
        return Decision(tuple(step.records), tuple(step.replies), producer if step.records else None)
