"""EndTxn (26): a producer commits or aborts its transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.transacted import ask_transaction_coordinator
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(26, 0, 5, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.messages import EndTxnResponse
    from doorkeeper.cluster.transactions.translation import read_end_txn, write_end_txn

    request = read_end_txn(call.body)
    return ask_transaction_coordinator(
        broker,
        call,
        lambda coordinator, now: coordinator.end_txn(request, call.version, now),
        lambda code: EndTxnResponse(error_code=code),
        write_end_txn,
    )
