"""AddPartitionsToTxn (24): what a transaction will write to. From version 4 on it is brokers that ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import response_class
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(24, 0, 5, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.translation import read_add_partitions, write_add_partitions

    results = [
        (one.transactional_id, broker.data.transactions.add_partitions(one, call.version))
        for one in read_add_partitions(call.body)
    ]
    return write_add_partitions(response_class(call), results)
