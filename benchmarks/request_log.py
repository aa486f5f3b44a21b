"""A request log as Kafka 4.3.1 writes it, generated: the same bytes for the same seed, offenders planted.

Lines are built from real ones; the mix is that of a busy cluster (mostly Fetch and Produce), with few thousand clients.
`python -m benchmarks.request_log FILE --megabytes 1024` writes one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 1, tzinfo=UTC)
LINES_PER_BLOCK = 20_000
BLOCKS = 16  # different ones; a larger log repeats them, so that making it costs less than reading it
SOFTWARE = (
    ("apache-kafka-java", "4.3.1"),
    ("apache-kafka-java", "3.9.0"),
    ("librdkafka", "2.6.0"),
    ("franz-go", "1.18"),
)
MEBIBYTE = 1024 * 1024


@dataclass
class Planted:
    """What an audit must find: how often each over-long identifier stands in the log."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    """(kind, value) to lines."""

    def add(self, kind: str, value: str) -> None:
        self.counts[kind, value] = self.counts.get((kind, value), 0) + 1


class Maker:
    """Draws requests."""

    def __init__(self, seed: int, offenders_per_million: int = 300) -> None:
        self._random = random.Random(seed)
        self._clients = [f"service-{number % 40}-{number:05d}" for number in range(3000)]
        self._topics = [f"team{number % 17}.events.{number:04d}" for number in range(800)]
        self._share = offenders_per_million / 1_000_000
        self.planted = Planted()
        self._number = 0

    def line(self) -> bytes:
        """One line, with its end."""
        self._number += 1
        time = START + timedelta(milliseconds=self._number % (86_400_000 * 28))
        draw = self._random.random()
        offends = self._random.random() < self._share
        client = self._random.choice(self._clients)
        if offends and draw < 0.2:
            client = self._long("client_id", client)
        if draw < 0.45:
            body = self._fetch()
        elif draw < 0.75:
            body = self._produce(offends)
        elif draw < 0.85:
            body = self._heartbeat(offends)
        elif draw < 0.92:
            body = self._commit(offends)
        else:
            body = self._metadata()
        return self._wrap(time, client, *body)

    def _long(self, kind: str, name: str) -> str:
        value = f"{name}-{'x' * (250 + self._random.randrange(40))}"
        self.planted.add(kind, value)
        return value

    def _wrap(self, time: datetime, client: str, key: int, version: int, name: str, request: Any, answer: Any) -> bytes:
        number = self._number
        software = SOFTWARE[number % len(SOFTWARE)]
        port = 30_000 + number % 20_000
        document = {
            "isForwarded": False,
            "requestHeader": {
                "requestApiKey": key,
                "requestApiVersion": version,
                "correlationId": number,
                "clientId": client,
                "requestApiKeyName": name,
            },
            "request": request,
            "response": answer,
            "connection": f"10.0.{number % 4}.7:9092-10.1.{number % 50}.{number % 200}:{port}-2-{number % 900}",
            "totalTimeMs": number % 5000 / 1000,
            "requestQueueTimeMs": 0.043,
            "localTimeMs": 0.412,
            "remoteTimeMs": 0.0,
            "throttleTimeMs": 0,
            "responseQueueTimeMs": 0.021,
            "sendTimeMs": 0.105,
            "securityProtocol": "SASL_SSL",
            "principal": f"User:team{number % 17}",
            "listener": "EXTERNAL",
            "clientInformation": {"softwareName": software[0], "softwareVersion": software[1]},
        }
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        stamp = f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d}"
        return f"[{stamp}] DEBUG Completed request:{text} (kafka.request.logger)\n".encode()

    def _fetch(self) -> tuple[int, int, str, Any, Any]:
        topics = self._random.sample(self._topics, 1 + self._random.randrange(3))
        request = {
            "clusterId": None,
            "replicaId": -1,
            "maxWaitMs": 500,
            "minBytes": 1,
            "maxBytes": 52428800,
            "isolationLevel": 0,
            "sessionId": self._number,
            "sessionEpoch": self._number % 1000,
            "topics": [
                {
                    "topic": topic,
                    "partitions": [
                        {
                            "partition": partition,
                            "currentLeaderEpoch": 3,
                            "fetchOffset": self._number + partition,
                            "lastFetchedEpoch": -1,
                            "logStartOffset": -1,
                            "partitionMaxBytes": 1048576,
                        }
                        for partition in range(2)
                    ],
                }
                for topic in topics
            ],
            "forgottenTopicsData": [],
            "rackId": "",
        }
        answer = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": self._number, "responses": []}
        return 1, 12, "FETCH", request, answer

    def _produce(self, offends: bool) -> tuple[int, int, str, Any, Any]:
        topic = self._random.choice(self._topics)
        transactional = self._long("transactional_id", "txn") if offends else None
        request = {
            "transactionalId": transactional,
            "acks": -1,
            "timeoutMs": 30000,
            "topicData": [
                {
                    "name": topic,
                    "partitionData": [
                        {"index": index, "recordsSizeInBytes": 900 + self._number % 999} for index in range(3)
                    ],
                }
            ],
        }
        answer = {
            "responses": [
                {
                    "name": topic,
                    "partitionResponses": [
                        {
                            "index": partition,
                            "errorCode": 0,
                            "baseOffset": self._number + partition,
                            "logAppendTimeMs": -1,
                            "logStartOffset": 0,
                            "recordErrors": [],
                            "errorMessage": None,
                        }
                        for partition in range(3)
                    ],
                }
            ],
            "throttleTimeMs": 0,
        }
        return 0, 11, "PRODUCE", request, answer

    def _heartbeat(self, offends: bool) -> tuple[int, int, str, Any, Any]:
        group = self._long("group_id", "group") if offends else f"group-{self._number % 900}"
        member = f"consumer-{self._number % 900}-2f1d7e0c-6a52-4f0b-9d3b-0a1f6c1d{self._number % 9000:04d}"
        request = {"groupId": group, "generationId": 7, "memberId": member, "groupInstanceId": None}
        return 12, 4, "HEARTBEAT", request, {"throttleTimeMs": 0, "errorCode": 0}

    def _commit(self, offends: bool) -> tuple[int, int, str, Any, Any]:
        group = self._long("group_id", "commits") if offends else f"group-{self._number % 900}"
        topic = self._random.choice(self._topics)
        request = {
            "groupId": group,
            "generationIdOrMemberEpoch": 7,
            "memberId": f"consumer-{self._number % 900}-2f1d7e0c-6a52-4f0b-9d3b-0a1f6c1d{self._number % 9000:04d}",
            "groupInstanceId": None,
            "topics": [
                {
                    "name": topic,
                    "partitions": [
                        {
                            "partitionIndex": 0,
                            "committedOffset": self._number,
                            "committedLeaderEpoch": 3,
                            "committedMetadata": "",
                        }
                    ],
                }
            ],
        }
        answer = {
            "throttleTimeMs": 0,
            "topics": [{"name": topic, "partitions": [{"partitionIndex": 0, "errorCode": 0}]}],
        }
        return 8, 8, "OFFSET_COMMIT", request, answer

    def _metadata(self) -> tuple[int, int, str, Any, Any]:
        topic = self._random.choice(self._topics)
        request = {
            "topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAA", "name": topic}],
            "allowAutoTopicCreation": True,
            "includeTopicAuthorizedOperations": False,
        }
        brokers = [{"nodeId": node, "host": f"kafka-{node}.internal", "port": 9092, "rack": "a"} for node in range(6)]
        answer = {"throttleTimeMs": 0, "brokers": brokers, "clusterId": "87FPzaamQa6UGtBob_G1pw", "controllerId": 1}
        return 3, 12, "METADATA", request, answer


def blocks(seed: int) -> Iterator[tuple[bytes, Planted]]:
    """The different blocks of a log, each with what is planted in it."""
    for number in range(BLOCKS):
        maker = Maker(seed * 1000 + number)
        yield b"".join(maker.line() for _ in range(LINES_PER_BLOCK)), maker.planted


def write_log(path: Path, megabytes: int, seed: int = 1) -> Planted:
    """Write a log of at least so many MiB; the answer is what an audit must find."""
    made = list(blocks(seed))
    planted = Planted()
    written = 0
    with path.open("wb") as out:
        while written < megabytes * MEBIBYTE:
            for block, offenders in made:
                out.write(block)
                written += len(block)
                for key, count in offenders.counts.items():
                    planted.counts[key] = planted.counts.get(key, 0) + count
                if written >= megabytes * MEBIBYTE:
                    break
    return planted


def main() -> None:
    """Write a log and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    planted = write_log(arguments.file, arguments.megabytes, arguments.seed)
    print(f"{arguments.file}: {len(planted.counts)} identifiers over the limit in {sum(planted.counts.values())} lines")


if __name__ == "__main__":
    main()
