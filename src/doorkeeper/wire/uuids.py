"""Kafka's text form of a UUID: 22 characters of URL-safe base64 (org.apache.kafka.common.Uuid)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from uuid import UUID, uuid4


def format_uuid(value: UUID) -> str:
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID | None:
    """The UUID that the text means, or None if it means none."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return UUID(bytes=raw) if len(raw) == 16 else None


def random_uuid(draw: Callable[[], UUID] = uuid4) -> UUID:
    """A random UUID whose text begins with no dash, which a tool would take for an option (Kafka's Uuid.randomUuid)."""
    value = draw()
    while format_uuid(value).startswith("-"):
        value = draw()
    return value
