"""Who may do what, and how they prove who they are: ACLs, SCRAM credentials, delegation tokens.

From AclsImage, ScramImage, DelegationTokenImage and their deltas. The images hold the records themselves, which are
frozen and keep their secrets out of `repr`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from doorkeeper.cluster.image.maps import MapDelta
from doorkeeper.cluster.image.registrations import OnLoss
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)


@dataclass(frozen=True, slots=True)
class AclsImage:
    acls: Mapping[UUID, AccessControlEntryRecord] = field(default_factory=dict)

    EMPTY: ClassVar[AclsImage]

    def to_records(self) -> Iterator[VersionedRecord]:
        for acl in self.acls.values():
            yield VersionedRecord(acl, 0)


AclsImage.EMPTY = AclsImage()


class AclsDelta:
    def __init__(self, image: AclsImage) -> None:
        self.acls = MapDelta(image.acls)

    def replay(self, record: AccessControlEntryRecord) -> None:
        self.acls.put(record.id, record)

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        if self.acls.get(record.id) is None:
            raise ReplayError(f"ACL {record.id} is removed, but there is none")
        self.acls.remove(record.id)

    def apply(self) -> AclsImage:
        return AclsImage(self.acls.apply())


ScramKey = tuple[int, str]
"""Mechanism (1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512) and user name."""


@dataclass(frozen=True, slots=True)
class ScramImage:
    credentials: Mapping[ScramKey, UserScramCredentialRecord] = field(default_factory=dict)

    EMPTY: ClassVar[ScramImage]

    def to_records(self, level: MetadataVersion, on_loss: OnLoss) -> Iterator[VersionedRecord]:
        if self.credentials and not level.has_scram:
            on_loss("SCRAM credentials")
            return
        for credential in self.credentials.values():
            yield VersionedRecord(credential, 0)


ScramImage.EMPTY = ScramImage()


class ScramDelta:
    def __init__(self, image: ScramImage) -> None:
        self.credentials = MapDelta(image.credentials)

    def replay(self, record: UserScramCredentialRecord) -> None:
        self.credentials.put((record.mechanism, record.name), record)

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self.credentials.remove((record.mechanism, record.name))

    def apply(self) -> ScramImage:
        return ScramImage(self.credentials.apply())


@dataclass(frozen=True, slots=True)
class DelegationTokensImage:
    tokens: Mapping[str, DelegationTokenRecord] = field(default_factory=dict)

    EMPTY: ClassVar[DelegationTokensImage]

    def to_records(self, level: MetadataVersion, on_loss: OnLoss) -> Iterator[VersionedRecord]:
        if self.tokens and not level.has_delegation_tokens:
            on_loss("delegation tokens")
            return
        for token in self.tokens.values():
            yield VersionedRecord(token, 0)


DelegationTokensImage.EMPTY = DelegationTokensImage()


class DelegationTokensDelta:
    def __init__(self, image: DelegationTokensImage) -> None:
        self.tokens = MapDelta(image.tokens)

    def replay(self, record: DelegationTokenRecord) -> None:
        self.tokens.put(record.token_id, record)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens.remove(record.token_id)

    def apply(self) -> DelegationTokensImage:
        return DelegationTokensImage(self.tokens.apply())
