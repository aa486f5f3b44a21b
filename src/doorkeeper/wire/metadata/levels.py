"""Levels of the feature `metadata.version`, and what each lets the log hold.

From org.apache.kafka.server.common.MetadataVersion of Kafka 4.3.1; DOORKEEPER is ours.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

FEATURE_NAME: Final = "metadata.version"


class MetadataVersion(IntEnum):
    """Feature levels by Kafka's enum names."""

    IBP_3_3_IV3 = 7
    IBP_3_4_IV0 = 8
    IBP_3_5_IV0 = 9
    IBP_3_5_IV1 = 10
    IBP_3_5_IV2 = 11
    IBP_3_6_IV0 = 12
    IBP_3_6_IV1 = 13
    IBP_3_6_IV2 = 14
    IBP_3_7_IV0 = 15
    IBP_3_7_IV1 = 16
    IBP_3_7_IV2 = 17
    IBP_3_7_IV3 = 18
    IBP_3_7_IV4 = 19
    IBP_3_8_IV0 = 20
    IBP_3_9_IV0 = 21
    IBP_4_0_IV0 = 22
    IBP_4_0_IV1 = 23
    IBP_4_0_IV2 = 24
    IBP_4_0_IV3 = 25
    IBP_4_1_IV0 = 26
    IBP_4_1_IV1 = 27
    IBP_4_2_IV0 = 28
    IBP_4_2_IV1 = 29
    IBP_4_3_IV0 = 30
    IBP_4_4_IV0 = 31
    DOORKEEPER = 1000
    """Ours: RegisterBrokerRecord version 5. Far above Kafka's numbers, so that its next releases don't collide."""

    @property
    def text(self) -> str:
        """The name in tools: `4.3-IV0`, or `doorkeeper`."""
        if self is MetadataVersion.DOORKEEPER:
            return "doorkeeper"
        major, minor, internal = self.name.removeprefix("IBP_").split("_")
        return f"{major}.{minor}-{internal}"

    @property
    def register_broker_record_version(self) -> int:
        if self >= MetadataVersion.DOORKEEPER:
            return 5
        if self >= MetadataVersion.IBP_4_3_IV0:
            return 4
        if self >= MetadataVersion.IBP_3_7_IV2:
            return 3
        return 2 if self >= MetadataVersion.IBP_3_4_IV0 else 1

    @property
    def partition_record_version(self) -> int:
        """The version of PartitionRecord and of PartitionChangeRecord."""
        if self >= MetadataVersion.IBP_4_0_IV1:
            return 2
        return 1 if self >= MetadataVersion.IBP_3_7_IV2 else 0

    @property
    def has_scram(self) -> bool:
        return self >= MetadataVersion.IBP_3_5_IV2

    @property
    def has_transactions(self) -> bool:
        return self >= MetadataVersion.IBP_3_6_IV1

    @property
    def has_delegation_tokens(self) -> bool:
        return self >= MetadataVersion.IBP_3_6_IV2

    @property
    def has_controller_registration(self) -> bool:
        return self >= MetadataVersion.IBP_3_7_IV0

    @property
    def has_directories(self) -> bool:
        return self >= MetadataVersion.IBP_3_7_IV2

    @property
    def has_eligible_leader_replicas(self) -> bool:
        return self >= MetadataVersion.IBP_4_0_IV1

    @property
    def has_cordoned_log_dirs(self) -> bool:
        return self >= MetadataVersion.IBP_4_3_IV0

    @property
    def has_static_configs(self) -> bool:
        return self >= MetadataVersion.DOORKEEPER


MINIMUM_METADATA_VERSION: Final = MetadataVersion.IBP_3_3_IV3
LATEST_KAFKA_METADATA_VERSION: Final = MetadataVersion.IBP_4_3_IV0
"""The newest that Kafka 4.3.1 calls production."""


def parse_metadata_version(text: str) -> MetadataVersion | None:
    """The level that a name means: `4.3-IV0`, `4.3` (its newest), `4.3.1`, `doorkeeper`; None if there is none."""
    by_text = {version.text: version for version in MetadataVersion}
    release = ".".join(text.split(".")[:2])
    if release in by_text:
        return by_text[release]
    of_release = [
        version
        for version in MetadataVersion
        if version.text.split("-")[0] == release and version <= LATEST_KAFKA_METADATA_VERSION
    ]
    return max(of_release, default=None)
