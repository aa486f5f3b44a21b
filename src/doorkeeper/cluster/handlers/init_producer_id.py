"""InitProducerId (22): an id and an epoch for a producer. From TransactionCoordinator.handleInitProducerId.

Without a transactional id there is nothing to remember: every call gets a new id. With one, the coordinator of the id
knows who its producer is, and fences the one before.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import response_class
from doorkeeper.cluster.handlers.transacted import ask_transaction_coordinator
from doorkeeper.errors import NetworkError
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(22, 0, 6, frozenset((Door.BROKER,)))
NOBODY: Final = {"producer_id": -1, "producer_epoch": -1}


def at_broker(broker: BrokerRole, call: Call) -> Any | Awaitable[Any]:
    if broker.producer_ids.is_empty:
        return _answer_later(broker, call)
    return _answer(broker, call)


async def _answer_later(broker: BrokerRole, call: Call) -> Any:
    try:
        await broker.producer_ids.refill()
    except NetworkError:
        return call.answer({"error_code": ErrorCode.coordinator_load_in_progress, **NOBODY})
    return _answer(broker, call)


def _answer(broker: BrokerRole, call: Call) -> Any:
    return _init_idempotent(broker, call) if call.body.transactional_id is None else _init_transactional(broker, call)


def _init_idempotent(broker: BrokerRole, call: Call) -> Any:
    body = call.body
    is_half_known = (getattr(body, "producer_id", -1) == -1) != (getattr(body, "producer_epoch", -1) == -1)
    if is_half_known:
        return call.answer({"error_code": ErrorCode.invalid_request, **NOBODY})
    producer_id = broker.producer_ids.take()
    if producer_id is None:
        return call.answer({"error_code": ErrorCode.coordinator_load_in_progress, **NOBODY})
    return call.answer({"error_code": ErrorCode.none, "producer_id": producer_id, "producer_epoch": 0})


def _init_transactional(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.transactions.messages import InitProducerIdResponse
    from doorkeeper.cluster.transactions.producers import check_init_producer_id
    from doorkeeper.cluster.transactions.translation import read_init_producer_id, write_init_producer_id

    request = read_init_producer_id(call.body)
    code = check_init_producer_id(broker.data.transactions.settings(), request)
    if code is not ErrorCode.none:
        return write_init_producer_id(response_class(call), InitProducerIdResponse(error_code=code))
    return ask_transaction_coordinator(
        broker,
        call,
        lambda coordinator, now: coordinator.init_producer_id(request, call.version, now),
        lambda code: InitProducerIdResponse(error_code=code),
        write_init_producer_id,
    )
