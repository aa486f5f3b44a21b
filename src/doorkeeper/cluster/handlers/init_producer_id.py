"""InitProducerId (22): an id for an idempotent producer. From TransactionCoordinator.handleInitProducerId.

Without a transactional id there is nothing to remember: every call gets a new id.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.errors import NetworkError
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(22, 0, 5, frozenset((Door.BROKER,)))
NOBODY: Final = {"producer_id": -1, "producer_epoch": -1}


def at_broker(broker: BrokerRole, call: Call) -> Any | Awaitable[Any]:
    body = call.body
    is_half_known = (getattr(body, "producer_id", -1) == -1) != (getattr(body, "producer_epoch", -1) == -1)
    if is_half_known or body.transactional_id is not None:
        return call.answer({"error_code": ErrorCode.invalid_request, **NOBODY})
    producer_id = broker.producer_ids.take()
    return _answer_later(broker, call) if producer_id is None else _answer(call, producer_id)


async def _answer_later(broker: BrokerRole, call: Call) -> Any:
    try:
        return _answer(call, await broker.producer_ids.take_new())
    except NetworkError:
        return call.answer({"error_code": ErrorCode.coordinator_load_in_progress, **NOBODY})


def _answer(call: Call, producer_id: int) -> Any:
    return call.answer({"error_code": ErrorCode.none, "producer_id": producer_id, "producer_epoch": 0})
