"""Config changes: judged by the rulebook, with what the image knows as context. From ConfigurationControlManager.

A refused resource leaves no record. With eligible leader replicas on, Kafka also clears the ELR of topics whose
min.insync.replicas changes; here a partition has one replica, and its ELR is always empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple, Protocol, cast

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.decision import Decision, Failure, RecordBatch, collecting_later
from doorkeeper.cluster.controller.features import ELR_VERSION
from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import BrokerRegistration
from doorkeeper.rules.config_change import (
    BrokerContext,
    BrokerDoor,
    ConfigEntry,
    Context,
    ControllerDoor,
    Features,
    Operation,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
    judge_changes,
)
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ConfigRecord

StaticTable = Mapping[int, Mapping[str, str | None]]
"""Static configs by broker, as the controller remembers them where the log can't (metadata.version below ours)."""

NO_TABLE: Final[StaticTable] = {}
_BROKER, _BROKER_LOGGER = int(ConfigResourceType.BROKER), int(ConfigResourceType.BROKER_LOGGER)


class WireEntry(Protocol):
    """What an AlterableConfig of either API has."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...


class WireResource(Protocol):
    """What an AlterConfigsResource of either API has."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[WireEntry]: ...


class AlterConfigsResourceResponse(NamedTuple):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


@dataclass(frozen=True, slots=True)
class AlterConfigsResponse:
    responses: tuple[AlterConfigsResourceResponse, ...]
    """One for each resource, in the order of the request."""


def changes_of(resources: Sequence[WireResource], *, legacy: bool) -> list[ResourceChange]:
    """A request of IncrementalAlterConfigs, or of AlterConfigs (`legacy`), for the rulebook."""
    operation = _always_set if legacy else _operation
    return [
        ResourceChange(
            resource.resource_type,
            resource.resource_name,
            tuple([ConfigEntry(entry.name, operation(entry), entry.value) for entry in resource.configs]),
            legacy,
        )
        for resource in resources
    ]


_operation: Final[Callable[[WireEntry], int]] = attrgetter("config_operation")


def _always_set(_entry: WireEntry) -> int:
    return Operation.SET


def config_context(
    image: MetadataImage,
    node: ControllerNode,
    *,
    door: BrokerDoor | ControllerDoor | None = None,
    remembered: StaticTable = NO_TABLE,
    loggers: Container[str] | None = None,
) -> Context:
    """What a change is judged against; it holds as long as the image does. Without a door: the controller's own."""
    features = Features(
        metadata_version=image.features.require_metadata_version(),
        eligible_leader_replicas_version=image.features.finalized.get(ELR_VERSION, 0),
    )
    return Context(
        brokers={one.id: _broker_context(one, remembered) for one in image.cluster.brokers.values()},
        controller_static=node.static,
        dynamic=cast("Mapping[tuple[ResourceType, str], Mapping[str, str]]", image.configs.resources),
        topics=image.topics.by_name,
        door=ControllerDoor(node.id) if door is None else door,
        features=features,
        loggers=loggers,
    )


def _broker_context(broker: BrokerRegistration, remembered: StaticTable) -> BrokerContext:
    static = broker.static_configs or remembered.get(broker.id)
    if not static:
        return BrokerContext(None)
    return BrokerContext({name: value for name, value in static.items() if value is not None})


def decide_alter_configs(
    image: MetadataImage, changes: Sequence[ResourceChange], context: Context, *, validate_only: bool = False
) -> Decision[AlterConfigsResponse]:
    """Judge each resource, and store those that pass. Loggers are not stored: the node whose they are applies them."""
    batch = RecordBatch()
    responses = []
    with collecting_later():
        for change, verdict in zip(changes, judge_changes(changes, context), strict=True):
            code, message = int(verdict.code), verdict.message
            if not code and change.type != _BROKER_LOGGER:
                failure = batch.add(_records_of(image, change, verdict))
                if failure is not None:
                    code, message = failure
            responses.append(AlterConfigsResourceResponse(code, message, change.type, change.name))
    return Decision(batch.records(validate_only=validate_only), AlterConfigsResponse(tuple(responses)))


def _failure_of(verdict: ResourceVerdict) -> Failure | None:
    return None if verdict.accepted else Failure(ErrorCode(int(verdict.code)), verdict.message)


def _records_of(image: MetadataImage, change: ResourceChange, verdict: ResourceVerdict) -> list[VersionedRecord]:
    assert verdict.proposed is not None
    # KAFKA-14136: setting a broker's config to what it is makes the broker look again, e.g. at a replaced key store.
    again = [entry.name for entry in change.entries] if change.type == _BROKER else ()
    return config_records(change.type, change.name, image.configs.of(change.type, change.name), verdict.proposed, again)


def config_records(
    resource_type: int,
    resource_name: str,
    current: Mapping[str, str],
    proposed: Mapping[str, str],
    again: Collection[str] = (),
) -> list[VersionedRecord]:
    """What leads from the current configs of a resource to the proposed: changed values, and null for what goes.

    Keys in `again` are written even if their value stays.
    """
    values: Mapping[str, str | None] = proposed
    if current or again:
        values = {name: value for name, value in proposed.items() if current.get(name) != value or name in again}
        values |= {name: None for name in current if name not in proposed}
    return [
        VersionedRecord(
            ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value), 0
        )
        for name, value in values.items()
    ]


def judge_new_topic(
    image: MetadataImage, name: str, configs: Mapping[str, str], node: ControllerNode
) -> Mapping[str, str] | Failure:
    """The configs of a topic that is to be created, or why it can't have them."""
    context = Context(
        brokers={},
        controller_static=node.static,
        dynamic=cast("Mapping[tuple[ResourceType, str], Mapping[str, str]]", image.configs.resources),
        features=Features(
            metadata_version=image.features.require_metadata_version(),
            eligible_leader_replicas_version=image.features.finalized.get(ELR_VERSION, 0),
        ),
    )
    entries = tuple(ConfigEntry(key, Operation.SET, value) for key, value in configs.items())
    (verdict,) = judge_changes([ResourceChange(ResourceType.TOPIC, name, entries)], context)
    failure = _failure_of(verdict)
    if failure is not None:
        return failure
    assert verdict.proposed is not None
    return verdict.proposed
