"""AlterClientQuotas (49): quotas of users, client ids and addresses (KIP-546)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide, forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(49, 0, 1, frozenset(Door))
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.quotas import AlterClientQuotasRequest, decide_alter_client_quotas

    return await decide(controller, call, AlterClientQuotasRequest, decide_alter_client_quotas)
