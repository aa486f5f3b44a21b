"""Segments: every identifier of the coordinators' records, nothing of users' records, and no fall over broken bytes."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.stored import TIME, batch_of, rows_of, segment, sightings, totals
from tools.make_newer_group_vectors import filled

from doorkeeper.audit.batches import StoredBatch, Trouble, walk_batches
from doorkeeper.audit.readers import ReadOptions
from doorkeeper.audit.segments import read_range, read_stored_record, recognise, topic_of
from doorkeeper.audit.stored_identifiers import IDENTIFIERS, NO_IDENTIFIERS, identifiers_of, is_broker_made
from doorkeeper.wire import consumer_protocol
from doorkeeper.wire import coordinator_records as groups
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.coordinator_records import CoordinatorRecord, RecordKey
from doorkeeper.wire.metadata.schema import Message, Struct, specs_of
from doorkeeper.wire.records import Record, write_batch
from doorkeeper.wire.share_group_records import (
    SHARE_GROUP_RECORDS,
    SHARE_STATE_RECORDS,
    ShareGroupMemberMetadataKey,
    ShareSnapshotKey,
    ShareSnapshotValue,
)
from doorkeeper.wire.share_group_records import ShareGroupMemberMetadataValue as ShareMember
from doorkeeper.wire.streams_group_records import STREAMS_GROUP_RECORDS
from doorkeeper.wire.transaction_records import TransactionLogKey, TransactionLogValue

EVERY_TYPE: list[tuple[type[RecordKey], type[Message]]] = [
    *groups.RECORD_TYPES,
    *SHARE_GROUP_RECORDS,
    *STREAMS_GROUP_RECORDS,
    *SHARE_STATE_RECORDS,
    (TransactionLogKey, TransactionLogValue),
]
UUID = "8d8ac610-566d-4ef0-9c22-186b2a5ed792"
LONG = "g" * 250
LAWFUL = "g" * 249


def structs(kind: type[Struct]) -> Iterator[type[Struct]]:
    yield kind
    for spec in specs_of(kind).values():
        if spec.struct is not None:
            yield from structs(spec.struct)


def strings(kind: type[Struct]) -> set[str]:
    return {name for name, spec in specs_of(kind).items() if spec.kafka_type == "string"}


@pytest.mark.parametrize("kind", sorted({s for pair in EVERY_TYPE for k in pair for s in structs(k)}, key=str))
def test_every_string_of_every_record_is_an_identifier_or_none_for_a_reason(kind: type[Struct]) -> None:
    assert strings(kind) == IDENTIFIERS.get(kind, {}).keys() | NO_IDENTIFIERS.get(kind, {}).keys()
    assert not IDENTIFIERS.get(kind, {}).keys() & NO_IDENTIFIERS.get(kind, {}).keys()


@pytest.mark.parametrize("pair", EVERY_TYPE, ids=lambda pair: pair[0].__name__)
def test_finds_as_many_identifiers_as_the_record_has(pair: tuple[type[RecordKey], type[Message]]) -> None:
    key, value = filled(pair[0]), filled(pair[1])
    assert isinstance(key, RecordKey)
    assert isinstance(value, Message)

    def count(struct: Struct) -> int:
        found = 0
        for name, spec in specs_of(type(struct)).items():
            values = getattr(struct, name) if spec.is_array else (getattr(struct, name),)
            if name in IDENTIFIERS.get(type(struct), {}):
                found += len(values)
            elif spec.struct is not None:
                found += sum(map(count, values))
        return found

    members = len(value.members) if isinstance(value, groups.GroupMetadataValue) else 1
    assert len(list(identifiers_of(CoordinatorRecord(key, value)))) == members * count(key) + count(value)


@pytest.mark.parametrize(
    ("member_id", "expected"),
    [
        (f"consumer-1-{UUID}", True),
        (f"{'x' * 300}-{UUID.upper()}", True),
        (f"-{UUID}", True),
        (UUID, False),
        (f"consumer-1-{UUID}x", False),
        (f"consumer-1{UUID}", False),
        ("x" * 37, False),
        ("", False),
    ],
)
def test_knows_a_member_id_that_a_broker_made(member_id: str, expected: bool) -> None:
    assert is_broker_made(member_id) is expected


def member(member_id: str, **values: Any) -> CoordinatorRecord:
    key = groups.ConsumerGroupMemberMetadataKey(group_id="g", member_id=member_id)
    value = groups.ConsumerGroupMemberMetadataValue(
        instance_id=None, rack_id=None, subscribed_topic_regex=None, server_assignor=None, **values
    )
    return CoordinatorRecord(key, value)


@pytest.mark.parametrize("compression", list(Compression), ids=lambda one: one.name)
def test_tells_what_breaks_a_rule_and_nothing_else(tmp_path: Path, compression: Compression) -> None:
    lawful = [
        CoordinatorRecord(
            groups.OffsetCommitKey(group=LAWFUL, topic="t"), groups.OffsetCommitValue(metadata="m" * 4096)
        ),
        member(f"{LONG}-{UUID}", client_id="plain"),
        member("m" * 36, client_id="plain"),
    ]
    unlawful = [
        CoordinatorRecord(groups.OffsetCommitKey(group=LONG, topic="t"), groups.OffsetCommitValue(metadata="m" * 4097)),
        member("m" * 37, client_id="not plain", client_host="/10.0.0.7"),
        CoordinatorRecord(groups.ConsumerGroupMetadataKey(group_id="gone" + LONG)),
        CoordinatorRecord(
            ShareGroupMemberMetadataKey(group_id="s" * 250, member_id=UUID), ShareMember(rack_id="r" * 250)
        ),
    ]
    path = segment(tmp_path, "__consumer_offsets-7", [batch_of(lawful), batch_of(unlawful, 10, compression)])
    rows = rows_of(read_range, path)
    assert sightings(rows) == [
        ("client_id", "not plain"),
        ("group_id", LONG),
        ("group_id", "s" * 250),
        ("member_id", "m" * 37),
        ("offset_metadata", "m" * 4097),
        ("rack_id", "r" * 250),
    ]
    assert totals(rows) == {("judged", ""): 6, ("ignored", "tombstone"): 1}
    (one,) = (row for row in rows if row.get("kind") == "member_id")
    assert (one["client_id"], one["address"], one["door"]) == ("not plain", "10.0.0.7", "broker")
    assert one["where"] == "ConsumerGroupMemberMetadataKey.memberId"
    assert one["first_seen"].timestamp() * 1000 == TIME + 11


def test_tells_a_classic_group_with_every_client_in_it_and_opens_its_subscriptions(tmp_path: Path) -> None:
    subscription = consumer_protocol.write_subscription(
        consumer_protocol.Subscription(topics=("t",), rack_id="r" * 250)
    )
    members = tuple(
        groups.MemberMetadata(
            member_id=f"{client}-{UUID}", group_instance_id=None, client_id=client, client_host="/h", subscription=data
        )
        for client, data in (("a", subscription), ("b", b"\xff"))
    )
    value = groups.GroupMetadataValue(protocol_type="consumer", protocol="range", leader=None, members=members)
    record = CoordinatorRecord(groups.GroupMetadataKey(group=LONG), value, 4)
    rows = rows_of(read_range, segment(tmp_path, "__consumer_offsets-0", [batch_of([record])]))
    told = sorted((row["kind"], row["client_id"]) for row in rows if row["entry"] == "sighting")
    assert told == [("group_id", "a"), ("group_id", "b"), ("rack_id", "a")]


def test_leaves_the_bytes_of_other_protocols_alone(tmp_path: Path) -> None:
    subscription = consumer_protocol.write_subscription(consumer_protocol.Subscription(topics=("t" * 250,)))
    members = (groups.MemberMetadata(group_instance_id=None, subscription=subscription),)
    value = groups.GroupMetadataValue(protocol_type="connect", protocol="v1", leader=None, members=members)
    record = CoordinatorRecord(groups.GroupMetadataKey(group="g"), value, 4)
    assert sightings(rows_of(read_range, segment(tmp_path, "__consumer_offsets-0", [batch_of([record])]))) == []


def test_reads_transactional_ids_and_groups_of_share_state(tmp_path: Path) -> None:
    transactions = [
        CoordinatorRecord(TransactionLogKey(transactional_id=name), TransactionLogValue(), 1) for name in (LAWFUL, LONG)
    ]
    states = [CoordinatorRecord(ShareSnapshotKey(group_id=LONG), ShareSnapshotValue())]
    assert sightings(rows_of(read_range, segment(tmp_path, "__transaction_state-3", [batch_of(transactions)]))) == [
        ("transactional_id", LONG)
    ]
    assert sightings(rows_of(read_range, segment(tmp_path, "__share_group_state-0", [batch_of(states)]))) == [
        ("group_id", LONG)
    ]


def test_counts_the_records_of_other_topics_without_opening_them(tmp_path: Path) -> None:
    garbled = bytearray(write_batch([Record(b"v")] * 3, base_offset=0, compression=Compression.NONE))
    zstd = write_batch([Record(b"v" * 100)] * 2, base_offset=3, compression=Compression.ZSTD)
    marker = write_batch([Record(b"v", b"\0\0\0\1")], base_offset=5, is_control=True, is_transactional=True)
    path = segment(tmp_path, "orders.eu-12", [bytes(garbled), zstd, marker])
    rows = rows_of(read_range, path)
    assert totals(rows) == {("ignored", "record of a topic, not decoded"): 5, ("ignored", "control record"): 1}
    assert sightings(rows) == []


def test_a_topics_name_is_its_directorys(tmp_path: Path) -> None:
    assert sightings(rows_of(read_range, segment(tmp_path, "bad name-0", []))) == [("topic_name", "bad name")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/d/orders-0/0.log", ("orders", True)),
        ("/d/a-b-3-12/0.log", ("a-b-3", True)),
        (f"/d/orders-0.{'a' * 32}-future/0.log", ("orders", True)),
        (f"/d/orde-0.{'a' * 32}-delete/0.log", ("orde", False)),
        ("s3://b/a%20b-0/0.log", ("a b", True)),
        ("/d/orders/0.log", None),
        ("0.log", None),
    ],
)
def test_reads_the_topic_out_of_the_path(path: str, expected: tuple[str, bool] | None) -> None:
    assert topic_of(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/d/orders-0/00000000000000000000.log", True),
        ("/d/orders-0/00000000000000000000.index", False),
        ("/d/__cluster_metadata-0/00000000000000000000.log", False),
        ("/var/log/kafka/server.log", False),
    ],
)
def test_recognises_segments_by_their_place(path: str, expected: bool) -> None:
    assert recognise(path, b"") is expected


def test_files_beside_segments_give_nothing(tmp_path: Path) -> None:
    path = tmp_path / "orders-0" / "00000000000000000000.index"
    path.parent.mkdir()
    path.write_bytes(b"\0" * 40)
    assert rows_of(read_range, path) == []


GOOD = batch_of([CoordinatorRecord(groups.GroupMetadataKey(group=LONG), groups.GroupMetadataValue())])


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("content", "reason", "place", "found"),
    [
        (GOOD + GOOD[:-1], "torn batch", len(GOOD), 1),
        (GOOD + GOOD[:14], "torn batch", len(GOOD), 1),
        (GOOD + flipped(GOOD, len(GOOD) - 1) + GOOD, "wrong checksum", len(GOOD), 2),
        (GOOD + b"\x07" * 100, "not a batch", len(GOOD), 1),
        (GOOD + GOOD[:16] + b"\x09" + GOOD[17:] + GOOD, "not a batch", len(GOOD), 1),
        (GOOD + GOOD[:16] + b"\x01" + GOOD[17:] + GOOD, "message format 1, which Kafka 4 has removed", len(GOOD), 2),
    ],
    ids=["torn", "torn in the overhead", "checksum", "garbage", "magic 9", "magic 1"],
)
def test_counts_what_is_broken_with_its_place_and_goes_on(
    tmp_path: Path, content: bytes, reason: str, place: int, found: int
) -> None:
    rows = rows_of(read_range, segment(tmp_path, "__consumer_offsets-0", [content]))
    assert totals(rows) == {("judged", ""): found, ("malformed", reason): 1}
    (total,) = (row for row in rows if row.get("outcome") == "malformed")
    assert total["line"] == place


@pytest.mark.parametrize("zeros", [1, 12, 61, 5000])
def test_a_preallocated_tail_is_the_end(tmp_path: Path, zeros: int) -> None:
    rows = rows_of(read_range, segment(tmp_path, "__consumer_offsets-0", [GOOD, b"\0" * zeros]))
    assert totals(rows) == {("judged", ""): 1}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (None, b"", ("malformed", "record without a key")),
        (b"\x00\x02\x00\x09g", b"\x00\x00", ("malformed", "record that is not what its type says")),
        (b"\x00\x09", b"x", ("ignored", "unknown record type 9")),
        (b"\x00\x02\x00\x01g", b"\x00\x63", ("ignored", "unknown record type 2")),
        (b"\x00\x02\x00\x01g", None, ("ignored", "tombstone")),
    ],
)
def test_says_why_a_record_was_not_judged(key: bytes | None, value: bytes | None, expected: tuple[str, str]) -> None:
    stored = read_stored_record("__consumer_offsets", key, value)
    assert (stored.outcome, stored.reason) == expected
    assert stored.sightings == ()


def test_only_the_time_asked_for_counts(tmp_path: Path) -> None:
    records = [
        CoordinatorRecord(groups.GroupMetadataKey(group=f"{LONG}{at}"), groups.GroupMetadataValue()) for at in range(4)
    ]
    path = segment(tmp_path, "__consumer_offsets-0", [batch_of(records)])
    rows = rows_of(read_range, path, ReadOptions(since=(TIME + 1) * 1000, until=(TIME + 3) * 1000))
    assert [value[-1] for _, value in sightings(rows)] == ["1", "2"]
    assert totals(rows) == {("judged", ""): 2, ("ignored", "outside --since and --until"): 2}


def commits(values: list[tuple[str, str, int]]) -> list[CoordinatorRecord]:
    return [
        CoordinatorRecord(
            groups.OffsetCommitKey(group=group, topic="t", partition=0),
            groups.OffsetCommitValue(metadata="m" * size),
            version,
        )
        for version, (group, _, size) in enumerate(values)
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from([LAWFUL, LONG, "g"]), st.just(""), st.sampled_from([0, 4000, 4096, 4097])), max_size=5
    )
)
def test_commits_under_known_keys_are_judged_as_if_each_were_the_first(values: list[tuple[str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        records = commits(values)
        path = segment(Path(folder), "__consumer_offsets-0", [batch_of(records * 2)] if records else [])
        fast, strict = (rows_of(read_range, path, ReadOptions(strict=strict)) for strict in (False, True))
    assert fast == strict
    expected = {("group_id", LONG) for group, _, _ in values if group == LONG}
    expected |= {("offset_metadata", "m" * 4097) for _, _, size in values if size == 4097}
    assert set(sightings(fast)) == expected


class Dribble(io.BytesIO):
    """A stream that gives one byte at a time, as a slow store may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1 if size else 0)


def test_a_stream_that_gives_little_at_a_time_gives_the_same() -> None:
    found = list(walk_batches(Dribble(GOOD + GOOD)))
    assert found == list(walk_batches(io.BytesIO(GOOD + GOOD)))
    assert len(found) == 2


@given(st.binary(max_size=300), st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_any_bytes_give_batches_or_troubles(garbage: bytes, at: int, byte: int) -> None:
    content = GOOD[:at] + bytes([byte]) + GOOD[at + 1 :] + garbage
    for found in walk_batches(io.BytesIO(content)):
        assert isinstance(found, StoredBatch | Trouble)
