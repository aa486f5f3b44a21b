"""DescribeUserScramCredentials (50): who has which mechanism; never a secret (KIP-554)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(50, 0, 0, frozenset(Door))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.scram import DescribeUserScramCredentialsRequest, describe_user_scram_credentials

    return call.reshaped(
        describe_user_scram_credentials(broker.image, reshape(call.body, DescribeUserScramCredentialsRequest))
    )


def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.scram import DescribeUserScramCredentialsRequest, describe_user_scram_credentials

    return call.reshaped(
        describe_user_scram_credentials(controller.image, reshape(call.body, DescribeUserScramCredentialsRequest))
    )
