"""CreateDelegationToken (38): refused, see `delegation_tokens`."""

from __future__ import annotations

from typing import Final

from doorkeeper.cluster.handlers.delegation_tokens import refuse
from doorkeeper.wire.registry import Door, Served

SERVED: Final = Served(38, 1, 3, frozenset(Door))
at_broker: Final = refuse
at_controller: Final = refuse
