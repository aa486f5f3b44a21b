"""Enumerations that grow with Kafka."""

from __future__ import annotations

from enum import IntEnum


class KafkaEnum(IntEnum):
    """Numbers that Kafka gives things; one that is not known yet (from a newer Kafka) is 0, which is UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> KafkaEnum:
        return cls(0)
