"""ListTransactions (66): the transactional ids that this broker coordinates, as the filters say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import now_ms
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import response_class
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(66, 0, 2, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.descriptions import list_transactions
    from doorkeeper.cluster.transactions.messages import ListTransactionsResponse
    from doorkeeper.cluster.transactions.translation import read_list_transactions, write_list_transactions

    request = read_list_transactions(call.body)
    partitions = list(broker.data.transactions)
    if any(one.check_ready() is not ErrorCode.none for one in partitions):
        refused = ListTransactionsResponse(error_code=ErrorCode.coordinator_load_in_progress)
        return write_list_transactions(response_class(call), refused)
    listed = list_transactions((one.coordinator.state for one in partitions), request, now_ms())
    return write_list_transactions(response_class(call), listed)
