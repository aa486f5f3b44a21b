"""Client ids as names: in metrics, in quota entities and in paths (KIP-190).

A client id may be any string; what is made of it may not. `sanitize` and its kin give byte for byte what Kafka's
`org.apache.kafka.common.utils.Sanitizer` gives. `tests/vectors/sanitizer-*` come from that class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from doorkeeper.rules.javatext import escape_for_display, join_surrogates, parse_hex_byte

_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]*")
_SAFE_IN_JMX: Final = re.compile(r"[\w%. \t-]*", re.ASCII)
_ESCAPES: Final = re.compile(r"(?:%[^%]{2})+|%|\+")
_ENCODED_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

# What each byte of a name's UTF-8 becomes. Java's URLEncoder alone would spare `*` and make `+` of a space.
_BYTE_AS_TEXT: Final = tuple(chr(byte) if _PLAIN.fullmatch(chr(byte)) else f"%{byte:02X}" for byte in range(256))
_QUOTED: Final = str.maketrans({character: f"\\{character}" for character in '\\"*?'} | {"\n": "\\n"})


class QuotaType(StrEnum):
    """The client quotas, spelled as in metric names (org.apache.kafka.server.quota.QuotaType)."""

    PRODUCE = "Produce"
    FETCH = "Fetch"
    REQUEST = "Request"
    CONTROLLER_MUTATION = "ControllerMutation"


class ClientIdForm(StrEnum):
    """How a client id shows in an object name."""

    URL_ENCODED = "url-encoded"
    """KIP-190's own text; Doorkeeper's default."""
    QUOTED = "quoted"
    """Apache Kafka's later releases: in double quotes, where it has special characters."""


class DefaultEntity(Enum):
    """The type of `DEFAULT`, the entity that stands for all without a quota of their own."""

    DEFAULT = "<default>"


DEFAULT: Final = DefaultEntity.DEFAULT


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Whom a quota binds: a user, a client id, a user's client id, or an address. Names are as clients send them."""

    user: str | DefaultEntity | None = None
    client_id: str | DefaultEntity | None = None
    ip: str | DefaultEntity | None = None


def is_plain(name: str) -> bool:
    """Whether sanitising leaves the name as it is."""
    return _PLAIN.fullmatch(name) is not None


def needs_jmx_quoting(name: str) -> bool:
    """Whether Kafka quotes the name when it stands in a JMX object name."""
    return _SAFE_IN_JMX.fullmatch(name) is None


def sanitize(name: str) -> str:
    """The name URL-encoded, with `%20` for a space and `%2A` for `*`; a lone surrogate is `%3F`, as in Java."""
    if is_plain(name):
        return name
    return "".join(map(_BYTE_AS_TEXT.__getitem__, join_surrogates(name).encode("utf-8", "replace")))


def desanitize(text: str) -> str:
    """The name that `sanitize` made the text of (`URLDecoder.decode`).

    Escapes that are no UTF-8 give U+FFFD, as in Java; `+` gives a space.

    :raises ValueError: where Java throws: a percent sign without two hexadecimal digits after it.
    """
    return _ESCAPES.sub(_unescaped, join_surrogates(text))


def _unescaped(match: re.Match[str]) -> str:
    escapes = match[0]
    if escapes == "+":
        return " "
    octets = bytearray()
    for escape in escapes.split("%")[1:]:
        value = parse_hex_byte(escape)
        if value is None or value < 0:
            shown = escape_for_display(match.string)
            raise ValueError(f"not a sanitised name: '{shown}' has a percent sign without two hexadecimal digits")
        octets.append(value)
    # Java takes a surrogate's three bytes for one malformed character, Python for three.
    return _ENCODED_SURROGATE.sub(b"\xef\xbf\xbd", octets).decode("utf-8", "replace")


def jmx_sanitize(name: str) -> str:
    """The name, in double quotes if it has a character that JMX may trip over (`ObjectName.quote`)."""
    if not needs_jmx_quoting(name):
        return name
    return f'"{join_surrogates(name).translate(_QUOTED)}"'


def quota_metric_name(
    quota_type: QuotaType,
    user: str | None = None,
    client_id: str | None = None,
    form: ClientIdForm = ClientIdForm.URL_ENCODED,
) -> str:
    """The JMX object name of a quota's metrics, e.g. `kafka.server:type=Produce,user=alice,client-id=app%201`.

    Kafka (ClientQuotaManager, JmxReporter) always URL-encodes the user, and leaves out a tag that is empty.
    """
    encode = sanitize if form is ClientIdForm.URL_ENCODED else jmx_sanitize
    tags = ""
    if user:
        tags += f",user={sanitize(user)}"
    if client_id:
        tags += f",client-id={encode(client_id)}"
    return f"kafka.server:type={quota_type}{tags}"


def quota_entity_path(
    *,
    user: str | DefaultEntity | None = None,
    client_id: str | DefaultEntity | None = None,
    ip: str | DefaultEntity | None = None,
) -> str:
    """Where a quota is configured: `/config/users/<user>/clients/<client id>` and its like (KIP-55, KIP-257, KIP-612).

    :raises ValueError: for no entity, for an address together with another, and for an empty name, which in Kafka's
        tools means the default entity: say `DEFAULT`.
    """
    if ip is not None:
        if user is not None or client_id is not None:
            raise ValueError("a quota binds an ip alone, never together with a user or client id")
        return f"/config/ips/{_address(ip)}"
    path = "/config"
    if user is not None:
        path += f"/users/{_sanitized_entity('user', user)}"
    if client_id is not None:
        path += f"/clients/{_sanitized_entity('client id', client_id)}"
    if path == "/config":
        raise ValueError("a quota needs a user, a client id or an ip")
    return path


def _address(ip: str | DefaultEntity) -> str:
    """An address stands in a path as it is; what could be taken for another path or for the default is none."""
    if isinstance(ip, DefaultEntity):
        return ip.value
    if not ip or "/" in ip or ip == DEFAULT.value:
        raise ValueError(f"not an ip: '{escape_for_display(ip)}'")
    return ip


def _sanitized_entity(kind: str, name: str | DefaultEntity) -> str:
    if isinstance(name, DefaultEntity):
        return name.value
    if not name:
        raise ValueError(f"the {kind} of a quota is empty; the default entity is DEFAULT")
    return sanitize(name)


def parse_quota_entity_path(path: str) -> QuotaEntity:
    """The entity whose quota is configured at the path: the inverse of `quota_entity_path`.

    :raises ValueError: if the path is of no such shape or a name in it can't be decoded.
    """
    match path.split("/"):
        case ["", "config", "clients", str(client_id)] if client_id:
            return QuotaEntity(client_id=_desanitized_entity(client_id))
        case ["", "config", "users", str(user)] if user:
            return QuotaEntity(user=_desanitized_entity(user))
        case ["", "config", "users", str(user), "clients", str(client_id)] if user and client_id:
            return QuotaEntity(user=_desanitized_entity(user), client_id=_desanitized_entity(client_id))
        case ["", "config", "ips", str(ip)] if ip:
            return QuotaEntity(ip=DEFAULT if ip == DEFAULT.value else ip)
    raise ValueError(f"not a quota entity path: '{escape_for_display(path)}'")


def _desanitized_entity(text: str) -> str | DefaultEntity:
    return DEFAULT if text == DEFAULT.value else desanitize(text)
