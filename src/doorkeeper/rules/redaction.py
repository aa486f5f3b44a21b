"""Which config values may be shown: in `repr`, in dumps, in logs.

The facts about Kafka's keys say which are passwords. A key that they don't know is hidden too, as Kafka's own request
log does: it may belong to a plugin.
"""

from __future__ import annotations

import re
from typing import Final

from doorkeeper.rules.config_schema import load_schema

HIDDEN: Final = "[hidden]"
"""The word that Kafka's request log uses."""

_BROKER_LOGGER: Final = 8
_SCHEMAS: Final = {2: "topic", 4: "broker", 16: "client_metrics", 32: "group"}
"""By org.apache.kafka.common.config.ConfigResource.Type."""
_SECRET_PARTS: Final = ("password", "jaas", "secret")
_LISTENER_PREFIX: Final = re.compile(r"listener\.name\.[^.]*\.", re.DOTALL)


def is_sensitive(resource_type: int, name: str) -> bool:
    """Whether the value of this key must not be shown."""
    if resource_type == _BROKER_LOGGER:
        return False
    schema = _SCHEMAS.get(resource_type)
    if schema is None or any(part in name.lower() for part in _SECRET_PARTS):
        return True
    key = load_schema(schema).get(_LISTENER_PREFIX.sub("", name, count=1))
    return key is None or key.sensitive


def shown(resource_type: int, name: str, value: str | None) -> str | None:
    """The value, or a mask; null (a deletion) is no secret."""
    return HIDDEN if value is not None and is_sensitive(resource_type, name) else value
