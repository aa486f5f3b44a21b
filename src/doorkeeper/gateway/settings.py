"""What a gateway is to be. `settings_of` reads it from the options of `doorkeeper gateway` and its YAML file alike."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from doorkeeper.errors import InputError
from doorkeeper.gateway.addresses import Address
from doorkeeper.gateway.limits import GatewayLimits
from doorkeeper.gateway.modes import Modes, parse_modes
from doorkeeper.gateway.node_ranks import MAX_PORT, PortRange
from doorkeeper.gateway.tls import ClientAuth, TlsSettings

DEFAULT_LISTEN: Final = "127.0.0.1:9092"
DEFAULT_STATE: Final = Path("doorkeeper-data") / "gateway-node-ports.json"
REFRESH_MS: Final = 30_000
_MILLISECONDS: Final = 1000.0
_LIMITS: Final[Mapping[str, tuple[str, float]]] = {
    "socket.request.max.bytes": ("max_frame_bytes", 1),
    "max.connections": ("max_connections", 1),
    "max.connections.per.ip": ("max_connections_per_ip", 1),
    "connections.max.idle.ms": ("idle_seconds", _MILLISECONDS),
    "socket.connection.setup.timeout.ms": ("connect_seconds", _MILLISECONDS),
    "socket.listen.backlog.size": ("backlog", 1),
    "max.pipelined.requests": ("max_pipelined", 1),
    "write.buffer.bytes": ("write_buffer_bytes", 1),
    "drain.ms": ("drain_seconds", _MILLISECONDS),
}
"""Key in the file to the field of `GatewayLimits`, and how many of its unit make one of the field's."""


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of node: where the real ones are, where the gateway listens, and which ports its nodes get."""

    upstream: tuple[Address, ...]
    listen: Address
    node_ports: PortRange | None = None


@dataclass(frozen=True, slots=True)
class Login:
    """How the gateway itself logs in upstream."""

    mechanism: str
    begin: Callable[[], Generator[bytes, bytes, None]] = field(repr=False)
    """A dialogue: yields what to send, is sent what came back."""


@dataclass(frozen=True, slots=True)
class UpstreamSecurity:
    """How upstream is spoken to."""

    tls: ssl.SSLContext | None = field(default=None, repr=False)
    """For clients' connections and the gateway's own."""
    login: Login | None = None
    """For the gateway's own; clients log in for themselves."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Everything about a gateway."""

    brokers: Side
    controllers: Side | None = None
    advertised_host: str | None = None
    """The host that clients are told; None: the listening one, or the address that they came to."""
    sni_domain: str | None = None
    """Nodes are told apart by names under this domain, not by ports."""
    modes: Modes = field(default_factory=Modes)
    unstable_versions: bool = False
    """`unstable.api.versions.enable`"""
    pass_unknown: bool = False
    """Pass APIs and versions that can't be judged."""
    state: Path | None = None
    """Where the map of node ports is kept."""
    verdict_log: Path | None = None
    identity_log: Path | None = None
    http: Address | None = None
    """Where health, readiness and metrics are shown."""
    tls: TlsSettings | None = None
    proxy_protocol: bool = False
    """Every connection begins with a PROXY protocol header (version 2) that names the client."""
    limits: GatewayLimits = field(default_factory=GatewayLimits)
    refresh_seconds: float = 30.0
    """How often the gateway asks the cluster itself where its nodes are."""
    client_id: str = "doorkeeper-gateway"
    """What the gateway calls itself upstream."""
    security: UpstreamSecurity = field(default_factory=UpstreamSecurity)


