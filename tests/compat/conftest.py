"""The cluster that Kafka's command line tools talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.running import RunningCluster
from tests.compat.java_tools import Tools
from tests.kafka.tools import KafkaTools

CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "offsets.topic.num.partitions": "4",
}


@pytest.fixture(scope="module")
def tools(kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """Kafka's tools against a cluster of two brokers."""
    with RunningCluster(tmp_path_factory.mktemp("data"), brokers=2, overrides=CONFIGS) as cluster:
        yield Tools(kafka_tools, cluster)
