"""kafka-python: pure Python, chooses versions by itself, and its admin client offers nearly every API."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from doorkeeper import Doorkeeper

kafka_python = pytest.importorskip("kafka")
kafka_admin = pytest.importorskip("kafka.admin")

PATIENCE_SECONDS = 20
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]
LIBRARIES = {"snappy": "snappy", "lz4": "lz4.frame"}
"""What kafka-python needs for a codec, and does not bring along."""
ODD_CLIENT_ID = 'a b/c:d*é"\n😀'
RESOURCES = [
    ("TOPIC", None, "retention.ms", "1234567"),
    ("BROKER", "1", "log.cleaner.threads", "2"),
    ("GROUP", "readers", "consumer.session.timeout.ms", "50000"),
    ("CLIENT_METRICS", "subscription", "interval.ms", "2000"),
    ("BROKER_LOGGER", "1", "doorkeeper.net", "DEBUG"),
]


@pytest.fixture
def admin(running: Doorkeeper) -> Iterator[Any]:
    client = kafka_admin.KafkaAdminClient(bootstrap_servers=running.bootstrap_servers, client_id=ODD_CLIENT_ID)
    yield client
    client.close()


def send(running: Doorkeeper, topic: str, count: int, **settings: Any) -> list[int]:
    """Produce numbers to partition 0, and return their offsets."""
    producer = kafka_python.KafkaProducer(bootstrap_servers=running.bootstrap_servers, **settings)
    sent = [
        producer.send(topic, b"%d" % number, partition=0, timestamp_ms=1_700_000_000_000 + number)
        for number in range(count)
    ]
    offsets = [one.get(PATIENCE_SECONDS).offset for one in sent]
    producer.close()
    return offsets


def consumer_of(running: Doorkeeper, *topics: str, group: str | None = None, **settings: Any) -> Any:
    usual = {"bootstrap_servers": running.bootstrap_servers, "auto_offset_reset": "earliest"}
    quick = {"consumer_timeout_ms": PATIENCE_SECONDS * 1000, "enable_auto_commit": False}
    return kafka_python.KafkaConsumer(*topics, group_id=group, **usual, **quick, **settings)


# --- records and groups ---


@pytest.mark.parametrize("codec", CODECS)
def test_reads_what_it_wrote(running: Doorkeeper, topic: str, codec: str | None) -> None:
    if codec in LIBRARIES:
        pytest.importorskip(LIBRARIES[codec])
    assert send(running, topic, 30, compression_type=codec) == list(range(30))
    consumer = consumer_of(running, topic)
    assert [next(consumer).value for _ in range(30)] == [b"%d" % number for number in range(30)]
    consumer.close()


def test_finds_offsets_and_seeks(running: Doorkeeper, topic: str) -> None:
    send(running, topic, 5)
    where = kafka_python.TopicPartition(topic, 0)
    consumer = consumer_of(running)
    consumer.assign([where])
    assert consumer.beginning_offsets([where]) == {where: 0}
    assert consumer.end_offsets([where]) == {where: 5}
    assert consumer.offsets_for_times({where: 1_700_000_000_003})[where].offset == 3
    consumer.seek(where, 4)
    assert next(consumer).value == b"4"
    consumer.seek_to_beginning(where)
    assert next(consumer).value == b"0"
    consumer.close()


@pytest.mark.parametrize("instance", [None, "static"])
def test_group_goes_on_where_it_stopped(running: Doorkeeper, topic: str, instance: str | None) -> None:
    group = f"readers-{uuid4()}"
    send(running, topic, 3)
    first = consumer_of(running, topic, group=group, group_instance_id=instance)
    assert [next(first).value for _ in range(2)] == [b"0", b"1"]
    first.commit()
    where = kafka_python.TopicPartition(topic, 0)
    assert first.committed(where) == 2
    first.close()
    second = consumer_of(running, topic, group=group, group_instance_id=instance)
    assert next(second).value == b"2"
    second.close()


def test_members_share_partitions(running: Doorkeeper, topic: str) -> None:
    group = f"readers-{uuid4()}"
    members = [consumer_of(running, topic, group=group, heartbeat_interval_ms=200) for _ in range(2)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    owned: list[list[int]] = []
    while sorted(owned) != [[0], [1]] and time.monotonic() < deadline:
        for one in members:
            one.poll(50)
        owned = [sorted(part.partition for part in one.assignment()) for one in members]
    for one in members:
        one.close()
    assert sorted(owned) == [[0], [1]]


# --- the admin client ---


def test_topics_are_made_described_grown_and_deleted(admin: Any) -> None:
    name = f"made-{uuid4()}"
    admin.create_topics([kafka_admin.NewTopic(name=name, num_partitions=2, replication_factor=1)])
    (described,) = admin.describe_topics([name])
    assert len(described["partitions"]) == 2
    admin.create_partitions({name: kafka_admin.NewPartitions(3)})
    (described,) = admin.describe_topics([name])
    assert len(described["partitions"]) == 3
    assert name in admin.list_topics()
    admin.delete_topics([name])
    assert name not in admin.list_topics()


def test_cluster_is_described(admin: Any) -> None:
    assert sorted(one["broker_id"] for one in admin.describe_cluster()["brokers"]) == [1, 2]
    assert admin.describe_metadata_quorum()
    assert admin.describe_features()


def test_partitions_stay_where_they_are(admin: Any, topic: str) -> None:
    assert not admin.list_partition_reassignments()


def test_groups_are_listed_described_and_deleted(running: Doorkeeper, admin: Any, topic: str) -> None:
    group = f"readers-{uuid4()}"
    send(running, topic, 2)
    consumer = consumer_of(running, topic, group=group)
    next(consumer)
    consumer.commit()
    assert group in repr(admin.list_groups())
    assert "stable" in repr(admin.describe_groups([group])).lower()
    consumer.close()
    assert "offset=1" in repr(admin.list_group_offsets(group))
    admin.delete_groups([group])
    assert group not in repr(admin.list_groups())


def test_every_type_with_configs_that_the_client_offers_is_asked() -> None:
    without_configs = {"UNKNOWN", "ANY", "TRANSACTIONAL_ID"}
    assert {one.name for one in kafka_admin.ConfigResourceType} - without_configs <= {row[0] for row in RESOURCES}


@pytest.mark.parametrize(
    ("kind", "name", "key", "value"), [row for row in RESOURCES if hasattr(kafka_admin.ConfigResourceType, row[0])]
)
def test_configs_are_set_and_described(
    admin: Any, topic: str, kind: str, name: str | None, key: str, value: str
) -> None:
    named = getattr(kafka_admin.ConfigResourceType, kind), name or topic
    admin.alter_configs([kafka_admin.ConfigResource(*named, configs={key: value})])
    described = repr(admin.describe_configs([kafka_admin.ConfigResource(*named)]))
    assert f"'{value}'" in described or f'"{value}"' in described


def test_acls_are_made_found_and_deleted(admin: Any) -> None:
    pattern = kafka_admin.ResourcePattern(kafka_admin.ResourceType.TOPIC, "ledger")
    rule = {"principal": "User:carol", "host": "*", "operation": kafka_admin.ACLOperation.READ}
    acl = kafka_admin.ACL(permission_type=kafka_admin.ACLPermissionType.ALLOW, resource_pattern=pattern, **rule)
    admin.create_acls([acl])
    wanted = kafka_admin.ACLFilter(
        permission_type=kafka_admin.ACLPermissionType.ANY,
        resource_pattern=kafka_admin.ResourcePatternFilter(
            kafka_admin.ResourceType.TOPIC, "ledger", kafka_admin.ACLResourcePatternType.LITERAL
        ),
        **rule,
    )
    assert "carol" in repr(admin.describe_acls(wanted))
    admin.delete_acls([wanted])
    assert "carol" not in repr(admin.describe_acls(wanted))


def test_records_are_deleted(running: Doorkeeper, admin: Any, topic: str) -> None:
    send(running, topic, 3)
    where = kafka_python.TopicPartition(topic, 0)
    admin.delete_records({where: 2})
    consumer = consumer_of(running)
    assert consumer.beginning_offsets([where]) == {where: 2}
    consumer.close()