class _Reader:
    """Hands out what was asked for, and remembers which keys nobody knows."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = dict(document)

    def take(self, key: str) -> Any:
        return self._document.pop(key, None)

    def text(self, key: str) -> str | None:
        value = self.take(key)
        if value is None or isinstance(value, str):
            return value
        raise InputError(f"{key}: {value!r} is no text")

    def path(self, key: str) -> Path | None:
        value = self.take(key)
        return value if value is None else Path(str(value))

    def switch(self, key: str) -> bool:
        value = self.take(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise InputError(f"{key}: {value!r} is neither true nor false")

    def number(self, key: str) -> float | None:
        value = self.take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise InputError(f"{key}: {value!r} is no number above 0")
        return value

    def addresses(self, key: str) -> tuple[Address, ...]:
        value = self.take(key)
        parts = value.split(",") if isinstance(value, str) else value or ()
        return tuple(parse_address(str(part), key, least=1) for part in parts if str(part).strip())

    def require_all_taken(self) -> None:
        if self._document:
            raise InputError(f"unknown in the gateway's settings: {', '.join(sorted(map(str, self._document)))}")


def parse_address(text: str, name: str, least: int = 0) -> Address:
    """`HOST:PORT`, `[::1]:9092`.

    :raises InputError: when it is none; names the setting.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not least <= int(port) <= MAX_PORT:
        raise InputError(f"{name}: {text!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def settings_of(document: Mapping[str, Any], security: UpstreamSecurity | None = None) -> GatewaySettings:
    """The settings in a YAML document, or in options of the same names.

    :raises InputError: naming what is wrong, missing or unknown.
    """
    reader = _Reader(document)
    brokers = _side(reader, "upstream", "listen", "node-ports", DEFAULT_LISTEN)
    if brokers is None:
        raise InputError("upstream is missing: the brokers of the real cluster, HOST:PORT[,…]")
    controllers = _side(reader, "upstream-controllers", "listen-controllers", "controller-ports", None)
    settings = GatewaySettings(
        brokers=brokers,
        controllers=controllers,
        advertised_host=reader.text("advertise"),
        sni_domain=reader.text("sni-domain"),
        modes=_modes(reader),
        unstable_versions=reader.switch("unstable.api.versions.enable"),
        pass_unknown=reader.switch("pass.unknown"),
        state=reader.path("state") or _default_state(brokers, controllers),
        verdict_log=reader.path("verdict-log"),
        identity_log=reader.path("identity-log"),
        http=_optional_address(reader, "http"),
        tls=_tls(reader),
        proxy_protocol=reader.switch("proxy-protocol"),
        limits=_limits(reader),
        refresh_seconds=(reader.number("metadata.max.age.ms") or REFRESH_MS) / _MILLISECONDS,
        client_id=reader.text("client.id") or "doorkeeper-gateway",
        security=security or UpstreamSecurity(),
    )
    reader.require_all_taken()
    if settings.sni_domain is not None and settings.tls is None:
        raise InputError("sni-domain needs tls-certificate: names are told apart in TLS alone")
    return settings


def _side(reader: _Reader, upstream: str, listen: str, ports: str, default: str | None) -> Side | None:
    addresses, asked, given = reader.addresses(upstream), reader.text(listen), reader.text(ports)
    if not addresses:
        if asked is not None and default is None:
            raise InputError(f"{listen} needs {upstream}")
        return None
    address = asked or default
    if address is None:
        raise InputError(f"{upstream} needs {listen}")
    return Side(addresses, parse_address(address, listen), None if given is None else PortRange.parse(given))


def _default_state(*sides: Side | None) -> Path | None:
    """Ports out of a range stay with their nodes, so they are kept somewhere even if nobody says where."""
    return DEFAULT_STATE if any(one is not None and one.node_ports is not None for one in sides) else None


def _modes(reader: _Reader) -> Modes:
    words = reader.take("mode") or ()
    by_rule = reader.take("modes") or {}
    if not isinstance(by_rule, Mapping):
        raise InputError("modes: rule to mode is expected")
    # YAML reads a bare `off` as false.
    named = [f"{rule}={_mode_word(mode)}" for rule, mode in by_rule.items()]
    listed = [words] if isinstance(words, str | bool) else words
    return parse_modes([*named, *map(_mode_word, listed)])


def _mode_word(value: Any) -> str:
    return "off" if value is False else str(value)


def _optional_address(reader: _Reader, key: str) -> Address | None:
    text = reader.text(key)
    return None if text is None else parse_address(text, key)


def _tls(reader: _Reader) -> TlsSettings | None:
    certificate, key, authorities = (reader.path(f"tls-{one}") for one in ("certificate", "key", "client-ca"))
    auth = reader.text("tls-client-auth") or ("required" if authorities else "none")
    if certificate is None:
        if key or authorities:
            raise InputError("tls-key and tls-client-ca need tls-certificate")
        return None
    try:
        return TlsSettings(certificate, key, authorities, ClientAuth(auth))
    except ValueError:
        raise InputError(f"tls-client-auth: {auth!r} is none of {', '.join(ClientAuth)}") from None


def _limits(reader: _Reader) -> GatewayLimits:
    values: dict[str, Any] = {}
    for key, (name, unit) in _LIMITS.items():
        number = reader.number(key)
        if number is not None:
            values[name] = number / unit if unit != 1 else int(number)
    return GatewayLimits(**values)
