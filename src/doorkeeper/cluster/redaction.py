"""Which config values may be shown: in `repr`, in dumps, in logs.

A key is hidden if its name smells of a secret, or if it is a broker key that nobody has declared (Kafka, too, treats
those as sensitive, since they may belong to a plugin).
"""

from __future__ import annotations

from typing import Final

HIDDEN: Final = "[hidden]"
"""The word that Kafka's request log uses."""

_SECRET_PARTS: Final = ("password", "jaas", "secret", "credential", "token", "key.pem", "keystore.key")


def is_sensitive(resource_type: int, name: str) -> bool:
    """Whether the value of this key must not be shown."""
    lowered = name.lower()
    return any(part in lowered for part in _SECRET_PARTS)


def shown(resource_type: int, name: str, value: str | None) -> str | None:
    """The value, or a mask; null (a deletion) is no secret."""
    return HIDDEN if value is not None and is_sensitive(resource_type, name) else value
