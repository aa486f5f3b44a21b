"""The two usual ways of an answer: sent on to the controller by a broker, decided by the controller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.image.metadata import MetadataImage

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

Asked = TypeVar("Asked")


def forward(broker: BrokerRole, call: Call) -> Awaitable[Any]:
    """At the broker's door: let the controller answer."""
    return broker.forwarder.forward(call)


async def decide(
    controller: ControllerRole,
    call: Call,
    kind: type[Asked],
    decision: Callable[[MetadataImage, Asked], Decision[Any]],
) -> Any:
    """At the controller's door: decide, write, then answer in the version asked."""
    request = reshape(call.body, kind)
    return call.reshaped(await controller.decide(lambda image: decision(image, request)))
