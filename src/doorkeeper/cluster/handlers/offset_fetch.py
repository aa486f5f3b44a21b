"""OffsetFetch (9): where groups are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import context_of, each_group, response_class
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(9, 1, 10, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import OffsetFetchGroupResult
    from doorkeeper.cluster.groups.translation import read_offset_fetch, write_offset_fetch

    asked = read_offset_fetch(call.body)
    context = context_of(call)
    stable = getattr(call.body, "require_stable", False)
    by_id = {one.group_id: one for one in asked}
    results = each_group(
        broker,
        (one.group_id for one in asked),
        lambda partition, group_id: partition.coordinator.fetch_offsets(
            context, by_id[group_id], require_stable=stable
        ),
        lambda group_id, code: OffsetFetchGroupResult(group_id=group_id, error_code=code),
    )
    return write_offset_fetch(response_class(call), asked, tuple(results))
