"""The record types of Kafka's metadata log, each declared once for all its versions.

Names, numbers, types, versions, tags and defaults are those of the JSON schemas in Kafka 4.3.1's kafka-metadata jar
(`common/metadata/`). One is ours: RegisterBrokerRecord version 5, with StaticConfigs in tagged field 2 (KAFKA-19931).
Secrets are left out of `repr`.
"""

# ruff: noqa: RUF009 (the calls make dataclass fields)

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final
from uuid import UUID

from doorkeeper.wire.metadata.schema import (
    Message,
    Struct,
    array,
    boolean,
    float64,
    integer,
    nullable_array,
    nullable_string,
    secret_bytes,
    string,
    struct_array,
    uuid,
)

NO_LEADER_CHANGE: Final = -2
"""PartitionChangeRecord.Leader: the leader stays. (-1 means: no leader.)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Struct):
    """BrokerEndpoint and ControllerEndpoint."""

    name: str = string()
    host: str = string()
    port: int = integer("uint16")
    security_protocol: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedFeature(Struct):
    """BrokerFeature and ControllerFeature."""

    name: str = string()
    min_supported_version: int = integer("int16")
    max_supported_version: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStaticConfig(Struct):
    """One entry of a broker's server.properties, as reported at registration; never a sensitive one."""

    name: str = string()
    value: str | None = nullable_string()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecord(Message):
    api_key: ClassVar[int] = 0
    highest_version: ClassVar[int] = 5
    broker_id: int = integer("int32")
    is_migrating_zk_broker: bool = boolean(since=2)
    incarnation_id: UUID = uuid()
    broker_epoch: int = integer("int64")
    end_points: tuple[Endpoint, ...] = struct_array(Endpoint)
    features: tuple[SupportedFeature, ...] = struct_array(SupportedFeature)
    rack: str | None = nullable_string()
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean(since=1)
    log_dirs: tuple[UUID, ...] = array("uuid", since=3, tag=0)
    cordoned_log_dirs: tuple[UUID, ...] | None = nullable_array("uuid", since=4, tag=1)
    static_configs: tuple[BrokerStaticConfig, ...] = struct_array(BrokerStaticConfig, since=5, tag=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecord(Message):
    api_key: ClassVar[int] = 1
    highest_version: ClassVar[int] = 0
    broker_id: int = integer("int32")
    broker_epoch: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord(Message):
    api_key: ClassVar[int] = 2
    highest_version: ClassVar[int] = 0
    name: str = string()
    topic_id: UUID = uuid()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord(Message):
    api_key: ClassVar[int] = 3
    highest_version: ClassVar[int] = 2
    partition_id: int = integer("int32", default=-1)
    topic_id: UUID = uuid()
    replicas: tuple[int, ...] = array("int32")
    isr: tuple[int, ...] = array("int32")
    removing_replicas: tuple[int, ...] = array("int32")
    adding_replicas: tuple[int, ...] = array("int32")
    leader: int = integer("int32", default=-1)
    leader_recovery_state: int = integer("int8", tag=0)
    leader_epoch: int = integer("int32", default=-1)
    partition_epoch: int = integer("int32", default=-1)
    directories: tuple[UUID, ...] = array("uuid", since=1)
    eligible_leader_replicas: tuple[int, ...] | None = nullable_array("int32", since=2, tag=1)
    last_known_elr: tuple[int, ...] | None = nullable_array("int32", since=2, tag=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord(Message):
    """A null value removes the key. The value may be a password, so `repr` has none."""

    api_key: ClassVar[int] = 4
    highest_version: ClassVar[int] = 0
    resource_type: int = integer("int8")
    resource_name: str = string()
    name: str = string()
    value: str | None = nullable_string(secret=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecord(Message):
    """Null, -1 (recovery state) and -2 (leader) mean: as it was."""

    api_key: ClassVar[int] = 5
    highest_version: ClassVar[int] = 2
    partition_id: int = integer("int32", default=-1)
    topic_id: UUID = uuid()
    isr: tuple[int, ...] | None = nullable_array("int32", tag=0)
    leader: int = integer("int32", default=NO_LEADER_CHANGE, tag=1)
    replicas: tuple[int, ...] | None = nullable_array("int32", tag=2)
    removing_replicas: tuple[int, ...] | None = nullable_array("int32", tag=3)
    adding_replicas: tuple[int, ...] | None = nullable_array("int32", tag=4)
    leader_recovery_state: int = integer("int8", default=-1, tag=5)
    directories: tuple[UUID, ...] | None = nullable_array("uuid", since=1, tag=8)
    eligible_leader_replicas: tuple[int, ...] | None = nullable_array("int32", since=2, tag=6)
    last_known_elr: tuple[int, ...] | None = nullable_array("int32", since=2, tag=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecord(Message):
    api_key: ClassVar[int] = 7
    highest_version: ClassVar[int] = 0
    id: int = integer("int32")
    epoch: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecord(Message):
    api_key: ClassVar[int] = 8
    highest_version: ClassVar[int] = 0
    id: int = integer("int32")
    epoch: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecord(Message):
    api_key: ClassVar[int] = 9
    highest_version: ClassVar[int] = 0
    topic_id: UUID = uuid()


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecord(Message):
    api_key: ClassVar[int] = 10
    highest_version: ClassVar[int] = 0
    owner: str = string()
    requester: str = string()
    renewers: tuple[str, ...] = array("string")
    issue_timestamp: int = integer("int64")
    max_timestamp: int = integer("int64")
    expiration_timestamp: int = integer("int64")
    token_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialRecord(Message):
    api_key: ClassVar[int] = 11
    highest_version: ClassVar[int] = 0
    name: str = string()
    mechanism: int = integer("int8")
    salt: bytes = secret_bytes()
    stored_key: bytes = secret_bytes()
    server_key: bytes = secret_bytes()
    iterations: int = integer("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecord(Message):
    """Level 0 removes the feature. Every log and snapshot begins with the one of `metadata.version`."""

    api_key: ClassVar[int] = 12
    highest_version: ClassVar[int] = 0
    name: str = string()
    feature_level: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntity(Struct):
    """EntityData: one part of who a quota is for; a null name means the default of that type."""

    entity_type: str = string()
    entity_name: str | None = nullable_string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaRecord(Message):
    api_key: ClassVar[int] = 14
    highest_version: ClassVar[int] = 0
    entity: tuple[QuotaEntity, ...] = struct_array(QuotaEntity)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecord(Message):
    api_key: ClassVar[int] = 15
    highest_version: ClassVar[int] = 0
    broker_id: int = integer("int32")
    broker_epoch: int = integer("int64", default=-1)
    next_producer_id: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecord(Message):
    """Fenced and InControlledShutdown: -1 turns it off, 1 on, 0 leaves it. No log dirs: as they were."""

    api_key: ClassVar[int] = 17
    highest_version: ClassVar[int] = 3
    broker_id: int = integer("int32")
    broker_epoch: int = integer("int64")
    fenced: int = integer("int8", tag=0)
    in_controlled_shutdown: int = integer("int8", since=1, tag=1)
    log_dirs: tuple[UUID, ...] = array("uuid", since=2, tag=2)
    cordoned_log_dirs: tuple[UUID, ...] | None = nullable_array("uuid", since=3, tag=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecord(Message):
    api_key: ClassVar[int] = 18
    highest_version: ClassVar[int] = 0
    id: UUID = uuid()
    resource_type: int = integer("int8")
    resource_name: str = string()
    pattern_type: int = integer("int8")
    principal: str = string()
    host: str = string()
    operation: int = integer("int8")
    permission_type: int = integer("int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecord(Message):
    api_key: ClassVar[int] = 19
    highest_version: ClassVar[int] = 0
    id: UUID = uuid()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord(Message):
    api_key: ClassVar[int] = 20
    highest_version: ClassVar[int] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecord(Message):
    api_key: ClassVar[int] = 21
    highest_version: ClassVar[int] = 0
    zk_migration_state: int = integer("int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecord(Message):
    api_key: ClassVar[int] = 22
    highest_version: ClassVar[int] = 0
    name: str = string()
    mechanism: int = integer("int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecord(Message):
    api_key: ClassVar[int] = 23
    highest_version: ClassVar[int] = 0
    name: str | None = nullable_string(default=None, tag=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecord(Message):
    api_key: ClassVar[int] = 24
    highest_version: ClassVar[int] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord(Message):
    api_key: ClassVar[int] = 25
    highest_version: ClassVar[int] = 0
    reason: str | None = nullable_string(default=None, tag=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDelegationTokenRecord(Message):
    api_key: ClassVar[int] = 26
    highest_version: ClassVar[int] = 0
    token_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecord(Message):
    api_key: ClassVar[int] = 27
    highest_version: ClassVar[int] = 0
    controller_id: int = integer("int32")
    incarnation_id: UUID = uuid()
    zk_migration_ready: bool = boolean()
    end_points: tuple[Endpoint, ...] = struct_array(Endpoint)
    features: tuple[SupportedFeature, ...] = struct_array(SupportedFeature)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearElrRecord(Message):
    """An empty topic name means every topic."""

    api_key: ClassVar[int] = 28
    highest_version: ClassVar[int] = 0
    topic_name: str = string()


METADATA_RECORDS: Final[tuple[type[Message], ...]] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    RemoveTopicRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
    FeatureLevelRecord,
    ClientQuotaRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    NoOpRecord,
    ZkMigrationStateRecord,
    RemoveUserScramCredentialRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RemoveDelegationTokenRecord,
    RegisterControllerRecord,
    ClearElrRecord,
)
"""Every type; 6, 13 and 16 are gaps in Kafka's numbering too."""
