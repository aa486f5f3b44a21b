"""What a node is to be: Kafka's `server.properties`, read into a `NodeConfig` before anything is opened.

All that is wrong comes out at once: what Kafka itself would refuse (the rulebook's `check_properties`), and what is
lawful in Kafka but not served here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.cluster.sasl_config import LISTENER_READS, SASL_PLAINTEXT, read_sasl_config, sasl_not_served
from doorkeeper.errors import InputError
from doorkeeper.rules.client_id import ClientIdForm
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.listener_config import (
    Endpoint,
    advertised_broker_endpoints,
    broker_endpoints,
    controller_endpoints,
    inter_broker,
)
from doorkeeper.rules.server_properties import check_properties
from doorkeeper.rules.static_config import SCHEMA, StaticConfig, UnknownStaticError, UnlawfulError, View
from doorkeeper.wire.metadata.levels import (
    FEATURE_NAME,
    MINIMUM_METADATA_VERSION,
    MetadataVersion,
    parse_metadata_version,
)

LOCALHOST: Final = "127.0.0.1"
PLAINTEXT: Final = "PLAINTEXT"
IDENTIFIER_LIMIT: Final = "resource.identifier.limit.enable"
UNSTABLE_VERSIONS: Final = "unstable.api.versions.enable"
VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP_CONTROLLERS: Final = "controller.quorum.bootstrap.servers"
METRIC_CLIENT_ID_FORM: Final = "metric.client.id.form"
MILLISECONDS: Final = 0.001
MAX_PORT: Final = 65535


class Role(StrEnum):
    """What a node does (`process.roles`)."""

    BROKER = "broker"
    CONTROLLER = "controller"


class Release(StrEnum):
    """Whose defaults count (KIP-1233: the limits are off in Kafka 4.x and on in 5.0)."""

    KAFKA_4 = "4.x"
    KAFKA_5 = "5.0"


class Address(NamedTuple):
    """Where the controller is to be reached; its id is known only when `controller.quorum.voters` says it."""

    node_id: int | None
    host: str
    port: int


class BadConfigurationError(InputError):
    """One or more faults in a `server.properties`, each a sentence."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(faults))


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """One node. `static` holds its whole `server.properties`, secrets among them, and so is never shown."""

    node_id: int
    roles: frozenset[Role]
    listeners: tuple[Endpoint, ...]
    """The broker's doors."""
    controller_listeners: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    inter_broker_listener: str
    controllers: tuple[Address, ...]
    log_dirs: tuple[Path, ...]
    metadata_log_dir: Path
    rack: str | None
    release: Release
    metadata_version: MetadataVersion | None
    """Asked for with `metadata.version`; counts when the cluster is new."""
    static: Mapping[str, str] = field(repr=False)
    view: View = field(repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What the file asks for and does not get, or nobody knows: the node starts all the same, and says it."""

    @property
    def is_broker(self) -> bool:
        return Role.BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        return Role.CONTROLLER in self.roles

    @property
    def shown_static(self) -> Mapping[str, str]:
        """What DescribeConfigs shows as static: the file, and what the release has as its own default."""
        limits = {key: value for key, value in RELEASE_DEFAULTS[self.release].items() if key == IDENTIFIER_LIMIT}
        return {**limits, **self.static}

    @property
    def client_id_form(self) -> ClientIdForm:
        """How client ids show in metrics (`metric.client.id.form`, a key of Doorkeeper's own)."""
        return ClientIdForm(self.static.get(METRIC_CLIENT_ID_FORM, ClientIdForm.URL_ENCODED))

    def number(self, key: str) -> int:
        """The static value of a numeric key, or its default."""
        return self.view.integer(key)

    def seconds(self, key: str) -> float:
        """The static value of a key in milliseconds, as seconds."""
        return self.view.integer(key) * MILLISECONDS

    def flag(self, key: str) -> bool:
        """The static value of a boolean key, or the default of the release."""
        text = self.static.get(key)
        if text is None and key in RELEASE_DEFAULTS[self.release]:
            return RELEASE_DEFAULTS[self.release][key] == "true"
        return self.view.flag(key)


RELEASE_DEFAULTS: Final[Mapping[Release, Mapping[str, str]]] = {
    Release.KAFKA_4: {UNSTABLE_VERSIONS: "true"},
    Release.KAFKA_5: {UNSTABLE_VERSIONS: "true", IDENTIFIER_LIMIT: "true"},
}
"""Where a default differs from Kafka 4.3.1's (and from the proposal's for Kafka 4.x)."""


def read_node_config(properties: Mapping[str, str], release: Release = Release.KAFKA_4) -> NodeConfig:
    """Read a `server.properties`. Raises BadConfigurationError with every fault."""
    static = {key: value for key, value in properties.items() if key != FEATURE_NAME}
    found = check_properties(static)
    faults = [one.message for one in found if not one.warning]
    view = View(StaticConfig(static)).admit(frozenset(SCHEMA))
    level = _metadata_version(properties.get(FEATURE_NAME), faults)
    try:
        config = _build(static, view, release, level)
    except UnlawfulError as error:
        raise BadConfigurationError(faults or [error.message]) from None
    except UnknownStaticError:
        # A value that can't be read, as the faults say.
        raise BadConfigurationError(faults) from None
    faults += _not_served(config)
    if faults:
        raise BadConfigurationError(faults)
    return replace(config, warnings=tuple(one.message for one in found if one.warning))


def _metadata_version(text: str | None, faults: list[str]) -> MetadataVersion | None:
    if text is None:
        return None
    level = parse_metadata_version(text)
    if level is None:
        known = f"{MINIMUM_METADATA_VERSION.text} to {MetadataVersion.IBP_4_3_IV0.text}"
        faults.append(f"metadata.version {text} is unknown: it is one of {known}, or {MetadataVersion.DOORKEEPER.text}")
    return level


def _build(static: Mapping[str, str], view: View, release: Release, level: MetadataVersion | None) -> NodeConfig:
    roles = frozenset(role for role in Role if role in view.items("process.roles"))
    log_dirs = tuple(Path(each) for each in _log_dirs(view))
    metadata_dir = view.optional_text("metadata.log.dir")
    return NodeConfig(
        node_id=view.integer("node.id"),
        roles=roles,
        listeners=tuple(broker_endpoints(view)) if Role.BROKER in roles else (),
        controller_listeners=tuple(controller_endpoints(view)) if Role.CONTROLLER in roles else (),
        advertised=tuple(advertised_broker_endpoints(view)) if Role.BROKER in roles else (),
        inter_broker_listener=inter_broker(view)[0] if Role.BROKER in roles else "",
        controllers=tuple(_controllers(view)),
        log_dirs=log_dirs,
        metadata_log_dir=Path(metadata_dir) if metadata_dir else log_dirs[0],
        rack=view.optional_text("broker.rack"),
        release=release,
        metadata_version=level,
        static=static,
        view=view,
    )


def _log_dirs(view: View) -> list[str]:
    """`log.dirs`, or else `log.dir` (AbstractKafkaConfig.logDirs)."""
    return view.optional_items("log.dirs") or view.items("log.dir")


def _controllers(view: View) -> Iterator[Address]:
    for entry in view.items(VOTERS):
        node_id, _, address = entry.partition("@")
        yield _address(parse_int(node_id), address)
    for entry in view.items(BOOTSTRAP_CONTROLLERS):
        yield _address(None, entry)


def _address(node_id: int | None, text: str) -> Address:
    host, _, port = text.rpartition(":")
    number = parse_int(port)
    if number is None or not host:
        raise UnlawfulError(f"{text} is no address of a controller: it is host:port")
    return Address(node_id, host.strip("[]"), number)


def _not_served(config: NodeConfig) -> Iterator[str]:
    """What Kafka would take, and this cluster does not have."""
    if not config.roles:
        yield "process.roles must say what the node is: broker, controller, or both"
    yield from _security_not_served(config)
    form = config.static.get(METRIC_CLIENT_ID_FORM, ClientIdForm.URL_ENCODED)
    if form not in list(ClientIdForm):
        yield f"{METRIC_CLIENT_ID_FORM} is {' or '.join(ClientIdForm)}, not {form}"
    for endpoint in dict.fromkeys((*config.listeners, *config.controller_listeners, *config.advertised)):
        if endpoint.port > MAX_PORT:
            yield f"Listener {endpoint.listener} has port {endpoint.port}: a port is a number up to {MAX_PORT}"
    if len(config.controllers) > 1:
        yield f"{VOTERS} names {len(config.controllers)} controllers; this cluster has one, with the only replica"
    voter = config.controllers[0].node_id if len(config.controllers) == 1 else None
    if config.is_controller and voter is not None and voter != config.node_id:
        yield f"{VOTERS} names node {voter}, and this controller is node {config.node_id}"


def _security_not_served(config: NodeConfig) -> Iterator[str]:
    view = View(config.view.static).admit(frozenset(SCHEMA), LISTENER_READS)
    for endpoint in config.listeners:
        if endpoint.protocol not in (PLAINTEXT, SASL_PLAINTEXT):
            yield _other_protocol(endpoint, f"{PLAINTEXT} and {SASL_PLAINTEXT} are")
        elif endpoint.protocol == SASL_PLAINTEXT:
            try:
                read_sasl_config(view, endpoint.listener)
            except UnlawfulError as error:
                yield error.message
    for endpoint in config.controller_listeners:
        if endpoint.protocol != PLAINTEXT:
            yield _other_protocol(endpoint, f"{PLAINTEXT} is")
    if any(endpoint.protocol == SASL_PLAINTEXT for endpoint in config.listeners):
        yield from sasl_not_served(config.static)


def _other_protocol(endpoint: Endpoint, served: str) -> str:
    return (
        f"Listener {endpoint.listener} asks for {endpoint.protocol}, and only {served} served there: put the gateway "
        "in front of a real Kafka for the rest"
    )
