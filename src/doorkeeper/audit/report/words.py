"""What the report calls things: kinds, error codes, moments and sizes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.names import LIMITS
from doorkeeper.rules.verdict import Kind

_PLURALS: Final = {
    Kind.TOPIC_NAME: "Topic names",
    Kind.GROUP_ID: "Group ids",
    Kind.MEMBER_ID: "Group member ids",
    Kind.GROUP_INSTANCE_ID: "Group instance ids",
    Kind.CLIENT_ID: "Client ids",
    Kind.TRANSACTIONAL_ID: "Transactional ids",
    Kind.OFFSET_METADATA: "Offset commit metadata",
    Kind.RACK_ID: "Rack ids",
    Kind.RESOURCE_NAME: "Resource names",
    Kind.ACL_PRINCIPAL: "ACL principals",
    Kind.ACL_HOST: "ACL hosts",
    Kind.CONFIG_CHANGE: "Config changes",
    Kind.QUOTA_ENTITY: "Quota entities",
}
_KIBI: Final = 1024


def kind_title(kind: str) -> str:
    """The kind in the plural; one that this release does not know stays as it is."""
    return _PLURALS[Kind(kind)] if kind in set(Kind) else kind


def limit_of(kind: str) -> str:
    """The limit of a kind, as in `249 UTF-16 code units`; empty where there is none."""
    if kind not in set(Kind) or Kind(kind) not in LIMITS:
        return ""
    row = LIMITS[Kind(kind)]
    return f"limit {row.limit}"


def code_title(code: int) -> str:
    """An error code by its name and number."""
    return f"{ErrorCode(code).name} ({code})" if code in set(ErrorCode) else f"error {code}"


def moment(text: str | None) -> str:
    """An ISO 8601 time to the minute, as in `2026-11-16 04:30 UTC`; a dash where there is none."""
    if not text:
        return "–"
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return text
    return read.strftime("%Y-%m-%d %H:%M UTC")


def short_moment(text: str | None) -> str:
    """The same under a heading that says UTC."""
    return moment(text).removesuffix(" UTC")


def size(count: int) -> str:
    """Bytes in the unit that keeps the number short."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < _KIBI or unit == "TiB":
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= _KIBI
    raise AssertionError("unreachable")
