"""Let Kafka's own classes write coordinator records, and keep the bytes.

    python tools/make_coordinator_vectors.py --jars .cache/kafka-4.3.1

The table below holds every record type of `__consumer_offsets` at every version, with empty, plain and odd content,
and the embedded consumer protocol. The answers go to `tests/vectors/coordinator-records-<version>.jsonl`: a header,
then lines `[record type, version, key, value, key bytes, value bytes]`, messages in Kafka's JSON, bytes in hexadecimal.
"""

from __future__ import annotations

import base64
import dataclasses
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.extract_facts import ROOT
from tools.record_vectors import answered, write

from doorkeeper.wire import consumer_protocol
from doorkeeper.wire import coordinator_records as records
from doorkeeper.wire.metadata.schema import Message, Struct, specs_of

VERSION = "4.3.1"
VECTORS = ROOT / "tests" / "vectors" / f"coordinator-records-{VERSION}.jsonl"
TOPIC_A = uuid.UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
TOPIC_B = uuid.UUID(int=0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFE)
LONG = "g" * 300
ODD = "ж😀\u0000é"


def camel(name: str) -> str:
    """Kafka's spelling of a field name."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def to_json(value: Any, version: int) -> Any:
    """A message in Kafka's JSON, without the fields that the version does not have."""
    if isinstance(value, Struct):
        return {
            camel(name): to_json(getattr(value, name), version)
            for name, spec in specs_of(type(value)).items()
            if spec.since <= version <= (version if spec.until is None else spec.until)
        }
    if isinstance(value, tuple):
        return [to_json(item, version) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    return value


def from_json(kind: type[Struct], content: dict[str, Any]) -> Struct:
    """The message that Kafka's JSON means."""
    values: dict[str, Any] = {}
    for name, spec in specs_of(kind).items():
        if camel(name) not in content:
            continue
        raw = content[camel(name)]
        items = raw if spec.is_array else [raw]
        if raw is None:
            values[name] = None
            continue
        read = [_scalar(spec.kafka_type, spec.struct, item) for item in items]
        values[name] = tuple(read) if spec.is_array else read[0]
    return kind(**values)


def _scalar(kafka_type: str, struct: type[Struct] | None, raw: Any) -> Any:
    if kafka_type == "struct":
        assert struct is not None
        return from_json(struct, raw)
    if kafka_type == "bytes":
        return base64.b64decode(raw)
    if kafka_type == "uuid":
        return uuid.UUID(bytes=base64.urlsafe_b64decode(raw + "=="))
    return raw


def offsets() -> Iterator[records.CoordinatorRecord]:
    legacy = records.LegacyOffsetCommitKey(group="g", topic="t", partition=1)
    yield records.CoordinatorRecord(legacy)
    yield records.CoordinatorRecord(legacy, records.LegacyOffsetCommitValue(offset=1, metadata=ODD, commit_timestamp=2))
    for group, topic, partition in (("", "", 0), ("g", "t", 2147483647), (LONG, "a" * 249, -1), (ODD, "t", 7)):
        key = records.OffsetCommitKey(group=group, topic=topic, partition=partition)
        yield records.CoordinatorRecord(key)
        for version in range(5):
            yield records.CoordinatorRecord(key, records.OffsetCommitValue(), version)
            value = records.OffsetCommitValue(
                offset=2**63 - 1,
                leader_epoch=7,
                metadata=ODD * 40,
                commit_timestamp=1_700_000_000_000,
                expire_timestamp=1_800_000_000_000,
                topic_id=TOPIC_B,
            )
            yield records.CoordinatorRecord(key, value, version)


def classic_groups() -> Iterator[records.CoordinatorRecord]:
    member = records.MemberMetadata(
        member_id=str(TOPIC_A),
        group_instance_id="instance-1",
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout=300_000,
        session_timeout=45_000,
        subscription=b"\x00\x01" * 70,
        assignment=b"",
    )
    for group in ("g", LONG):
        key = records.GroupMetadataKey(group=group)
        yield records.CoordinatorRecord(key)
        for version in range(5):
            empty = records.GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=12)
            full = records.GroupMetadataValue(
                protocol_type="consumer",
                generation=3,
                protocol="range",
                leader=str(TOPIC_A),
                current_state_timestamp=1_700_000_000_000,
                members=(member, dataclasses.replace(member, member_id=ODD, group_instance_id=None)),
            )
            yield records.CoordinatorRecord(key, empty, version)
            yield records.CoordinatorRecord(key, full, version)


