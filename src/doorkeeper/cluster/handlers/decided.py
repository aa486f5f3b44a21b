"""The two usual ways of an answer: sent on to the controller by a broker, decided by the controller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from doorkeeper.cluster.controller.decision import Charge, Decision
from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.metering import now_ms
from doorkeeper.cluster.throttled_answers import with_throttle_ms

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

Asked = TypeVar("Asked")


def forward(broker: BrokerRole, call: Call) -> Awaitable[Any]:
    """At the broker's door: let the controller answer."""
    return broker.forwarder.forward(call)


async def decide_charged(
    controller: ControllerRole,
    call: Call,
    kind: type[Asked],
    strict_since: int,
    decision: Callable[[MetadataImage, Asked, Charge], Decision[Any]],
) -> Any:
    """Like `decide`, for what counts against `controller_mutation_rate`; the answer says the throttle time.

    :param strict_since: see `NodeMeter.mutation_quota`.
    """
    request = reshape(call.body, kind)
    quota = controller.meter.mutation_quota(call, strict_since)

    def charge(partitions: int) -> bool:
        return quota.charge(partitions, now_ms())

    answer = call.reshaped(await controller.decide(lambda image: decision(image, request, charge)))
    throttle_ms = quota.throttle_ms(now_ms())
    return with_throttle_ms(call.request.api_key, call.version, answer, throttle_ms) if throttle_ms else answer


async def decide(
    controller: ControllerRole,
    call: Call,
    kind: type[Asked],
    decision: Callable[[MetadataImage, Asked], Decision[Any]],
) -> Any:
    """At the controller's door: decide, write, then answer in the version asked."""
    request = reshape(call.body, kind)
    return call.reshaped(await controller.decide(lambda image: decision(image, request)))
