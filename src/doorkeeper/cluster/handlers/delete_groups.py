"""DeleteGroups (42): groups without members go, with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import each_group, response_class
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.group_partition import GroupPartition
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(42, 0, 2, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import DeletedGroup
    from doorkeeper.cluster.groups.translation import write_listing

    def delete(partition: GroupPartition, group_id: str) -> DeletedGroup:
        outcome = partition.submit(lambda coordinator, token, now: coordinator.delete_groups((group_id,), token, now))
        return DeletedGroup(group_id, outcome) if isinstance(outcome, ErrorCode) else outcome[0]

    results = each_group(broker, dict.fromkeys(call.body.groups_names), delete, DeletedGroup)
    return write_listing(response_class(call), "results", results)
