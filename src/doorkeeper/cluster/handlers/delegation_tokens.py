"""Delegation tokens (KIP-48) as a Kafka without `delegation.token.secret.key` answers: there are none to be had.

From KafkaApis and ControllerApis: the four APIs differ in the shape of their answers only.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.net.service import ANONYMOUS


def refuse(_role: object, call: Call) -> Any:
    """Who did not log in may not ask; who did is told that tokens are off."""
    is_known = call.principal != ANONYMOUS
    code = ErrorCode.delegation_token_auth_disabled if is_known else ErrorCode.delegation_token_request_not_allowed
    return call.refuse(code)
