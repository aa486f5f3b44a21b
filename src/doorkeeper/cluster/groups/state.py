"""All that one coordinator holds in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.offset_store import OffsetStore
from doorkeeper.cluster.groups.settings import GroupConfigs, GroupSettings
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.cluster.groups.timers import Timers
from doorkeeper.cluster.groups.topics import TopicsView

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.consumer.regexes import RegexJob

Group: TypeAlias = ClassicGroup | ConsumerGroup


@dataclass(slots=True)
class CoordinatorState:
    """Groups and offsets, which the log brings back, and deadlines and jobs, which it does not."""

    new_member_id: Callable[[], str]
    configs: GroupConfigs = field(default_factory=GroupConfigs)
    topics: TopicsView = field(default_factory=TopicsView)
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    timers: Timers = field(default_factory=Timers)
    regex_jobs: dict[str, RegexJob] = field(default_factory=dict)
    newest_topics_version: int = -1
    """The version of the metadata that last brought a topic that was not there before."""

    @property
    def settings(self) -> GroupSettings:
        return self.configs.settings

    def require_group(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            raise GroupRefusedError(ErrorCode.group_id_not_found, f"Group {group_id} not found.")
        return group

    def require_consumer_group(self, group_id: str) -> ConsumerGroup:
        group = self.require_group(group_id)
        if not isinstance(group, ConsumerGroup):
            raise GroupRefusedError(ErrorCode.group_id_not_found, f"Group {group_id} is not a consumer group.")
        return group

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def create_classic_group(self, group_id: str, now_ms: int) -> ClassicGroup:
        group = ClassicGroup(group_id, state_since_ms=now_ms)
        self.groups[group_id] = group
        return group
