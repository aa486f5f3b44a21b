"""confluent-kafka's admin client: every call that it offers."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from doorkeeper import Doorkeeper

confluent = pytest.importorskip("confluent_kafka")
admin_module = pytest.importorskip("confluent_kafka.admin")

SECONDS = 20
ODD_CLIENT_ID = 'a b/c:d*é"\n😀'
RESOURCES = [
    ("TOPIC", None, "retention.ms", "1234567"),
    ("BROKER", "1", "log.cleaner.threads", "2"),
    ("GROUP", "readers", "consumer.session.timeout.ms", "50000"),
    ("CLIENT_METRICS", "subscription", "interval.ms", "2000"),
    ("BROKER_LOGGER", "1", "doorkeeper.net", "DEBUG"),
]


@pytest.fixture(scope="module")
def admin(running: Doorkeeper) -> Any:
    return admin_module.AdminClient({"bootstrap.servers": running.bootstrap_servers, "client.id": ODD_CLIENT_ID})


def result(futures: dict[Any, Any]) -> Any:
    """The one answer."""
    (future,) = futures.values()
    return future.result(SECONDS)


def consume(running: Doorkeeper, topic: str, group: str, protocol: str) -> None:
    """Write a record, read it, commit."""
    producer = confluent.Producer({"bootstrap.servers": running.bootstrap_servers})
    producer.produce(topic, b"a", partition=0)
    assert producer.flush(SECONDS) == 0
    settings = {"bootstrap.servers": running.bootstrap_servers, "group.id": group, "group.protocol": protocol}
    consumer = confluent.Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topic])
    assert consumer.poll(SECONDS).value() == b"a"
    consumer.commit(asynchronous=False)
    consumer.close()


# --- topics and records ---


def test_topics_are_made_described_grown_and_deleted(admin: Any) -> None:
    name = f"made-{uuid4()}"
    result(admin.create_topics([admin_module.NewTopic(name, 2, 1, config={"retention.ms": "5000"})]))
    described = result(admin.describe_topics(confluent.TopicCollection([name])))
    assert [(one.id, len(one.replicas)) for one in described.partitions] == [(0, 1), (1, 1)]
    assert {one.leader.id for one in described.partitions} == {1, 2}
    result(admin.create_partitions([admin_module.NewPartitions(name, 3)]))
    assert len(admin.list_topics(name, timeout=SECONDS).topics[name].partitions) == 3
    result(admin.delete_topics([name]))
    assert name not in admin.list_topics(timeout=SECONDS).topics


def test_refusals_carry_kafkas_codes(admin: Any, topic: str) -> None:
    code = confluent.KafkaError
    cases = [
        (admin_module.NewTopic(topic, 1), code.TOPIC_ALREADY_EXISTS),
        (admin_module.NewTopic("a/b", 1), code.TOPIC_EXCEPTION),
        (admin_module.NewTopic("b", 0), code.INVALID_PARTITIONS),
        (admin_module.NewTopic("c", 1, 2), code.INVALID_REPLICATION_FACTOR),
        (admin_module.NewTopic("d", 1, config={"retention.ms": "x"}), code.INVALID_CONFIG),
    ]
    for new, expected in cases:
        with pytest.raises(confluent.KafkaException) as caught:
            result(admin.create_topics([new]))
        assert caught.value.args[0].code() == expected, new


def test_only_asking_changes_nothing(admin: Any) -> None:
    result(admin.create_topics([admin_module.NewTopic("asked-only", 1)], validate_only=True))
    assert "asked-only" not in admin.list_topics(timeout=SECONDS).topics


def test_records_are_deleted_and_offsets_listed(running: Doorkeeper, admin: Any, topic: str) -> None:
    producer = confluent.Producer({"bootstrap.servers": running.bootstrap_servers})
    for number in range(5):
        producer.produce(topic, b"%d" % number, partition=0, timestamp=1_700_000_000_000 + number)
    producer.flush(SECONDS)
    where = confluent.TopicPartition(topic, 0, 2)
    assert result(admin.delete_records([where])).low_watermark == 2
    spec = admin_module.OffsetSpec
    asked = [spec.earliest(), spec.latest(), spec.max_timestamp(), spec.for_timestamp(1_700_000_000_003)]
    found = [result(admin.list_offsets({confluent.TopicPartition(topic, 0): one})).offset for one in asked]
    assert found == [2, 5, 4, 3]


def test_election_is_not_needed(admin: Any, topic: str) -> None:
    kind = confluent.ElectionType.PREFERRED
    told = admin.elect_leaders(kind, [confluent.TopicPartition(topic, 0)]).result(SECONDS)
    assert [error.name() for error in told.values()] == ["ELECTION_NOT_NEEDED"]


# --- groups ---


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_are_listed_described_moved_and_deleted(
    running: Doorkeeper, admin: Any, topic: str, protocol: str
) -> None:
    group = f"readers-{uuid4()}"
    consume(running, topic, group, protocol)
    listed = {one.group_id: one for one in admin.list_consumer_groups().result(SECONDS).valid}
    assert listed[group].state.name == "EMPTY"
    assert listed[group].type.name == protocol.upper()
    assert result(admin.describe_consumer_groups([group])).state.name == "EMPTY"
    asked = confluent.ConsumerGroupTopicPartitions
    told = result(admin.list_consumer_group_offsets([asked(group)]))
    assert [(one.topic, one.partition, one.offset) for one in told.topic_partitions if one.partition == 0] == [
        (topic, 0, 1)
    ]
    moved = asked(group, [confluent.TopicPartition(topic, 0, 0)])
    result(admin.alter_consumer_group_offsets([moved]))
    told = result(admin.list_consumer_group_offsets([asked(group, [confluent.TopicPartition(topic, 0)])]))
    assert [one.offset for one in told.topic_partitions] == [0]
    result(admin.delete_consumer_groups([group]))
    assert group not in {one.group_id for one in admin.list_consumer_groups().result(SECONDS).valid}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_described(running: Doorkeeper, admin: Any, topic: str, protocol: str) -> None:
    group = f"readers-{uuid4()}"
    settings = {"bootstrap.servers": running.bootstrap_servers, "group.id": group, "client.id": "me"}
    consumer = confluent.Consumer({**settings, "group.protocol": protocol, "group.instance.id": "static"})
    consumer.subscribe([topic])
    while len(consumer.assignment()) < 2:
        consumer.poll(0.1)
    described = result(admin.describe_consumer_groups([group], include_authorized_operations=True))
    (member,) = described.members
    assert (member.client_id, member.group_instance_id) == ("me", "static")
    assert sorted(one.partition for one in member.assignment.topic_partitions) == [0, 1]
    assert described.authorized_operations
    consumer.close()


def test_group_that_is_not_there(admin: Any) -> None:
    nobody = result(admin.describe_consumer_groups(["nobodys"]))
    assert nobody.state.name == "DEAD"
    with pytest.raises(confluent.KafkaException) as caught:
        result(admin.delete_consumer_groups(["nobodys"]))
    assert caught.value.args[0].code() == confluent.KafkaError.GROUP_ID_NOT_FOUND


# --- configs, ACLs, credentials, the cluster ---


def test_every_type_with_configs_that_the_client_offers_is_asked() -> None:
    without_configs = {"UNKNOWN", "ANY", "TRANSACTIONAL_ID"}
    assert {one.name for one in admin_module.ResourceType} - without_configs <= {row[0] for row in RESOURCES}


@pytest.mark.parametrize(
    ("kind", "name", "key", "value"), [row for row in RESOURCES if hasattr(admin_module.ResourceType, row[0])]
)
def test_configs_are_set_and_described(
    admin: Any, topic: str, kind: str, name: str | None, key: str, value: str
) -> None:
    named = getattr(admin_module.ResourceType, kind), name or topic
    entry = admin_module.ConfigEntry(key, value, incremental_operation=admin_module.AlterConfigOpType.SET)
    result(admin.incremental_alter_configs([admin_module.ConfigResource(*named, incremental_configs=[entry])]))
    assert result(admin.describe_configs([admin_module.ConfigResource(*named)]))[key].value == value


def test_acls_are_made_found_and_deleted(admin: Any) -> None:
    kinds = admin_module
    rule = ("ledger", kinds.ResourcePatternType.LITERAL, "User:alice", "*", kinds.AclOperation.READ)
    binding = kinds.AclBinding(kinds.ResourceType.TOPIC, *rule, kinds.AclPermissionType.ALLOW)
    result(admin.create_acls([binding]))
    wanted = kinds.AclBindingFilter(kinds.ResourceType.TOPIC, *rule, kinds.AclPermissionType.ALLOW)
    assert admin.describe_acls(wanted).result(SECONDS) == [binding]
    assert result(admin.delete_acls([wanted])) == [binding]
    assert admin.describe_acls(wanted).result(SECONDS) == []


def test_credentials_are_stored_and_described(admin: Any) -> None:
    info = admin_module.ScramCredentialInfo(admin_module.ScramMechanism.SCRAM_SHA_256, 8192)
    result(admin.alter_user_scram_credentials([admin_module.UserScramCredentialUpsertion("bob", info, b"hush")]))
    told = admin.describe_user_scram_credentials(["bob"])["bob"].result(SECONDS)
    assert [(one.mechanism.name, one.iterations) for one in told.scram_credential_infos] == [("SCRAM_SHA_256", 8192)]


def test_cluster_is_described(admin: Any) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(SECONDS)
    assert sorted(node.id for node in described.nodes) == [1, 2]
    assert described.controller.id in (1, 2)
    assert described.authorized_operations
