"""The directories of a node: made ready at the first start, locked, and checked to be of one node and one cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.features import bootstrap_records
from doorkeeper.cluster.log_dir import (
    LogDirectory,
    MetaProperties,
    format_log_directory,
    is_formatted,
    open_log_directory,
)
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.errors import StorageError
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.uuids import format_uuid, random_uuid


@dataclass(frozen=True, slots=True)
class NodeDirectories:
    """All directories of a node, held by this process."""

    metadata: LogDirectory
    data: tuple[LogDirectory, ...]
    _held: ExitStack

    @property
    def cluster_id(self) -> str:
        return self.metadata.properties.cluster_id

    @property
    def ids(self) -> tuple[UUID, ...]:
        """The ids of the directories that hold topics."""
        return tuple(one.properties.directory_id for one in self.data)

    def close(self) -> None:
        self._held.close()


def known_cluster_id(config: NodeConfig) -> str | None:
    """The cluster that the directories belong to already; None before the first start."""
    for path in _paths(config):
        if is_formatted(path):
            with open_log_directory(path) as directory:
                return directory.properties.cluster_id
    return None


def new_cluster_id() -> str:
    """A random id in Kafka's form."""
    return format_uuid(random_uuid())


def open_directories(config: NodeConfig, cluster_id: str) -> NodeDirectories:
    """Make the directories ready where they are new, and take hold of all of them.

    :raises StorageError: when one is another node's, another cluster's, held by another process, or not usable.
    """
    with ExitStack() as held:
        opened: dict[Path, LogDirectory] = {}
        for path in _paths(config):
            if not is_formatted(path):
                _format(path, config, cluster_id)
            opened[path] = held.enter_context(open_log_directory(path))
            _check_owner(path, opened[path].properties, config.node_id, cluster_id)
        return NodeDirectories(
            opened[config.metadata_log_dir], tuple(opened[path] for path in config.log_dirs), held.pop_all()
        )


def _paths(config: NodeConfig) -> Sequence[Path]:
    return list(dict.fromkeys((config.metadata_log_dir, *config.log_dirs)))


def _format(path: Path, config: NodeConfig, cluster_id: str) -> None:
    level = config.metadata_version or MetadataVersion.DOORKEEPER
    records = bootstrap_records(level, ControllerNode(config.node_id, config.static))
    properties = MetaProperties(cluster_id, config.node_id, random_uuid())
    format_log_directory(path, properties, records, time.time_ns() // 1_000_000)


def _check_owner(path: Path, found: MetaProperties, node_id: int, cluster_id: str) -> None:
    if found.node_id != node_id:
        raise StorageError(f"{path} belongs to node {found.node_id}, and this is node {node_id}")
    if found.cluster_id != cluster_id:
        raise StorageError(f"{path} belongs to the cluster {found.cluster_id}, and this is the cluster {cluster_id}")
