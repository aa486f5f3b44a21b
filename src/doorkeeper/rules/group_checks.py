"""How a node's group and share-group settings must stand to one another.

Sources: the constructor of `GroupCoordinatorConfig`, `ShareGroupConfig.validate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.static_config import Check, View
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARE_ASSIGNORS: Final = "group.share.assignors"


def _at_least(greater: str, lesser: str) -> Check:
    message = f"{greater} must be greater than or equal to {lesser}"

    def judge(view: View) -> str | None:
        return None if view.integer(greater) >= view.integer(lesser) else message

    return Check(RuleId.CONFIG_GROUP_BOUNDS, frozenset((greater, lesser)), judge)


def _at_most(lesser: str, greater: str) -> Check:
    message = f"{lesser} must be less than or equal to {greater}"

    def judge(view: View) -> str | None:
        return None if view.integer(lesser) <= view.integer(greater) else message

    return Check(RuleId.CONFIG_GROUP_BOUNDS, frozenset((greater, lesser)), judge)


def _less_than(lesser: str, greater: str) -> Check:
    message = f"{lesser} must be less than {greater}"

    def judge(view: View) -> str | None:
        return None if view.integer(lesser) < view.integer(greater) else message

    return Check(RuleId.CONFIG_GROUP_BOUNDS, frozenset((greater, lesser)), judge)


def _within(kind: str, what: str) -> Iterator[Check]:
    least, value, most = (f"group.{kind}.{bound}{what}" for bound in ("min.", "", "max."))
    yield _at_least(most, least)
    yield _at_least(value, least)
    yield _at_most(value, most)


def _one_share_assignor(view: View) -> str | None:
    found = len(view.items(SHARE_ASSIGNORS))
    return None if found == 1 else f"{SHARE_ASSIGNORS} must contain exactly one assignor, but found {found}"


def _time_outs(kind: str) -> Iterator[Check]:
    yield from _within(kind, "heartbeat.interval.ms")
    yield from _within(kind, "session.timeout.ms")
    yield _less_than(f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms")


def _group_coordinator() -> Iterator[Check]:
    for kind in ("consumer", "share", "streams"):
        yield from _time_outs(kind)
        if kind == "share":
            yield Check(RuleId.CONFIG_GROUP_BOUNDS, frozenset((SHARE_ASSIGNORS,)), _one_share_assignor)
        yield from _within(kind, "assignment.interval.ms")
    yield _at_most("group.streams.num.standby.replicas", "group.streams.max.standby.replicas")


def _share_groups() -> Iterator[Check]:
    yield _at_least("group.share.max.delivery.count.limit", "group.share.delivery.count.limit")
    yield _at_least("group.share.delivery.count.limit", "group.share.min.delivery.count.limit")
    yield _at_least("group.share.max.partition.max.record.locks", "group.share.partition.max.record.locks")
    yield _at_least("group.share.partition.max.record.locks", "group.share.min.partition.max.record.locks")
    yield _at_least("group.share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms")
    yield _at_least("group.share.max.record.lock.duration.ms", "group.share.record.lock.duration.ms")
    yield _at_least("group.share.max.share.sessions", "group.share.max.size")


GROUP_CHECKS: Final = (*_group_coordinator(), *_share_groups())
"""In Kafka's order."""
