"""What a config change is judged against: the brokers' static configs, and the dynamic configs in force.

Whose configs count: a BROKER change is judged by the static configs of the brokers concerned; a TOPIC or GROUP
change by those of the active controller, on either path, as Kafka does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.broker_config import in_force, stored_in_force
from doorkeeper.rules.config_request import ResourceType
from doorkeeper.rules.reported_config import select_reported
from doorkeeper.rules.static_config import StaticConfig
from doorkeeper.rules.topic_config import topic_defaults

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from doorkeeper.rules.topic_config import TopicDefaults

_NOTHING: Final[Mapping[str, str]] = {}
CORDONED_LOG_DIRS_LEVEL: Final = 30  # metadata.version 4.3-IV0 (MetadataVersion.isCordonedLogDirsSupported)


@dataclass(frozen=True, slots=True)
class BrokerDoor:
    """The door of one broker: a change for another broker's id is refused here."""

    id: int


@dataclass(frozen=True, slots=True)
class ControllerDoor:
    """The door of the active controller, which judges for every registered broker."""

    id: int | None = None
    """The controller's own node id: the one whose loggers may be changed here."""


@dataclass(frozen=True, slots=True)
class Features:
    """The finalized feature levels that change a verdict; the defaults are those of a new Kafka 4.3 cluster."""

    metadata_version: int = CORDONED_LOG_DIRS_LEVEL
    eligible_leader_replicas_version: int = 1

    @property
    def elr_enabled(self) -> bool:
        """Whether eligible leader replicas (KIP-966) are on, which pins `min.insync.replicas`."""
        return self.eligible_leader_replicas_version > 0

    @property
    def cordoned_log_dirs_supported(self) -> bool:
        """Whether `cordoned.log.dirs` may be stored."""
        return self.metadata_version >= CORDONED_LOG_DIRS_LEVEL


@dataclass(frozen=True, slots=True)
class BrokerContext:
    """One broker's static configs as in its server.properties; None if it never reported them (version < 6).

    Only the keys that a broker reports at registration are looked at, so both doors judge alike.
    """

    static: Mapping[str, str] | None = field(default=None, repr=False)
    applied: Mapping[str, str] | None = field(default=None, repr=False)
    """The dynamic configs it runs with, where somebody asked it; None: those stored, as far as they are lawful."""
    config: StaticConfig = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", StaticConfig(None if self.static is None else select_reported(self.static)))


@dataclass(frozen=True)
class Context:
    """Everything outside the request that a verdict depends on."""

    brokers: Mapping[int, BrokerContext]
    controller_static: Mapping[str, str] = field(default_factory=dict, repr=False)
    dynamic: Mapping[tuple[ResourceType, str], Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The dynamic configs stored, by resource; those of the cluster default under (BROKER, "")."""
    topics: Container[str] | None = None
    """The topics that exist; None: every one does."""
    door: BrokerDoor | ControllerDoor = field(default_factory=ControllerDoor)
    features: Features = field(default_factory=Features)
    loggers: Container[str] | None = None
    """The loggers of the node behind the door; None: every one exists."""
    plugins: Container[str] | None = frozenset()
    """Java classes that the brokers can load beyond Kafka's own; None: unknown, and no class name is refused."""

    def stored(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The dynamic configs stored for one resource."""
        # The number will do: it equals the member, and making the member of it costs more than the look-up.
        return self.dynamic.get((resource_type, name), _NOTHING)  # type: ignore[arg-type]

    @cached_property
    def controller(self) -> StaticConfig:
        """The controller's server.properties, parsed once."""
        return StaticConfig(self.controller_static)

    @cached_property
    def topic_defaults(self) -> TopicDefaults:
        """What a topic is without configs of its own: by the controller's static and dynamic configs."""
        default = stored_in_force(self.stored(ResourceType.BROKER, ""), per_broker=False)
        node_id = self.controller.text("node.id") or ""
        own = stored_in_force(self.stored(ResourceType.BROKER, node_id) if node_id else {}, per_broker=True)
        return topic_defaults(in_force(self.controller, default, own).view)
