"""Error codes as kio's writer wants them: members of an enumeration, written by their `value`."""

from __future__ import annotations

from functools import cache
from typing import Any

from kio.schema.errors import ErrorCode as KioErrorCode

from doorkeeper.rules.codes import ErrorCode


@cache
def wire_code(code: int) -> Any:
    """The code to put into a response: kio's member, or ours for a code that kio does not know (KIP-1233's).

    :raises ValueError: for a number that is nobody's code.
    """
    try:
        return KioErrorCode(code)
    except ValueError:
        return ErrorCode(code)
