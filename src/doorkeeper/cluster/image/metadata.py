"""All of the metadata in one image. From MetadataImage and MetadataDelta."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from doorkeeper.cluster.image.cluster import ClusterDelta, ClusterImage
from doorkeeper.cluster.image.configs import ConfigurationsDelta, ConfigurationsImage
from doorkeeper.cluster.image.features import FeaturesDelta, FeaturesImage
from doorkeeper.cluster.image.quotas import ClientQuotasDelta, ClientQuotasImage
from doorkeeper.cluster.image.security import (
    AclsDelta,
    AclsImage,
    DelegationTokensDelta,
    DelegationTokensImage,
    ScramDelta,
    ScramImage,
)
from doorkeeper.cluster.image.topics import TopicsDelta, TopicsImage
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import UnknownRecord, VersionedRecord

logger = logging.getLogger(__name__)

NO_PRODUCER_IDS: Final = -1


class Provenance(NamedTuple):
    """How much of the log an image contains: last offset, its leader epoch and its timestamp."""

    offset: int
    epoch: int
    timestamp: int


NOWHERE: Final = Provenance(-1, -1, -1)


@dataclass(frozen=True, slots=True)
class MetadataImage:
    provenance: Provenance = NOWHERE
    features: FeaturesImage = FeaturesImage.EMPTY
    cluster: ClusterImage = ClusterImage.EMPTY
    topics: TopicsImage = TopicsImage.EMPTY
    configs: ConfigurationsImage = ConfigurationsImage.EMPTY
    client_quotas: ClientQuotasImage = ClientQuotasImage.EMPTY
    next_producer_id: int = NO_PRODUCER_IDS
    """The first producer id that no broker has been given."""
    acls: AclsImage = AclsImage.EMPTY
    scram: ScramImage = ScramImage.EMPTY
    delegation_tokens: DelegationTokensImage = DelegationTokensImage.EMPTY
    unknown: tuple[VersionedRecord, ...] = ()
    """Records of types that a newer release wrote: kept in their order, so that a snapshot does not lose them."""

    EMPTY: ClassVar[MetadataImage]

    def to_records(self, on_loss: Callable[[str], None] = logger.warning) -> Iterator[VersionedRecord]:
        """Records that replay to an equal image, at the versions that its metadata.version asks for.

        `on_loss` hears what that version can't hold; an image that was made by records of that version loses nothing.
        """
        yield from self.features.to_records()
        if self.is_empty:
            return
        level = self.features.require_metadata_version()
        yield from self.cluster.to_records(level, on_loss)
        yield from self.topics.to_records(level, on_loss)
        yield from self.configs.to_records()
        yield from self.client_quotas.to_records()
        if self.next_producer_id != NO_PRODUCER_IDS:
            record = types.ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id)
            yield VersionedRecord(record, 0)
        yield from self.acls.to_records()
        yield from self.scram.to_records(level, on_loss)
        yield from self.delegation_tokens.to_records(level, on_loss)
        yield from self.unknown

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it but, perhaps, features."""
        return self == MetadataImage(self.provenance, self.features)


MetadataImage.EMPTY = MetadataImage()


class MetadataDelta:
    """Changes to an image. A record that contradicts it raises ReplayError; the delta is then to be thrown away."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.features = FeaturesDelta(image.features)
        self.cluster = ClusterDelta(image.cluster)
        self.topics = TopicsDelta(image.topics)
        self.configs = ConfigurationsDelta(image.configs)
        self.client_quotas = ClientQuotasDelta(image.client_quotas)
        self.acls = AclsDelta(image.acls)
        self.scram = ScramDelta(image.scram)
        self.delegation_tokens = DelegationTokensDelta(image.delegation_tokens)
        self.next_producer_id = image.next_producer_id
        self._unknown: list[VersionedRecord] = []

    def replay(self, record: Message | UnknownRecord) -> None:
        """Take in one record. Transaction markers are not for a delta: see `loader`."""
        if isinstance(record, UnknownRecord):
            self._unknown.append(VersionedRecord(record, record.version))
            return
        replay = _REPLAYS.get(type(record))
        if replay is None:
            raise ReplayError(f"{type(record).__name__} can't be replayed on its own")
        replay(self, record)

    def _remove_topic(self, record: types.RemoveTopicRecord) -> None:
        self.configs.replay_remove_topic(self.topics.replay_remove(record))

    def _producer_ids(self, record: types.ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    def apply(self, provenance: Provenance) -> MetadataImage:
        """The next image, which ends at the given place of the log."""
        return MetadataImage(
            provenance=provenance,
            features=self.features.apply(),
            cluster=self.cluster.apply(),
            topics=self.topics.apply(),
            configs=self.configs.apply(),
            client_quotas=self.client_quotas.apply(),
            next_producer_id=self.next_producer_id,
            acls=self.acls.apply(),
            scram=self.scram.apply(),
            delegation_tokens=self.delegation_tokens.apply(),
            unknown=(*self.image.unknown, *self._unknown),
        )


def _nothing(_delta: MetadataDelta, _record: Any) -> None:
    """Records that move the offset only."""


_REPLAYS: Final[dict[type[Message], Callable[[MetadataDelta, Any], None]]] = {
    types.RegisterBrokerRecord: lambda delta, record: delta.cluster.replay_register_broker(record),
    types.UnregisterBrokerRecord: lambda delta, record: delta.cluster.replay_unregister_broker(record),
    types.FenceBrokerRecord: lambda delta, record: delta.cluster.replay_fence(record),
    types.UnfenceBrokerRecord: lambda delta, record: delta.cluster.replay_unfence(record),
    types.BrokerRegistrationChangeRecord: lambda delta, record: delta.cluster.replay_change(record),
    types.RegisterControllerRecord: lambda delta, record: delta.cluster.replay_register_controller(record),
    types.TopicRecord: lambda delta, record: delta.topics.replay_topic(record),
    types.PartitionRecord: lambda delta, record: delta.topics.replay_partition(record),
    types.PartitionChangeRecord: lambda delta, record: delta.topics.replay_partition_change(record),
    types.ClearElrRecord: lambda delta, record: delta.topics.replay_clear_elr(record),
    types.RemoveTopicRecord: MetadataDelta._remove_topic,
    types.ConfigRecord: lambda delta, record: delta.configs.replay(record),
    types.ClientQuotaRecord: lambda delta, record: delta.client_quotas.replay(record),
    types.ProducerIdsRecord: MetadataDelta._producer_ids,
    types.FeatureLevelRecord: lambda delta, record: delta.features.replay(record),
    types.AccessControlEntryRecord: lambda delta, record: delta.acls.replay(record),
    types.RemoveAccessControlEntryRecord: lambda delta, record: delta.acls.replay_remove(record),
    types.UserScramCredentialRecord: lambda delta, record: delta.scram.replay(record),
    types.RemoveUserScramCredentialRecord: lambda delta, record: delta.scram.replay_remove(record),
    types.DelegationTokenRecord: lambda delta, record: delta.delegation_tokens.replay(record),
    types.RemoveDelegationTokenRecord: lambda delta, record: delta.delegation_tokens.replay_remove(record),
    types.NoOpRecord: _nothing,
    types.ZkMigrationStateRecord: _nothing,
}