def consumer_groups() -> Iterator[records.CoordinatorRecord]:
    group = records.ConsumerGroupMetadataKey(group_id="g")
    yield records.CoordinatorRecord(group)
    yield records.CoordinatorRecord(group, records.ConsumerGroupMetadataValue(epoch=10))
    yield records.CoordinatorRecord(group, records.ConsumerGroupMetadataValue(epoch=11, metadata_hash=-(2**63)))
    partitions = records.ConsumerGroupPartitionMetadataKey(group_id="g")
    yield records.CoordinatorRecord(partitions)
    topic = records.TopicMetadata(
        topic_id=TOPIC_A,
        topic_name="t",
        num_partitions=2,
        partition_metadata=(records.PartitionMetadata(partition=1, racks=("a", "b")), records.PartitionMetadata()),
    )
    yield records.CoordinatorRecord(partitions, records.ConsumerGroupPartitionMetadataValue(topics=(topic,)))
    target = records.ConsumerGroupTargetAssignmentMetadataKey(group_id="g")
    yield records.CoordinatorRecord(target)
    for timestamp in (0, 1_700_000_000_000):
        epoch = records.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=2, assignment_timestamp=timestamp)
        yield records.CoordinatorRecord(target, epoch)
    regex = records.ConsumerGroupRegularExpressionKey(group_id="g", regular_expression="foo.*|" + ODD)
    yield records.CoordinatorRecord(regex)
    resolved = records.ConsumerGroupRegularExpressionValue(topics=("foo", "foo-1"), version=5, timestamp=6)
    yield records.CoordinatorRecord(regex, resolved)
    yield from consumer_members()


def consumer_members() -> Iterator[records.CoordinatorRecord]:
    key = records.ConsumerGroupMemberMetadataKey(group_id="g", member_id=str(TOPIC_A))
    yield records.CoordinatorRecord(key)
    protocols = (records.ClassicProtocol(name="range", metadata=b"\x00\x03"), records.ClassicProtocol())
    for classic in (
        None,
        records.ClassicMemberMetadata(),
        records.ClassicMemberMetadata(session_timeout_ms=6000, supported_protocols=protocols),
    ):
        value = records.ConsumerGroupMemberMetadataValue(
            instance_id=None,
            rack_id="rack-é",
            client_id="client",
            client_host="/127.0.0.1",
            subscribed_topic_names=("a", "b"),
            subscribed_topic_regex="" if classic else None,
            rebalance_timeout_ms=45_000,
            server_assignor=None if classic else "uniform",
            classic_member_metadata=classic,
        )
        yield records.CoordinatorRecord(key, value)
    target = records.ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="m")
    yield records.CoordinatorRecord(target)
    yield records.CoordinatorRecord(target, records.ConsumerGroupTargetAssignmentMemberValue())
    topics = tuple(records.TargetTopicPartitions(topic_id=t, partitions=(0, 127, 128)) for t in (TOPIC_A, TOPIC_B))
    yield records.CoordinatorRecord(target, records.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics))
    current = records.ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m")
    yield records.CoordinatorRecord(current)
    for epochs in (None, (), (3, 4)):
        owned = records.CurrentTopicPartitions(topic_id=TOPIC_A, partitions=(1, 2), assignment_epochs=epochs)
        assigned = records.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=-2,
            previous_member_epoch=9,
            state=2,
            assigned_partitions=(owned, owned),
            partitions_pending_revocation=(owned,),
        )
        yield records.CoordinatorRecord(current, assigned)


def embedded() -> Iterator[tuple[str, int, Message]]:
    """The consumer protocol inside JoinGroup and SyncGroup."""
    owned = (consumer_protocol.NamedPartitions(topic="t", partitions=(1, 2)),)
    for version in range(4):
        yield "subscription", version, consumer_protocol.Subscription()
        full = consumer_protocol.Subscription(
            topics=("a", "b"), user_data=b"\x01", owned_partitions=owned, generation_id=4, rack_id="r"
        )
        yield "subscription", version, full
        yield "assignment", version, consumer_protocol.Assignment()
        yield "assignment", version, consumer_protocol.Assignment(assigned_partitions=owned, user_data=b"\x02\x03")


def table() -> Iterator[list[Any]]:
    """Yield every question: record type, version, key, value."""
    for source in (offsets(), classic_groups(), consumer_groups()):
        for record in source:
            value = None if record.value is None else to_json(record.value, record.version)
            yield [record.key.api_key, record.version, to_json(record.key, 0), value]
    for kind, version, message in embedded():
        yield [kind, version, None, to_json(message, version)]


def vectors(jars: Path) -> str:
    """Return the text of the vectors file."""
    rows = list(table())
    return answered("CoordinatorVectors.java", jars, VERSION, rows)


if __name__ == "__main__":
    sys.exit(write(__doc__, vectors, VECTORS))
