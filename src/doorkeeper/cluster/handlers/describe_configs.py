"""DescribeConfigs (32): every config of a resource, where its value comes from, and what stands behind it (KIP-226)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(32, 1, 4, frozenset(Door))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    return _answer(broker, call)


def at_controller(controller: ControllerRole, call: Call) -> Any:
    return _answer(controller, call)


def _answer(role: BrokerRole | ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.describe import DescribeConfigsRequest, DescribingNode, describe_configs

    node = DescribingNode(role.node_id, role.config.shown_static, role.loggers.levels())
    return call.reshaped(describe_configs(role.image, reshape(call.body, DescribeConfigsRequest), node))
