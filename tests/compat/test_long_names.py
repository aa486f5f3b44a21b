"""What `docs/explanation/long-names-that-exist.md` says about getting rid of long names, with Kafka's own tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.cluster.coordinators import have_coordinators
from tests.cluster.running import RunningCluster
from tests.compat.java_tools import Tools
from tests.kafka.tools import KafkaTools

from doorkeeper.client import Admin, AlterConfigOp, ConfigResource, ResourceType

SWITCH = "resource.identifier.limit.enable"
LONG = "x" * 250
CONFIGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}


@pytest.fixture(scope="module")
def tools(kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """A group, an ACL and a quota with long names, made before the switch was turned on."""
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=CONFIGS) as cluster:
        have_coordinators(cluster)
        made = Tools(kafka_tools, cluster)
        topic = made.topic(lines=1)
        made.consumed(topic, 1, f"--group {LONG} --command-property client.id=reader")
        made("kafka-acls", f"--add --allow-principal User:{LONG} --operation Read --topic orders")
        quota = "--alter --add-config producer_byte_rate=1024"
        made("kafka-configs", f"{quota} --entity-type users --entity-name {LONG}")
        asyncio.run(turn_on(cluster))
        yield made


async def turn_on(cluster: RunningCluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        changes = {ConfigResource(ResourceType.BROKER, ""): [AlterConfigOp(SWITCH, "true")]}
        (await admin.incremental_alter_configs(changes)).require()


def test_a_group_is_described_and_deleted(tools: Tools) -> None:
    assert LONG in tools("kafka-consumer-groups", f"--describe --group {LONG}")
    assert "was successful" in tools("kafka-consumer-groups", f"--delete --group {LONG}")
    assert LONG not in tools("kafka-consumer-groups", "--list")
    # The tool ends well whatever it is told, and of what it is told it shows the code.
    assert "InvalidRequestException" in tools("kafka-consumer-groups", f"--delete --group {LONG}")


def test_an_acl_is_listed_and_removed(tools: Tools) -> None:
    who = f"--allow-principal User:{LONG} --operation Read --topic orders"
    assert f"User:{LONG}" in tools("kafka-acls", f"--list --principal User:{LONG}")
    tools("kafka-acls", f"--remove --force {who}")
    assert LONG not in tools("kafka-acls", "--list")
    said = tools.refused("kafka-acls", f"--add {who}")
    assert "ACL principal is too long: 255" in said.out + said.err


def test_a_quota_is_described_and_removed(tools: Tools) -> None:
    entity = f"--entity-type users --entity-name {LONG}"
    assert "producer_byte_rate=1024" in tools("kafka-configs", f"--describe {entity}")
    tools("kafka-configs", f"--alter --delete-config producer_byte_rate {entity}")
    said = tools.refused("kafka-configs", f"--alter --add-config producer_byte_rate=1024 {entity}")
    assert "Resource name is too long: 250" in said.out + said.err
