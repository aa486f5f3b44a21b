"""DeleteAcls (31): stored, like all ACLs here; nobody is refused by them yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide, forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(31, 1, 3, frozenset(Door))
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.acls import DeleteAclsRequest, decide_delete_acls

    return await decide(controller, call, DeleteAclsRequest, decide_delete_acls)
