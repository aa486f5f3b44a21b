"""DescribeAcls (29)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(29, 1, 3, frozenset(Door))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.acls import AclFilter, describe_acls

    return call.reshaped(describe_acls(broker.image, reshape(call.body, AclFilter)))


def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.acls import AclFilter, describe_acls

    return call.reshaped(describe_acls(controller.image, reshape(call.body, AclFilter)))
