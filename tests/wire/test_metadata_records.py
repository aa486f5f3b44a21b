"""Metadata and control records against the bytes that Kafka's own classes wrote, and against damage."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cluster.metadata_json import record_to_json
from doorkeeper.errors import RecordError
from doorkeeper.wire.metadata.control import CONTROL_RECORDS, read_control_record, write_control_record
from doorkeeper.wire.metadata.levels import MetadataVersion, parse_metadata_version
from doorkeeper.wire.metadata.schema import Message, lowest_version
from doorkeeper.wire.metadata.serde import (
    UnknownRecord,
    VersionedRecord,
    read_metadata_record,
    write_metadata_record,
)
from doorkeeper.wire.metadata.types import (
    METADATA_RECORDS,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    BrokerStaticConfig,
    ConfigRecord,
    Endpoint,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UserScramCredentialRecord,
)

VECTORS = Path(__file__).parents[1] / "vectors" / "metadata-records-4.3.1.jsonl"


@dataclass(frozen=True)
class Vector:
    type: str
    version: int
    fill: str
    data: bytes
    fields: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.type}-v{self.version}-{self.fill}"


def read_vectors() -> Iterator[Vector]:
    header, *rows = (json.loads(line) for line in VECTORS.read_text(encoding="utf-8").split("\n") if line)
    assert header == {"kafka_version": "4.3.1"}
    for row in rows:
        yield Vector(row["type"], row["version"], row["fill"], base64.b64decode(row["bytes"]), row["fields"])


CONTROL_NAMES = {record.__name__: record for record in CONTROL_RECORDS}
ALL = list(read_vectors())
METADATA = [vector for vector in ALL if vector.type not in CONTROL_NAMES]
CONTROL = [vector for vector in ALL if vector.type in CONTROL_NAMES]


class TestKafkaWroteIt:
    @pytest.mark.parametrize("vector", METADATA, ids=str)
    def test_reads_and_writes_a_metadata_record_byte_for_byte(self, vector: Vector) -> None:
        record = read_metadata_record(vector.data)
        assert type(record.message).__name__ == vector.type
        assert record.version == vector.version
        assert write_metadata_record(record) == vector.data

    @pytest.mark.parametrize("vector", CONTROL, ids=str)
    def test_reads_and_writes_a_control_record_byte_for_byte(self, vector: Vector) -> None:
        key = b"\x00\x00" + CONTROL_NAMES[vector.type].api_key.to_bytes(2, "big")
        message, version = read_control_record(key, vector.data)
        assert isinstance(message, Message)
        assert (type(message).__name__, version) == (vector.type, vector.version)
        assert write_control_record(message, version) == (key, vector.data)

    @pytest.mark.parametrize(
        "vector", [v for v in METADATA if v.type not in ("ConfigRecord", "UserScramCredentialRecord")], ids=str
    )
    def test_shows_the_fields_that_kafkas_own_converter_shows(self, vector: Vector) -> None:
        shown = record_to_json(read_metadata_record(vector.data))["fields"]
        shown.pop("unknownTaggedFields", None)
        assert shown == vector.fields

    def test_vectors_cover_every_version_of_every_type_that_kafka_has(self) -> None:
        ours = {
            (kind.__name__, version)
            for kind in (*METADATA_RECORDS, *CONTROL_RECORDS)
            for version in range(kind.highest_version + 1)
        }
        kafkas = {(vector.type, vector.version) for vector in ALL}
        assert ours - kafkas == {("RegisterBrokerRecord", 5)}
        assert kafkas <= ours


class TestStaticConfigs:
    """RegisterBrokerRecord version 5, which no Kafka writes yet (KAFKA-19931)."""

    # Version 4 of Kafka's vector "plain" ends in its tagged fields: 02 (two of them), tag 0, tag 1. Version 5 has the
    # same fields before them, and one tag more: number 02, its size, and a compact array of (name, value, no tags).
    TAG = bytes([2, 18, 3]) + b"\x02n\x028\x00" + b"\x0along.name" + b"\x00\x00"

    RECORD = RegisterBrokerRecord(
        broker_id=7,
        incarnation_id=UUID(int=5),
        broker_epoch=9,
        end_points=(Endpoint(name="P", host="h", port=9092),),
        rack=None,
        static_configs=(
            BrokerStaticConfig(name="n", value="8"),
            BrokerStaticConfig(name="long.name", value=None),
        ),
    )

    def test_writes_them_in_tagged_field_two(self) -> None:
        expected = (
            bytes([1, 0, 5])  # frame version, type, version
            + (7).to_bytes(4, "big")
            + bytes([0])  # is no migrating ZooKeeper broker
            + UUID(int=5).bytes
            + (9).to_bytes(8, "big")
            + bytes([2])
            + b"\x02P\x02h"
            + (9092).to_bytes(2, "big")
            + bytes([0, 0, 0])  # security protocol, no tags
            + bytes([1])  # no features
            + bytes([0])  # no rack
            + bytes([1, 0])  # fenced, not in controlled shutdown
            + bytes([1])  # one tagged field
            + self.TAG
        )
        assert len(self.TAG) == 2 + self.TAG[1]
        assert write_metadata_record(VersionedRecord(self.RECORD, 5)) == expected
        assert read_metadata_record(expected).message == self.RECORD

    @pytest.mark.parametrize(
        "vector", [v for v in METADATA if (v.type, v.version) == ("RegisterBrokerRecord", 4)], ids=str
    )
    def test_version_five_without_them_differs_from_four_in_its_number_only(self, vector: Vector) -> None:
        message = read_metadata_record(vector.data).message
        assert write_metadata_record(VersionedRecord(message, 5)) == bytes([1, 0, 5]) + vector.data[3:]

    def test_version_four_refuses_to_lose_them(self) -> None:
        with pytest.raises(RecordError, match="version 4 of RegisterBrokerRecord can't carry static_configs"):
            write_metadata_record(VersionedRecord(self.RECORD, 4))

    def test_a_reader_of_version_four_keeps_the_tag_it_does_not_know(self) -> None:
        data = bytearray(write_metadata_record(VersionedRecord(self.RECORD, 5)))
        data[2] = 4
        record = read_metadata_record(bytes(data))
        assert isinstance(record.message, RegisterBrokerRecord)
        assert record.message.static_configs == ()
        assert record.message.unknown_tags == ((2, self.TAG[2:]),)
        assert write_metadata_record(record) == data


class TestNulls:
    @pytest.mark.parametrize(
        "data", [bytes([1, 5, 0]) + bytes(20) + bytes([1, 0, 1, 0]), bytes([1, 23, 0, 1, 0, 1, 0])]
    )
    def test_a_tagged_field_may_say_null_though_kafka_leaves_it_out(self, data: bytes) -> None:
        message = read_metadata_record(data).message
        assert isinstance(message, PartitionChangeRecord | BeginTransactionRecord)
        assert (message.isr if isinstance(message, PartitionChangeRecord) else message.name) is None


class TestUnknownThings:
    def test_keeps_a_record_of_an_unknown_type(self) -> None:
        record = read_metadata_record(bytes([1, 99, 3]) + b"whatever")
        assert record == VersionedRecord(UnknownRecord(99, 3, b"whatever"), 3)
        assert write_metadata_record(record) == bytes([1, 99, 3]) + b"whatever"

    def test_keeps_a_record_of_an_unknown_version(self) -> None:
        assert read_metadata_record(bytes([1, 20, 1, 0])).message == UnknownRecord(20, 1, b"\x00")

    def test_keeps_an_unknown_control_record(self) -> None:
        message, version = read_control_record(bytes([0, 0, 0, 9]), bytes([0, 4, 1]))
        assert message == UnknownRecord(9, 4, bytes([0, 4, 1]))
        assert version == 4

    def test_refuses_to_write_a_tag_twice(self) -> None:
        record = BrokerRegistrationChangeRecord(fenced=1, unknown_tags=((0, b"x"),))
        with pytest.raises(RecordError, match="tag 0 is both fenced and an unknown field"):
            write_metadata_record(VersionedRecord(record, 0))


class TestDamage:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (None, "without a value"),
            (b"", "frame of a metadata record is malformed"),
            (bytes([0, 20, 0, 0]), "frame version 0"),
            (bytes([2, 20, 0, 0]), "frame version 2"),
            (b"\x01\xff\xff\xff\xff\xff", "longer than 32 bits"),
            (b"\x01\x80\x80\x04\x00", "above 32767"),
            (bytes([1, 20, 0]), "NoOpRecord version 0 is malformed"),
            (bytes([1, 20, 0, 0, 0]), "1 bytes follow NoOpRecord"),
            (bytes([1, 12, 0, 0, 0, 0, 0]), "null where a value is required"),
            (bytes([1, 11, 0, 2, 65, 1, 0]), "null where a value is required"),
            (bytes([1, 14, 0, 0]), "null where a value is required"),
            (bytes([1, 12, 0, 9, 65]), "8 bytes are announced, 1 are left"),
            (bytes([1, 12, 0, 2, 0xFF, 0, 0, 0]), "can't decode byte 0xff"),
            (bytes([1, 20, 0, 2, 5, 0, 5, 0]), "tag 5 follows tag 5"),
            (bytes([1, 23, 0, 1, 0, 4, 2, 65, 0, 0]), "2 bytes are left over in tagged field name"),
            (bytes([1, 14, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x07]), "2147483646 items are announced, 0 bytes are left"),
        ],
    )
    def test_refuses_with_a_reason(self, data: bytes | None, message: str) -> None:
        with pytest.raises(RecordError, match=message):
            read_metadata_record(data)

    @pytest.mark.parametrize(
        ("key", "value"), [(None, b"\0\0"), (b"\0\0", b"\0\0"), (b"\0\0\0\2", None), (b"\0\0\0\2", b"")]
    )
    def test_refuses_a_control_record_without_type_or_content(self, key: bytes | None, value: bytes | None) -> None:
        with pytest.raises(RecordError, match="without type or content"):
            read_control_record(key, value)

    @given(st.sampled_from(METADATA), st.data())
    def test_any_damage_gives_a_record_or_our_error(self, vector: Vector, data: st.DataObject) -> None:
        damaged = bytearray(vector.data)
        for _ in range(data.draw(st.integers(1, 4))):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
        cut = damaged[: data.draw(st.integers(0, len(damaged)))]
        for case in (bytes(damaged), bytes(cut)):
            try:
                record = read_metadata_record(case)
            except RecordError:
                continue
            write_metadata_record(record)

    @given(st.binary(max_size=4), st.binary(max_size=40))
    def test_any_bytes_give_a_record_or_our_error(self, key: bytes, value: bytes) -> None:
        with suppress(RecordError):
            read_metadata_record(value)
        with suppress(RecordError):
            read_control_record(key, value)

    @pytest.mark.parametrize(
        "record",
        [
            VersionedRecord(NoOpRecord(), 1),
            VersionedRecord(NoOpRecord(), -1),
            VersionedRecord(FeatureLevelRecord(feature_level=40000), 0),
            VersionedRecord(FeatureLevelRecord(name=None), 0),  # type: ignore[arg-type]
            VersionedRecord(UserScramCredentialRecord(salt=None), 0),  # type: ignore[arg-type]
            VersionedRecord(RegisterBrokerRecord(end_points=None), 0),  # type: ignore[arg-type]
            VersionedRecord(FeatureLevelRecord(name="\ud800"), 0),
        ],
    )
    def test_refuses_to_write_what_kafka_could_not_read(self, record: VersionedRecord) -> None:
        with pytest.raises(RecordError):
            write_metadata_record(record)


class TestSecrets:
    def test_stay_out_of_repr(self) -> None:
        scram = UserScramCredentialRecord(name="u", salt=b"hush", stored_key=b"hush", server_key=b"hush")
        config = ConfigRecord(resource_type=4, name="k", value="hush")
        unknown = UnknownRecord(99, 0, b"hush")
        tagged = NoOpRecord(unknown_tags=((9, b"hush"),))
        for record in (scram, config, unknown, tagged):
            assert "hush" not in repr(VersionedRecord(record, 0))


class TestVersions:
    @pytest.mark.parametrize(
        ("record", "version"),
        [
            (BrokerRegistrationChangeRecord(fenced=1), 0),
            (BrokerRegistrationChangeRecord(fenced=1, in_controlled_shutdown=1), 1),
            (BrokerRegistrationChangeRecord(log_dirs=(UUID(int=3),)), 2),
            (BrokerRegistrationChangeRecord(cordoned_log_dirs=()), 3),
        ],
    )
    def test_lowest_version_is_the_first_that_carries_the_fields(self, record: Message, version: int) -> None:
        assert lowest_version(record) == version
        write_metadata_record(VersionedRecord(record, version))

    @pytest.mark.parametrize(
        ("level", "register", "partition"),
        [
            (MetadataVersion.IBP_3_3_IV3, 1, 0),
            (MetadataVersion.IBP_3_4_IV0, 2, 0),
            (MetadataVersion.IBP_3_7_IV1, 2, 0),
            (MetadataVersion.IBP_3_7_IV2, 3, 1),
            (MetadataVersion.IBP_4_0_IV0, 3, 1),
            (MetadataVersion.IBP_4_0_IV1, 3, 2),
            (MetadataVersion.IBP_4_2_IV1, 3, 2),
            (MetadataVersion.IBP_4_3_IV0, 4, 2),
            (MetadataVersion.IBP_4_4_IV0, 4, 2),
            (MetadataVersion.DOORKEEPER, 5, 2),
        ],
    )
    def test_level_gates_record_versions(self, level: MetadataVersion, register: int, partition: int) -> None:
        assert level.register_broker_record_version == register
        assert level.partition_record_version == partition

    @pytest.mark.parametrize(
        ("text", "level"),
        [
            ("4.3-IV0", MetadataVersion.IBP_4_3_IV0),
            ("4.3", MetadataVersion.IBP_4_3_IV0),
            ("4.3.1", MetadataVersion.IBP_4_3_IV0),
            ("4.0", MetadataVersion.IBP_4_0_IV3),
            ("4.4-IV0", MetadataVersion.IBP_4_4_IV0),
            ("4.4", None),
            ("doorkeeper", MetadataVersion.DOORKEEPER),
            ("3.2", None),
            ("", None),
            ("IV0", None),
        ],
    )
    def test_reads_the_name_of_a_level(self, text: str, level: MetadataVersion | None) -> None:
        assert parse_metadata_version(text) is level

    def test_ours_is_above_every_level_of_kafka(self) -> None:
        assert max(MetadataVersion) is MetadataVersion.DOORKEEPER
