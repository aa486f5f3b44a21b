"""Subscriptions by pattern, in RE2 syntax (KIP-848), resolved between requests.

A pattern is checked when a member brings it. Which topics it matches is found out in a job of its own, as Kafka does on
a background thread, so a heartbeat never pays for a scan of all topics. RE2 runs in linear time: no pattern of a client
can hold up the broker, which Python's own `re` could not promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

import re2
from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.consumer.group import ConsumerGroup, ResolvedRegex
from doorkeeper.cluster.groups.consumer.records import epoch_record, regex_record, regex_tombstone
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.cluster.groups.timers import TimerKey, TimerKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.cluster.groups.consumer.member import ConsumerMember
    from doorkeeper.cluster.groups.messages import RequestContext
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step

MIN_REFRESH_INTERVAL_MS: Final = 10_000  # Kafka's REGEX_BATCH_REFRESH_MIN_INTERVAL_MS
METADATA_REFRESH_INTERVAL_MS: Final = 2**31 - 1


def _quiet_options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS: Final = _quiet_options()


class RegexChange(Enum):
    """What a heartbeat does to the patterns of a group."""

    NONE = auto()
    UPDATED = auto()
    """Another pattern, whose topics are not known yet."""
    UPDATED_AND_RESOLVED = auto()
    """Another pattern, or none any more, and its topics are known."""


@dataclass(frozen=True, slots=True)
class RegexJob:
    """Patterns of a group that are to be resolved, for a member that may see only some topics."""

    regexes: frozenset[str]
    may_describe: Callable[[str], bool] | None


def require_regex(regex: str) -> None:
    """Refuse a pattern that is no RE2."""
    try:
        re2.compile(regex, _OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else ""
        raise GroupRefusedError(
            ErrorCode.invalid_regular_expression,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}.",
        ) from None


def update_regexes(
    state: CoordinatorState,
    step: Step,
    context: RequestContext,
    group: ConsumerGroup,
    old: ConsumerMember,
    new: ConsumerMember,
) -> RegexChange:
    """Note a change of pattern, and arrange a job if patterns have to be resolved (again)."""
    change = RegexChange.NONE
    must_refresh = False
    if old.subscribed_topic_regex != new.subscribed_topic_regex:
        change = RegexChange.UPDATED
        if old.regex is not None and group.regex_counts[old.regex] == 1:
            step.write(regex_tombstone(group.group_id, old.regex))
        if new.regex is not None and group.regex_counts[new.regex] == 0:
            require_regex(new.regex)
            must_refresh = True
        elif new.regex is None or new.regex in group.resolved:
            change = RegexChange.UPDATED_AND_RESOLVED if new.regex or old.regex else RegexChange.UPDATED
    if must_refresh or group.regex_counts:
        regexes = group.regex_counts_after(old, new)
        _schedule_job(state, step, context, group, regexes, must_refresh)
    return change


def _schedule_job(
    state: CoordinatorState,
    step: Step,
    context: RequestContext,
    group: ConsumerGroup,
    regexes: Counter[str],
    must_refresh: bool,
) -> None:
    key = TimerKey(TimerKind.REGEX, group.group_id)
    newest = next(iter(group.resolved.values()), None)
    if not regexes or state.timers.is_scheduled(key):
        return
    if newest is not None:
        if step.now_ms <= newest.timestamp_ms + MIN_REFRESH_INTERVAL_MS:
            return
        must_refresh = must_refresh or newest.version < state.newest_topics_version
        interval = state.settings.consumer_regex_refresh_interval_ms
        must_refresh = must_refresh or step.now_ms > newest.timestamp_ms + interval
    if must_refresh or len(regexes) != len(group.resolved):
        state.regex_jobs[group.group_id] = RegexJob(frozenset(regexes), context.may_describe)
        state.timers.schedule(key, step.now_ms)


def resolve(
    regexes: Iterable[str], names: Iterable[str], may_describe: Callable[[str], bool] | None
) -> dict[str, set[str]]:
    """The topics that each pattern matches as a whole, of those that the member may see."""
    visible = [name for name in names if may_describe is None or may_describe(name)]
    matches: dict[str, set[str]] = {}
    for regex in regexes:
        pattern = re2.compile(regex, _OPTIONS)
        matches[regex] = {name for name in visible if pattern.fullmatch(name) is not None}
    return matches


def run_regex_job(state: CoordinatorState, step: Step, group_id: str) -> None:
    """Resolve what a group is waiting for; other topics than before raise the group epoch."""
    job = state.regex_jobs.pop(group_id, None)
    group = state.groups.get(group_id)
    if job is None or not isinstance(group, ConsumerGroup):
        return
    wanted = sorted(regex for regex in job.regexes if group.regex_counts[regex] > 0)
    topics = set(group.name_counts)
    changed = False
    for regex, matched in resolve(wanted, state.topics.topics, job.may_describe).items():
        resolved = ResolvedRegex(frozenset(matched), state.topics.version, step.now_ms)
        previous = group.resolved.get(regex)
        changed = changed or resolved.topics != (previous.topics if previous is not None else frozenset())
        topics |= resolved.topics
        step.write(regex_record(group_id, regex, resolved))
    for regex, kept in group.resolved.items():
        if regex not in wanted:
            topics |= kept.topics
    metadata_hash = state.topics.metadata_hash(topics)
    if changed or metadata_hash != group.metadata_hash:
        epoch = group.group_epoch + 1
        step.write(epoch_record(group_id, epoch, metadata_hash))
        group.metadata_refresh_ms = step.now_ms + METADATA_REFRESH_INTERVAL_MS
        group.metadata_refresh_epoch = epoch
