"""Listeners, their security protocols, and which of them are whose, as Kafka reads them.

Sources: `SocketServerConfigs.listenerListToEndPoints`, `AbstractKafkaConfig` (effectiveListenerSecurityProtocolMap,
listenerListToEndPoints), `KafkaConfig` (effectiveAdvertisedBrokerListeners and its kin), `Csv.parseCsvMap`,
`ListenerName`.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.config_schema import ConfigProblem, parse_value
from doorkeeper.rules.config_text import show
from doorkeeper.rules.javatext import parse_int, trim
from doorkeeper.rules.static_config import LISTENER_PREFIX, SCHEMA, UnlawfulError, remembered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.rules.config_schema import ClassExists
    from doorkeeper.rules.static_config import View

LISTENERS: Final = "listeners"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
CONTROLLER_NAMES: Final = "controller.listener.names"
ADVERTISED: Final = "advertised.listeners"
INTER_BROKER_NAME: Final = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"
LISTENER_KEYS: Final = frozenset((LISTENERS, PROTOCOL_MAP, CONTROLLER_NAMES))
ADVERTISED_KEYS: Final = LISTENER_KEYS | {ADVERTISED}
INTER_BROKER_KEYS: Final = LISTENER_KEYS | {INTER_BROKER_NAME, INTER_BROKER_PROTOCOL}

SECURITY_PROTOCOLS: Final = frozenset(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"))
SECURE: Final = SECURITY_PROTOCOLS - {"PLAINTEXT"}
NOT_ROUTABLE: Final = "0.0.0.0"  # noqa: S104  the address that may not be advertised

# Java's `.` stops at more line ends than Python's; a listener name with one does not match there.
_ENDPOINT: Final = re.compile(r"([^\n\r\u0085\u2028\u2029]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_CSV: Final = re.compile(r"\s*,\s*", re.ASCII)
_CACHED: Final = 256  # configurations; a change is judged for a few brokers, of which each has one


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One listener: its name in upper case, its protocol, and where it is bound (None: everywhere)."""

    listener: str
    protocol: str
    host: str | None
    port: int


def parse_csv_map(key: str, text: str) -> dict[str, str]:
    """`a:1, b:2` as a map; the last colon of an entry counts, so that IPv6 addresses pass."""
    if not text:
        return {}
    entries = _CSV.split(text)
    while entries and not entries[-1]:
        entries.pop()
    pairs = {}
    for entry in entries:
        name, colon, value = entry.rpartition(":")
        if not colon:
            length = len(entry)
            raise UnlawfulError(f"Error parsing configuration property '{key}': begin 0, end -1, length {length}")
        pairs[trim(name)] = trim(value)
    return pairs


def normalised(name: str) -> str:
    """A listener's name as Kafka compares it."""
    if not name.strip():
        raise UnlawfulError("The provided listener name is null or empty string")
    return name.upper()


@lru_cache(maxsize=_CACHED)
def _declared_protocols(text: str) -> Mapping[str, str]:
    protocols: dict[str, str] = {}
    for name, protocol in parse_csv_map(PROTOCOL_MAP, text).items():
        listener = normalised(name)
        if protocol.upper() not in SECURITY_PROTOCOLS:
            raise UnlawfulError(f"Invalid security protocol `{protocol}` defined in {PROTOCOL_MAP}")
        if listener in protocols:
            values = f"{protocols[listener]} and {protocol.upper()}"
            raise UnlawfulError(f"Duplicate key ListenerName({listener}) (attempted merging values {values})")
        protocols[listener] = protocol.upper()
    return protocols


@remembered(LISTENER_KEYS)
def security_protocols(view: View) -> Mapping[str, str]:
    """The protocol of each listener; without an explicit map, controllers' are PLAINTEXT if nothing else is in use."""
    declared = _declared_protocols(view.text(PROTOCOL_MAP))
    if view.is_set(PROTOCOL_MAP):
        return declared
    controllers = view.items(CONTROLLER_NAMES)
    if any(name in SECURE for name in controllers) or any(_name_of(entry) in SECURE for entry in view.items(LISTENERS)):
        return declared
    return {**declared, **dict.fromkeys((name for name in controllers if name != "PLAINTEXT"), "PLAINTEXT")}


def _name_of(entry: str) -> str:
    name, colon, _ = entry.partition(":")
    if not colon:
        raise UnlawfulError(f"Unable to parse a listener name from {entry}")
    return name.upper()


def parse_endpoints(entries: Sequence[str], protocols: Mapping[str, str], *, distinct_ports: bool) -> list[Endpoint]:
    """The endpoints of `listeners` or `advertised.listeners`."""
    try:
        endpoints = [_parse_endpoint(entry, protocols) for entry in entries]
        _require_distinct(endpoints, entries, distinct_ports=distinct_ports)
    except UnlawfulError as error:
        shown = show(list(entries))
        raise UnlawfulError(f"Error creating broker listeners from '{shown}': {error.message}") from error
    return endpoints


def _parse_endpoint(entry: str, protocols: Mapping[str, str]) -> Endpoint:
    match = _ENDPOINT.fullmatch(entry)
    if match is None:
        raise UnlawfulError(f"Unable to parse {entry} to a broker endpoint")
    listener = normalised(match[1])
    port = parse_int(match[3])
    if port is None:
        raise UnlawfulError(f'For input string: "{match[3]}"')
    if listener not in protocols:
        raise UnlawfulError(f"No security protocol defined for listener {listener}")
    return Endpoint(listener, protocols[listener], match[2] or None, port)


