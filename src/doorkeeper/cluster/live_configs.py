"""What a dynamic broker config does in a running node: it takes effect, it is kept, or there is nothing it could touch.

Every key that Kafka lets change while a broker runs has a line here, by the part of Kafka's broker that hears it, so
that nothing is dropped in silence; `docs/reference/configs.md` is made from this, and a test holds it to be complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.sasl_config import LISTENER_READS, SaslConfig, read_sasl_config
from doorkeeper.cluster.server_config import IDENTIFIER_LIMIT, MILLISECONDS, NodeConfig
from doorkeeper.net.limits import Limits
from doorkeeper.rules.broker_config import stored_in_force
from doorkeeper.rules.config_schema import BROKER, GROUP, TOPIC, ConfigKey, Scope, load_schema
from doorkeeper.rules.listener_config import parse_csv_map
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.static_config import SCHEMA, UnlawfulError, View

MAX_CONNECTIONS: Final = "max.connections"
PER_IP: Final = "max.connections.per.ip"
PER_IP_OVERRIDES: Final = "max.connections.per.ip.overrides"


class Effect(StrEnum):
    """What becomes of a change once it is stored."""

    LIVE = "live"
    STORED = "stored"
    NOT_APPLICABLE = "not applicable"


class Meaning(NamedTuple):
    """The effect of one key, and why."""

    effect: Effect
    why: str


_BY_KEY: Final[Mapping[str, Meaning]] = {
    MAX_CONNECTIONS: Meaning(Effect.LIVE, "the next connection is counted against it"),
    PER_IP: Meaning(Effect.LIVE, "the next connection is counted against it"),
    PER_IP_OVERRIDES: Meaning(Effect.LIVE, "the next connection is counted against it"),
    "max.connection.creation.rate": Meaning(Effect.STORED, "connections are not slowed down"),
    "cordoned.log.dirs": Meaning(Effect.LIVE, "new partitions go to other directories"),
    "group.consumer.assignment.interval.ms": Meaning(Effect.LIVE, "the default of groups that do not set it"),
    "group.coordinator.cached.buffer.max.bytes": Meaning(Effect.NOT_APPLICABLE, "coordinators keep no buffers"),
    "listeners": Meaning(Effect.STORED, "doors open and close at a restart"),
    "listener.security.protocol.map": Meaning(Effect.STORED, "read at a restart"),
    "num.network.threads": Meaning(Effect.NOT_APPLICABLE, "one event loop serves; there are no such threads"),
    "sasl.mechanism.inter.broker.protocol": Meaning(Effect.NOT_APPLICABLE, "brokers do not log in to each other"),
    "sasl.enabled.mechanisms": Meaning(Effect.LIVE, "new connections log in with them"),
    "sasl.jaas.config": Meaning(Effect.LIVE, "new connections log in as its users, at a listener with PLAIN"),
    IDENTIFIER_LIMIT: Meaning(Effect.LIVE, "the next request is judged by it"),
}
_BY_PART: Final[Mapping[str, Meaning]] = {
    "thread_pool": Meaning(Effect.NOT_APPLICABLE, "one event loop serves; there are no such threads"),
    "log": Meaning(Effect.LIVE, "the default of topics that do not set it"),
    "cleaner": Meaning(Effect.STORED, "the log cleaner has no such knob"),
    "producer_state": Meaning(Effect.LIVE, "every partition heeds it from the next batch on"),
    "group_coordinator": Meaning(Effect.STORED, "kept for the group coordinator"),
    "share_coordinator": Meaning(Effect.STORED, "kept for the group coordinator"),
    "listener": Meaning(Effect.NOT_APPLICABLE, "doors have no TLS, no Kerberos and no Java classes"),
    "security": Meaning(Effect.NOT_APPLICABLE, "doors have no TLS, no Kerberos and no Java classes"),
    "replication": Meaning(Effect.NOT_APPLICABLE, "a partition has one replica"),
    "quota": Meaning(Effect.NOT_APPLICABLE, "a partition has one replica"),
    "remote_log": Meaning(Effect.NOT_APPLICABLE, "there is no tiered storage"),
    "metrics_reporter": Meaning(Effect.NOT_APPLICABLE, "there are no Java reporters"),
    "config_providers": Meaning(Effect.NOT_APPLICABLE, "there are no Java config providers"),
}
_ORDER: Final = ("log", "cleaner")
"""Where a key has several listeners, the first of these counts."""


def meaning_of(key: ConfigKey) -> Meaning:
    """What a change of this broker key does here."""
    own = _BY_KEY.get(key.name)
    if own is not None:
        return own
    parts = sorted(key.reconfigurable_by, key=lambda part: _ORDER.index(part) if part in _ORDER else len(_ORDER))
    return _BY_PART[parts[0]]


def dynamic_broker_keys() -> Iterator[ConfigKey]:
    """Every broker key that may change while a broker runs."""
    return (key for key in load_schema(BROKER).values() if key.scope is not Scope.READ_ONLY)


def reference_page() -> str:
    """`docs/reference/configs.md`."""
    lines = [
        "# Dynamic configs",
        "",
        "Made by `python -m tools.config_reference`. Every dynamic config is judged as Kafka judges it, stored, and",
        "described with its source; this page says what else it does in a running node.",
        "",
        "- **live**: the node acts on it from the next moment on;",
        "- **stored**: kept and shown, and read at a restart or by a part that has no use for it yet;",
        "- **not applicable**: kept and shown; an embedded cluster has nothing that it could touch.",
        "",
        "## Broker",
        "",
        "| key | scope | effect | |",
        "| --- | --- | --- | --- |",
    ]
    for key in dynamic_broker_keys():
        meaning = meaning_of(key)
        lines.append(f"| `{key.name}` | {key.scope} | {meaning.effect} | {meaning.why} |")
    lines += ["", "Keys that no one declares (a plugin's) are stored, and never shown, for they may be secrets.", ""]
    for title, schema, why in (
        ("Topic", TOPIC, "stored with the topic, and shown with what stands behind it"),
        ("Group", GROUP, "stored with the group, and shown with what stands behind it"),
    ):
        keys = ", ".join(f"`{name}`" for name in load_schema(schema))
        lines += [f"## {title}", "", f"All {why}: {keys}.", ""]
    lines += [
        "## Client metrics and loggers",
        "",
        "Client metrics subscriptions are stored. Logger levels are live, and forgotten at a restart, as in Kafka.",
    ]
    return "\n".join(lines) + "\n"


def limits_in_force(config: NodeConfig, image: MetadataImage, listener: str, *, in_flight: int) -> Limits:
    """The limits of one listener: the node's static configs under its dynamic ones."""
    view = view_in_force(config, image, frozenset((MAX_CONNECTIONS,)))
    per_listener = view.listener_value(listener, MAX_CONNECTIONS)
    return Limits(
        max_frame_bytes=config.number("socket.request.max.bytes"),
        max_in_flight=in_flight,
        max_connections=per_listener if isinstance(per_listener, int) else view.integer(MAX_CONNECTIONS),
        max_connections_per_ip=view.integer(PER_IP),
        max_connections_per_ip_overrides=_overrides(view),
        idle_seconds=config.number("connections.max.idle.ms") * MILLISECONDS,
        backlog=config.number("socket.listen.backlog.size"),
    )


