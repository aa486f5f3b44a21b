"""WriteTxnMarkers (27): a transaction's coordinator has its outcome written into partitions led here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.transactions.messages import PartitionCodes

SERVED: Final = Served(27, 1, 2, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.translation import marker_outcome_values, read_markers

    outcomes: dict[int, PartitionCodes] = {}
    for marker in read_markers(call.body):
        outcomes.setdefault(marker.producer_id, {}).update(broker.data.markers.write(marker))
    return call.answer(marker_outcome_values(outcomes))
