"""What kafka-python's admin client asks beyond topics, groups, configs and ACLs: nearly every API of Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from doorkeeper import Doorkeeper

kafka_python = pytest.importorskip("kafka")
kafka_admin = pytest.importorskip("kafka.admin")


@pytest.fixture
def admin(running: Doorkeeper) -> Iterator[Any]:
    client = kafka_admin.KafkaAdminClient(bootstrap_servers=running.bootstrap_servers)
    yield client
    client.close()


def test_log_directories_producers_and_transactions_are_described(admin: Any, topic: str) -> None:
    places = [place for broker in admin.describe_log_dirs() for place in broker["log_dirs"]]
    assert {"name": topic} in [{"name": one["name"]} for place in places for one in place["topics"]]
    where = kafka_python.TopicPartition(topic, 0)
    assert admin.describe_producers([where])[where].active_producers == []
    assert set(admin.list_transactions()) == {1, 2}
    assert admin.find_hanging_transactions() is not None


def test_transactional_id_that_is_not_there(admin: Any) -> None:
    with pytest.raises(kafka_python.errors.TransactionalIdNotFoundError):
        admin.describe_transactions(["nobodys"])


def test_partitions_are_described_page_by_page(admin: Any, topic: str) -> None:
    (described,) = admin.describe_topic_partitions([topic])["topics"]
    assert [(one["partition_index"], len(one["isr_nodes"])) for one in described["partitions"]] == [(0, 1), (1, 1)]


def test_offsets_of_a_group_are_set_reset_and_deleted(admin: Any, topic: str) -> None:
    group, where = f"readers-{uuid4()}", kafka_python.TopicPartition(topic, 0)
    admin.alter_group_offsets(group, {where: kafka_python.OffsetAndMetadata(7, "note", -1)})
    assert admin.list_group_offsets(group)[group][where].offset == 7
    assert admin.reset_group_offsets(group, {where: -2})[where]["offset"] == 0
    assert admin.list_group_offsets(group)[group][where].offset == 0
    admin.delete_group_offsets(group, [where])
    assert where not in admin.list_group_offsets(group)[group]


def test_partitions_stay_with_their_leader(admin: Any, topic: str) -> None:
    where = kafka_python.TopicPartition(topic, 0)
    (described,) = admin.describe_topics([topic])
    leader = described["partitions"][0]["leader_id"]
    assert admin.alter_partition_reassignments({where: [leader]}) == {where: None}
    assert admin.list_partition_reassignments() == {}
    assert admin.list_partition_offsets({where: -1})[where].offset == 0


def test_resources_features_and_versions_are_told(admin: Any, topic: str) -> None:
    assert topic in admin.list_config_resources()["topic"]
    assert admin.describe_features()["transaction.version"]["finalized"] == (2, 2)
    assert admin.get_broker_version_data(1).broker_version >= (4, 0)


def test_credentials_of_nobody(admin: Any) -> None:
    assert "nobody" not in admin.describe_user_scram_credentials()