def _require_distinct(endpoints: Sequence[Endpoint], entries: Sequence[str], *, distinct_ports: bool) -> None:
    shown = show(list(entries))
    if len({endpoint.listener for endpoint in endpoints}) != len(endpoints):
        raise UnlawfulError(f"Each listener must have a different name, listeners: {shown}")
    if not distinct_ports:
        return
    by_port = defaultdict(list)
    for endpoint in endpoints:
        if endpoint.port != 0:
            by_port[endpoint.port].append(endpoint.host)
    for port in sorted(port for port, hosts in by_port.items() if len(hosts) > 1):
        _require_two_ip_stacks(by_port[port], shown, port)


def _require_two_ip_stacks(hosts: Sequence[str | None], shown: str, port: int) -> None:
    """One port may serve one IPv4 and one IPv6 address, and nothing else beside."""
    versions = [version for host in hosts if (version := _ip_version(host))]
    others = len(hosts) - len(versions)
    if others > 1:
        raise UnlawfulError(f"Each listener must have a different port, listeners: {shown}")
    if len(versions) != 2:
        raise UnlawfulError(
            "Each listener must have a different port unless exactly one listener has an IPv4 address "
            f"and the other IPv6 address, listeners: {shown}, port: {port}"
        )
    if others or set(versions) != {4, 6}:
        raise UnlawfulError(
            "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
            f"listeners: {shown}, port: {port}"
        )


def _ip_version(host: str | None) -> int | None:
    try:
        return ipaddress.ip_address(host).version if host else None
    except ValueError:
        return None


@remembered(LISTENER_KEYS)
def endpoints(view: View) -> list[Endpoint]:
    """Every listener of the node."""
    return parse_endpoints(view.items(LISTENERS), security_protocols(view), distinct_ports=True)


@remembered(LISTENER_KEYS)
def broker_endpoints(view: View) -> list[Endpoint]:
    """The listeners that are not the controller's (`dataPlaneListeners`)."""
    return [endpoint for endpoint in endpoints(view) if endpoint.listener not in view.items(CONTROLLER_NAMES)]


@remembered(LISTENER_KEYS)
def controller_endpoints(view: View) -> list[Endpoint]:
    """The listeners that are the controller's."""
    return [endpoint for endpoint in endpoints(view) if endpoint.listener in view.items(CONTROLLER_NAMES)]


@remembered(ADVERTISED_KEYS)
def advertised_broker_endpoints(view: View) -> list[Endpoint]:
    """What the broker tells its clients: `advertised.listeners` or else `listeners`, without the controller's."""
    advertised = view.optional_items(ADVERTISED)
    if advertised is None:
        return broker_endpoints(view)
    parsed = parse_endpoints(advertised, security_protocols(view), distinct_ports=False)
    return [endpoint for endpoint in parsed if endpoint.listener not in view.items(CONTROLLER_NAMES)]


@remembered(ADVERTISED_KEYS)
def advertised_controller_endpoints(view: View) -> list[Endpoint]:
    """What the controller tells: its advertised listeners, or else its listeners with a host that is not 0.0.0.0."""
    names = view.items(CONTROLLER_NAMES)
    told: dict[str, Endpoint] = {
        endpoint.listener: Endpoint(endpoint.listener, endpoint.protocol, None, endpoint.port)
        for endpoint in controller_endpoints(view)
    }
    advertised = view.optional_items(ADVERTISED)
    if advertised is not None:
        parsed = parse_endpoints(advertised, security_protocols(view), distinct_ports=False)
        told.update((endpoint.listener, endpoint) for endpoint in parsed if endpoint.listener in names)
    return [told[listener] for listener in map(normalised, names) if listener in told]


def inter_broker(view: View) -> tuple[str, str]:
    """The listener by which brokers talk to one another, and its protocol."""
    name = view.optional_text(INTER_BROKER_NAME)
    if name is None:
        protocol = view.text(INTER_BROKER_PROTOCOL)
        return protocol, protocol
    if view.is_set(INTER_BROKER_PROTOCOL):
        raise UnlawfulError(f"Only one of {INTER_BROKER_NAME} and {INTER_BROKER_PROTOCOL} should be set.")
    listener = normalised(name)
    found = security_protocols(view).get(listener)
    if found is None:
        raise UnlawfulError(
            f"Listener with name {listener} defined in {INTER_BROKER_NAME} not found in {PROTOCOL_MAP}."
        )
    return listener, found


def names_of(endpoints: Sequence[Endpoint]) -> frozenset[str]:
    """The names of some listeners."""
    return frozenset(endpoint.listener for endpoint in endpoints)


def bad_listener_value(view: View, listener: str, class_exists: ClassExists | None = None) -> str | None:
    """Kafka's message on the first dynamic value with this listener's prefix that does not parse as its key.

    Behind the listener's prefix there may be a SASL mechanism's (`AbstractConfig.valuesWithPrefixOverride`).
    """
    prefix = f"{LISTENER_PREFIX}{listener.lower()}."
    for name, text in view.prefixed.items():
        if not name.startswith(prefix):
            continue
        bare = name.removeprefix(prefix)
        key = SCHEMA.get(bare) or SCHEMA.get(bare.partition(".")[2])
        parsed = parse_value(key, text, class_exists) if key else None
        if isinstance(parsed, ConfigProblem):
            return parsed.message
    return None
