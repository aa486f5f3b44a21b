"""The cluster that the trials talk to, and what is seen in it afterwards."""

from __future__ import annotations

from typing import Final, Protocol

from tests.cluster.running import RunningCluster

from doorkeeper.client import Admin

MEMBER_ID_LENGTH: Final = 36


class Judged(Protocol):
    """A cluster whose doors judge."""

    verdict_logger: str
    """The logger that is told the verdicts."""

    @property
    def bootstrap_servers(self) -> str:
        """Where clients go."""

    def admin(self) -> Admin:
        """A client for topics."""

    def written(self, topic: str) -> int:
        """How many records a topic has; none when it does not exist."""

    def has_group(self, group: str) -> bool:
        """Whether a group is known."""

    def has_committed(self, group: str) -> bool:
        """Whether a group has committed anything."""

    def members_of(self, group: str) -> set[str]:
        """The ids of a classic group's members."""

    def is_member_id(self, text: str) -> bool:
        """Whether it is an id as this cluster makes them for classic members."""


class Embedded:
    """The embedded cluster, which is in this process: one broker, one partition of each internal topic."""

    verdict_logger = "doorkeeper.verdicts"

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        broker = cluster.node().broker
        assert broker is not None
        self._data = broker.data

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers

    def admin(self) -> Admin:
        return Admin(self.bootstrap_servers)

    def written(self, topic: str) -> int:
        log = self._data.logs.get(topic, 0)
        return 0 if log is None else log.log_end_offset

    def has_group(self, group: str) -> bool:
        (partition,) = self._data.groups
        return group in partition.coordinator.state.groups

    def has_committed(self, group: str) -> bool:
        (partition,) = self._data.groups
        return group in partition.coordinator.state.offsets.committed.by_group

    def members_of(self, group: str) -> set[str]:
        (partition,) = self._data.groups
        found = partition.coordinator.state.groups.get(group)
        return set() if found is None else set(found.members)

    def is_member_id(self, text: str) -> bool:
        return len(text) == MEMBER_ID_LENGTH
