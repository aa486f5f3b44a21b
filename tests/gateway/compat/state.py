"""What the trials of identifiers left behind in the Kafka behind a gateway: it is asked itself, past the gateway."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from doorkeeper.client import Admin

confluent = pytest.importorskip("confluent_kafka")
confluent_admin = pytest.importorskip("confluent_kafka.admin")

ANSWER_SECONDS: Final = 30
UUID_LENGTH: Final = 36


class KafkaBehind:
    """`tests.compat.limited.judged.Judged`: clients go to the gateway, the answers are Kafka's own."""

    verdict_logger = "doorkeeper.gateway"

    def __init__(self, gateway: str, kafka: str) -> None:
        """:param gateway: where clients go.
        :param kafka: the real bootstrap servers.
        """
        self.bootstrap_servers = gateway
        self._kafka = kafka
        self._admin = confluent_admin.AdminClient({"bootstrap.servers": kafka})

    def admin(self) -> Admin:
        return Admin(self.bootstrap_servers)

    def written(self, topic: str) -> int:
        # All topics are asked for: to ask for one by its name would make it.
        found = self._admin.list_topics(timeout=ANSWER_SECONDS).topics.get(topic)
        if found is None:
            return 0
        asked = {
            confluent.TopicPartition(topic, partition): confluent_admin.OffsetSpec.latest()
            for partition in found.partitions
        }
        told = self._admin.list_offsets(asked, request_timeout=ANSWER_SECONDS)
        return sum(one.result(ANSWER_SECONDS).offset for one in told.values())

    def has_group(self, group: str) -> bool:
        async def list_groups() -> set[str]:
            async with Admin(self._kafka) as admin:
                return {one.group_id for one in await admin.list_groups()}

        return group in asyncio.run(list_groups())

    def has_committed(self, group: str) -> bool:
        asked = [confluent.ConsumerGroupTopicPartitions(group)]
        (told,) = self._admin.list_consumer_group_offsets(asked, request_timeout=ANSWER_SECONDS).values()
        return any(one.offset >= 0 for one in told.result(ANSWER_SECONDS).topic_partitions)

    def members_of(self, group: str) -> set[str]:
        (told,) = self._admin.describe_consumer_groups([group], request_timeout=ANSWER_SECONDS).values()
        try:
            described: Any = told.result(ANSWER_SECONDS)
        except confluent.KafkaException:
            return set()  # there is none yet
        return {one.member_id for one in described.members}

    def is_member_id(self, text: str) -> bool:
        """Kafka makes `<client id>-<uuid>`, which no limit is for."""
        return len(text) > UUID_LENGTH
