"""AlterUserScramCredentials (51): passwords of users, salted (KIP-554)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide, forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(51, 0, 0, frozenset(Door))
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.scram import (
        AlterUserScramCredentialsRequest,
        decide_alter_user_scram_credentials,
    )

    return await decide(controller, call, AlterUserScramCredentialsRequest, decide_alter_user_scram_credentials)
