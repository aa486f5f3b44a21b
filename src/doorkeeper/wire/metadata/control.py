"""The raft layer's own records: control records of the metadata log and its snapshots.

Schemas: `common/message/` in Kafka 4.3.1's kafka-clients jar; numbers: its ControlRecordType.
A control record's key is (version int16, type int16); its value is a flexible message without Kafka's metadata frame.
"""

# ruff: noqa: RUF009 (the calls make dataclass fields)

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar, Final
from uuid import UUID

from doorkeeper.errors import RecordError
from doorkeeper.wire.metadata.schema import (
    Message,
    Struct,
    integer,
    read_struct,
    string,
    struct_array,
    struct_field,
    uuid,
    write_struct,
)
from doorkeeper.wire.metadata.serde import UnknownRecord

_KEY: Final = struct.Struct(">hh")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderVoter(Struct):
    """LeaderChangeMessage.Voter."""

    voter_id: int = integer("int32")
    voter_directory_id: UUID = uuid(since=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChangeMessage(Message):
    """The first record of a leader's epoch."""

    api_key: ClassVar[int] = 2
    highest_version: ClassVar[int] = 1
    version: int = integer("int16")
    leader_id: int = integer("int32")
    voters: tuple[LeaderVoter, ...] = struct_array(LeaderVoter)
    granting_voters: tuple[LeaderVoter, ...] = struct_array(LeaderVoter)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHeaderRecord(Message):
    api_key: ClassVar[int] = 3
    highest_version: ClassVar[int] = 0
    version: int = integer("int16")
    last_contained_log_timestamp: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFooterRecord(Message):
    api_key: ClassVar[int] = 4
    highest_version: ClassVar[int] = 0
    version: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionRecord(Message):
    api_key: ClassVar[int] = 5
    highest_version: ClassVar[int] = 0
    version: int = integer("int16")
    k_raft_version: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterEndpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = integer("uint16")


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionFeature(Struct):
    min_supported_version: int = integer("int16")
    max_supported_version: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter(Struct):
    """VotersRecord.Voter."""

    voter_id: int = integer("int32")
    voter_directory_id: UUID = uuid()
    endpoints: tuple[VoterEndpoint, ...] = struct_array(VoterEndpoint)
    k_raft_version_feature: KRaftVersionFeature = struct_field(KRaftVersionFeature)


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersRecord(Message):
    api_key: ClassVar[int] = 6
    highest_version: ClassVar[int] = 0
    version: int = integer("int16")
    voters: tuple[Voter, ...] = struct_array(Voter)


CONTROL_RECORDS: Final[tuple[type[Message], ...]] = (
    LeaderChangeMessage,
    SnapshotHeaderRecord,
    SnapshotFooterRecord,
    KRaftVersionRecord,
    VotersRecord,
)
_BY_TYPE: Final = {record.api_key: record for record in CONTROL_RECORDS}


def read_control_record(key: bytes | None, value: bytes | None) -> tuple[Message | UnknownRecord, int]:
    """Read a control record and the version it was written at, which its own first field says."""
    if key is None or value is None or len(key) < _KEY.size or len(value) < 2:
        raise RecordError("a control record without type or content")
    _, number = _KEY.unpack_from(key)
    version = int.from_bytes(value[:2], "big", signed=True)
    kind = _BY_TYPE.get(number)
    if kind is None or not 0 <= version <= kind.highest_version:
        return UnknownRecord(number, version, value), version
    return read_struct(kind, version, value), version


def write_control_record(message: Message, version: int = 0) -> tuple[bytes, bytes]:
    """Key and value of a control record."""
    out = bytearray()
    write_struct(out, version, message)
    return _KEY.pack(0, message.api_key), bytes(out)
