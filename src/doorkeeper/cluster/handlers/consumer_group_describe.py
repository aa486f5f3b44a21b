"""ConsumerGroupDescribe (69): groups of the consumer protocol and their members (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import each_group, response_class, with_operations
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(69, 0, 1, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import DescribedConsumerGroup
    from doorkeeper.cluster.groups.translation import write_listing

    groups = each_group(
        broker,
        call.body.group_ids,
        lambda partition, group_id: partition.coordinator.describe_consumer_groups((group_id,))[0],
        lambda group_id, code: DescribedConsumerGroup(group_id=group_id, error_code=code),
    )
    return write_listing(response_class(call), "groups", with_operations(call, groups))
