"""What a metadata log says of a cluster today: the latest state counts, with the place that each thing was read from.

From Kafka's `image` package, as far as an audit asks. A deleted topic, config, quota or ACL is no part of it; of a
metadata transaction (KIP-868) all counts or, if it was aborted or never ended, nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from doorkeeper.rules.config_change import Features, ResourceType
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.schema import Message

METADATA_VERSION: Final = "metadata.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"
STATIC_CONFIGS_SINCE: Final = 5  # version of RegisterBrokerRecord


class Place(NamedTuple):
    """Where a record stands, and when it was written."""

    file: int
    """The file's number among those read."""
    position: int
    """The byte where its batch begins."""
    time: int | None
    """Microseconds since the epoch."""


class ConfigEvent(NamedTuple):
    """One dynamic config set or deleted; None: deleted."""

    resource: tuple[int, str]
    key: str
    value: str | None
    is_history: bool
    """Whether the log tells it, so that what went before is known; a snapshot tells the result only."""


EntityKey = tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class Broker:
    """A registered broker."""

    rack: str | None
    static: Mapping[str, str] | None = field(repr=False)
    """What it reported of its server.properties; None: its registration carries none."""
    place: Place


@dataclass(slots=True)
class MetadataState:
    """The state after the records replayed so far."""

    topics: dict[UUID, tuple[str, Place]] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, tuple[str, Place]]] = field(default_factory=dict, repr=False)
    quotas: dict[EntityKey, dict[str, Place]] = field(default_factory=dict)
    acls: dict[UUID, tuple[types.AccessControlEntryRecord, Place]] = field(default_factory=dict)
    brokers: dict[int, Broker] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    events: list[ConfigEvent] = field(default_factory=list, repr=False)
    """The changes of brokers' configs, in order: whether a pool's size is lawful depends on the sizes before."""

    @property
    def features(self) -> Features:
        """The levels that change a verdict."""
        return Features(self.levels.get(METADATA_VERSION, 0), self.levels.get(ELR_VERSION, 0))

    def replay(self, message: Message, version: int, place: Place, *, is_history: bool = True) -> bool:
        """Take a record in; False if nothing that an audit asks for is in it."""
        if isinstance(message, types.RegisterBrokerRecord):
            self.brokers[message.broker_id] = _broker(message, version, place)
            return True
        if isinstance(message, types.ConfigRecord):
            self._config(message, place, is_history)
            return True
        apply = _APPLIED.get(type(message))
        if apply is None:
            return False
        apply(self, message, place)
        return True

    def _config(self, record: types.ConfigRecord, place: Place, is_history: bool) -> None:
        resource = (record.resource_type, record.resource_name)
        if record.resource_type == ResourceType.BROKER:
            self.events.append(ConfigEvent(resource, record.name, record.value, is_history))
        stored = self.configs.setdefault(resource, {})
        if record.value is None:
            stored.pop(record.name, None)
        else:
            stored[record.name] = record.value, place
        if not stored:
            del self.configs[resource]

    def _topic(self, record: types.TopicRecord, place: Place) -> None:
        self.topics[record.topic_id] = record.name, place

    def _remove_topic(self, record: types.RemoveTopicRecord, _: Place) -> None:
        removed = self.topics.pop(record.topic_id, None)
        if removed is not None:
            self.configs.pop((ResourceType.TOPIC, removed[0]), None)

    def _quota(self, record: types.ClientQuotaRecord, place: Place) -> None:
        entity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
        stored = self.quotas.setdefault(entity, {})
        if record.remove:
            stored.pop(record.key, None)
        else:
            stored[record.key] = place
        if not stored:
            del self.quotas[entity]

    def _acl(self, record: types.AccessControlEntryRecord, place: Place) -> None:
        self.acls[record.id] = record, place

    def _remove_acl(self, record: types.RemoveAccessControlEntryRecord, _: Place) -> None:
        self.acls.pop(record.id, None)

    def _unregister(self, record: types.UnregisterBrokerRecord, _: Place) -> None:
        self.brokers.pop(record.broker_id, None)

    def _feature(self, record: types.FeatureLevelRecord, _: Place) -> None:
        self.levels[record.name] = record.feature_level

    def _scram(self, record: Message, place: Place) -> None:
        """A SCRAM user's name is no identifier of KIP-1233's table: read, and lawful whatever it is."""


def _broker(record: types.RegisterBrokerRecord, version: int, place: Place) -> Broker:
    static = None
    if version >= STATIC_CONFIGS_SINCE:
        static = {one.name: one.value for one in record.static_configs if one.value is not None}
    return Broker(record.rack, static, place)


_APPLIED: Final[Mapping[type[Message], Callable[[MetadataState, Any, Place], None]]] = {
    types.TopicRecord: MetadataState._topic,
    types.RemoveTopicRecord: MetadataState._remove_topic,
    types.ClientQuotaRecord: MetadataState._quota,
    types.AccessControlEntryRecord: MetadataState._acl,
    types.RemoveAccessControlEntryRecord: MetadataState._remove_acl,
    types.UnregisterBrokerRecord: MetadataState._unregister,
    types.FeatureLevelRecord: MetadataState._feature,
    types.UserScramCredentialRecord: MetadataState._scram,
    types.RemoveUserScramCredentialRecord: MetadataState._scram,
}


class Replay:
    """Replays records in order, metadata transactions included."""

    def __init__(self) -> None:
        self.state = MetadataState()
        self._open: list[tuple[Message, int, Place, bool]] | None = None

    def take(self, message: Message, version: int, place: Place, *, is_history: bool = True) -> bool:
        """Take a record in; False if an audit asks nothing of its kind."""
        if isinstance(message, types.BeginTransactionRecord):
            self._open = []
        elif isinstance(message, types.EndTransactionRecord):
            held, self._open = self._open or [], None
            for one in held:
                self.state.replay(one[0], one[1], one[2], is_history=one[3])
        elif isinstance(message, types.AbortTransactionRecord):
            self._open = None
        elif self._open is not None:
            self._open.append((message, version, place, is_history))
            return type(message) in _ASKED
        else:
            return self.state.replay(message, version, place, is_history=is_history)
        return False


_ASKED: Final = frozenset((*_APPLIED, types.RegisterBrokerRecord, types.ConfigRecord))
