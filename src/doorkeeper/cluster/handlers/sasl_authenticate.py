"""SaslAuthenticate (36) where nobody is to log in any more: a login itself never comes here, see `wire.sasl_login`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.messages import SASL_AUTHENTICATE
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(SASL_AUTHENTICATE, 0, 2, frozenset(Door))
_MESSAGE: Final = "SaslAuthenticate request received after successful authentication"


def at_broker(_broker: BrokerRole, call: Call) -> Any:
    return call.refuse(ErrorCode.illegal_sasl_state, _MESSAGE)


def at_controller(_controller: ControllerRole, call: Call) -> Any:
    return call.refuse(ErrorCode.illegal_sasl_state, _MESSAGE)
