"""AddOffsetsToTxn (25): a transaction will commit offsets of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.broker.internal_topics import GROUPS
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.transacted import ask_transaction_coordinator
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(25, 0, 4, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.messages import TopicPartition
    from doorkeeper.cluster.transactions.translation import read_add_offsets, write_add_offsets

    offsets = TopicPartition(GROUPS, broker.data.groups.partition_of(call.body.group_id))
    request = read_add_offsets(call.body, offsets)
    return ask_transaction_coordinator(
        broker,
        call,
        lambda coordinator, now: coordinator.add_offsets_to_txn(request, call.version, now),
        lambda code: code,
        write_add_offsets,
    )
