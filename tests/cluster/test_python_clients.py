"""The Python clients that people use, against a running node: for every resource type that their admin API offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire

confluent_admin = pytest.importorskip("confluent_kafka.admin")
kafka_admin = pytest.importorskip("kafka.admin")

ODD_CLIENT_ID = 'a b/c:d*é"\n😀'
SECONDS = 20

RESOURCES = [
    ("TOPIC", "orders", "retention.ms", "1234567"),
    ("BROKER", "1", "log.cleaner.threads", "2"),
    ("GROUP", "readers", "consumer.session.timeout.ms", "50000"),
    ("CLIENT_METRICS", "subscription", "interval.ms", "2000"),
    ("BROKER_LOGGER", "1", "doorkeeper.net", "DEBUG"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        with running.connect() as connection:
            assert wire.create_topic(connection, "orders") == (0, None)
        yield running


def offered(kinds: Any) -> list[Any]:
    """The resources of a client's enumeration."""
    return [row for row in RESOURCES if hasattr(kinds, row[0])]


@pytest.mark.parametrize("kinds", [confluent_admin.ResourceType, kafka_admin.ConfigResourceType])
def test_every_type_with_configs_that_a_client_offers_is_asked(kinds: Any) -> None:
    without_configs = {"UNKNOWN", "ANY", "TRANSACTIONAL_ID"}
    assert {one.name for one in kinds} - without_configs <= {row[0] for row in RESOURCES}


@pytest.mark.parametrize(("kind", "name", "key", "value"), offered(confluent_admin.ResourceType))
def test_confluent_kafka_sets_and_describes(
    cluster: RunningCluster, kind: str, name: str, key: str, value: str
) -> None:
    admin = confluent_admin.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "client.id": ODD_CLIENT_ID})
    entry = confluent_admin.ConfigEntry(key, value, incremental_operation=confluent_admin.AlterConfigOpType.SET)
    resource = confluent_admin.ConfigResource(
        getattr(confluent_admin.ResourceType, kind), name, incremental_configs=[entry]
    )
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(SECONDS)
    asked = confluent_admin.ConfigResource(getattr(confluent_admin.ResourceType, kind), name)
    for future in admin.describe_configs([asked]).values():
        assert future.result(SECONDS)[key].value == value


@pytest.mark.parametrize(("kind", "name", "key", "value"), offered(kafka_admin.ConfigResourceType))
def test_kafka_python_sets_and_describes(cluster: RunningCluster, kind: str, name: str, key: str, value: str) -> None:
    admin = kafka_admin.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers, client_id=ODD_CLIENT_ID)
    try:
        kinds = kafka_admin.ConfigResourceType
        resource = kafka_admin.ConfigResource(getattr(kinds, kind), name, configs={key: value})
        admin.alter_configs([resource])
        described = admin.describe_configs([kafka_admin.ConfigResource(getattr(kinds, kind), name)])
    finally:
        admin.close()
    assert f"'{value}'" in repr(described) or f'"{value}"' in repr(described)


def test_confluent_kafka_lists_all_topics(cluster: RunningCluster) -> None:
    admin = confluent_admin.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    assert "orders" in admin.list_topics(timeout=SECONDS).topics
