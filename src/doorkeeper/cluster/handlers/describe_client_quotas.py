"""DescribeClientQuotas (48): at the broker's door only, as in Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(48, 0, 1, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.describe_quotas import DescribeClientQuotasRequest, describe_client_quotas

    return call.reshaped(describe_client_quotas(broker.image, reshape(call.body, DescribeClientQuotasRequest)))
