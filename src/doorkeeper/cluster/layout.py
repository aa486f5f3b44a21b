"""The nodes of one process: one from a `server.properties`, or N brokers and a controller from nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from doorkeeper.cluster.server_config import (
    LOCALHOST,
    VOTERS,
    BadConfigurationError,
    NodeConfig,
    Release,
    read_node_config,
)

BROKER_PORT: Final = 9092
DATA_DIRECTORY: Final = "doorkeeper-data"
FIRST_NODE: Final = 1
MAX_BROKERS: Final = 100
"""In one process; each has its own door, its own image and its own follower of the log."""
FREE_PORT: Final = 0

ONE_REPLICA: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""The cluster is one replica deep; Kafka's defaults ask for three."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for, on top of the file."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    """The broker's door; the controller's is the next one. 0: free ones."""
    brokers: int = 1
    broker_overrides: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    release: Release = Release.KAFKA_4
    data: Path | None = None


def lay_out(properties: Mapping[str, str] | None, wishes: Wishes) -> list[NodeConfig]:
    """The nodes to start, the one with the controller first. Raises BadConfigurationError with every fault of all."""
    configs: list[NodeConfig] = []
    faults: list[str] = []
    for node_id, node_properties in _each_node(properties, wishes, faults):
        try:
            configs.append(read_node_config(node_properties, wishes.release))
        except BadConfigurationError as error:
            prefix = f"broker {node_id}: " if wishes.brokers > 1 else ""
            faults += [prefix + fault for fault in error.faults]
    if faults:
        raise BadConfigurationError(list(dict.fromkeys(faults)))
    return configs


def _each_node(
    properties: Mapping[str, str] | None, wishes: Wishes, faults: list[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    if properties is not None:
        if wishes.brokers != 1:
            faults.append("--brokers makes its own configuration: it does not go with a server.properties")
        yield _from_file(properties, wishes, faults)
        return
    if not 1 <= wishes.brokers <= MAX_BROKERS:
        faults.append(f"--brokers is a number from 1 to {MAX_BROKERS}")
        return
    for node_id in wishes.broker_overrides:
        if not FIRST_NODE <= node_id < FIRST_NODE + wishes.brokers:
            faults.append(f"--broker-override names broker {node_id}, and there are {wishes.brokers}")
    for node_id in range(FIRST_NODE, FIRST_NODE + wishes.brokers):
        own = wishes.broker_overrides.get(node_id, {})
        yield node_id, _made(node_id, wishes) | dict(wishes.overrides) | dict(own)


def _from_file(properties: Mapping[str, str], wishes: Wishes, faults: list[str]) -> tuple[int, dict[str, str]]:
    own: Mapping[str, str] = next(iter(wishes.broker_overrides.values()), {})
    chosen = dict(properties) | dict(wishes.overrides) | dict(own)
    if wishes.port is not None:
        faults.append("--port goes with the configuration that Doorkeeper makes; set listeners in the file instead")
    if wishes.data is not None:
        chosen["log.dirs"] = str(wishes.data)
    return 0, chosen


def _made(node_id: int, wishes: Wishes) -> dict[str, str]:
    """The `server.properties` of one node of a cluster that needs none."""
    data = wishes.data or Path(DATA_DIRECTORY)
    first = BROKER_PORT if wishes.port is None else wishes.port
    controller_port = FREE_PORT if first == FREE_PORT else first + 1
    with_controller = node_id == FIRST_NODE
    port = first if with_controller or first == FREE_PORT else first + node_id - FIRST_NODE + 1
    listeners = f"PLAINTEXT://{LOCALHOST}:{port}"
    if with_controller:
        listeners += f",CONTROLLER://{LOCALHOST}:{controller_port}"
    return {
        "node.id": str(node_id),
        "process.roles": "broker,controller" if with_controller else "broker",
        "listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        VOTERS: f"{FIRST_NODE}@{LOCALHOST}:{controller_port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        # A directory of topic partitions ends in -<number>, so this name can't be taken for one.
        "log.dirs": str(data if with_controller else data / f"node{node_id}"),
        **ONE_REPLICA,
    }