def sasl_in_force(config: NodeConfig, image: MetadataImage, listener: str) -> SaslConfig:
    """The SASL configs of one listener.

    :raises UnlawfulError: for what nobody could log in with; see `read_sasl_config`.
    """
    return read_sasl_config(view_in_force(config, image, LISTENER_READS), listener)


def rulebook_in_force(config: NodeConfig, image: MetadataImage) -> Rulebook:
    """What the node's doors judge identifiers by: the switch as it is set, or else as the release has it."""
    names = (str(config.node_id), "")
    stored = (image.configs.of(ConfigResourceType.BROKER, name).get(IDENTIFIER_LIMIT) for name in names)
    dynamic = next((text for text in stored if text is not None), None)
    enabled = config.flag(IDENTIFIER_LIMIT) if dynamic is None else dynamic.strip().lower() == "true"
    return Rulebook.of_release(config.release, enabled)


def view_in_force(config: NodeConfig, image: MetadataImage, listener_reads: frozenset[str] = frozenset()) -> View:
    """The node's static configs under its dynamic ones."""
    default = stored_in_force(image.configs.of(ConfigResourceType.BROKER, ""), per_broker=False)
    own = stored_in_force(image.configs.of(ConfigResourceType.BROKER, str(config.node_id)), per_broker=True)
    return View(config.view.static, default, own).admit(frozenset(SCHEMA), listener_reads)


def _overrides(view: View) -> dict[str, int]:
    try:
        pairs = parse_csv_map(PER_IP_OVERRIDES, view.optional_text(PER_IP_OVERRIDES) or "")
    except UnlawfulError:
        return {}
    return {address: int(count) for address, count in pairs.items() if count.isascii() and count.isdigit()}
