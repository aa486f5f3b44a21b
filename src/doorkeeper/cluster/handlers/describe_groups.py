"""DescribeGroups (15): classic groups and their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import context_of, each_group, response_class, with_operations
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(15, 0, 6, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import DescribedGroup
    from doorkeeper.cluster.groups.translation import write_listing

    context = context_of(call)
    groups = each_group(
        broker,
        call.body.groups,
        lambda partition, group_id: partition.coordinator.describe_groups(context, (group_id,))[0],
        lambda group_id, code: DescribedGroup(group_id=group_id, error_code=code),
    )
    return write_listing(response_class(call), "groups", with_operations(call, groups))
