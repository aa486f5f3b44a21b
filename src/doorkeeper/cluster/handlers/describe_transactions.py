"""DescribeTransactions (65): how far the transactions of these ids are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import response_class
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.transactions.messages import DescribedTransaction

SERVED: Final = Served(65, 0, 0, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.translation import write_describe_transactions

    described = [_describe(broker, str(one)) for one in call.body.transactional_ids]
    return write_describe_transactions(response_class(call), described)


def _describe(broker: BrokerRole, transactional_id: str) -> DescribedTransaction:
    from doorkeeper.cluster.transactions.messages import DescribedTransaction

    partition = broker.data.transactions.find(transactional_id) if transactional_id else ErrorCode.invalid_request
    if isinstance(partition, ErrorCode):
        return DescribedTransaction(transactional_id=transactional_id, error_code=partition)
    (described,) = partition.coordinator.describe_transactions((transactional_id,))
    return described
