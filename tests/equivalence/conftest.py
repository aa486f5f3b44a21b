"""One Kafka and one cluster of ours for every comparison of answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.running import RunningCluster
from tests.equivalence.both import CONFIGS, Both, Side, prepare
from tests.kafka.plugin import KafkaFactory

from doorkeeper.wire.registry import Door


@pytest.fixture(scope="session")
def both(kafka_cluster: KafkaFactory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    theirs = kafka_cluster("answers", properties=CONFIGS)
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=CONFIGS) as ours:
        addresses = {
            Door.BROKER: next(iter(theirs.broker_addresses.values())),
            Door.CONTROLLER: next(iter(theirs.controller_addresses.values())),
        }
        sides = {door: (Side(address), Side(ours.address(door))) for door, address in addresses.items()}
        for side in sides[Door.BROKER]:
            prepare(side.connection)
        yield sides
        for pair in sides.values():
            for side in pair:
                side.close()
