"""A byte quota of 100 kB/s, held by a real client for half a minute: what it gets through is within a tenth of it.

Kafka lets a client spend what its windows give at once, and then makes it wait until they have passed: a greedy one
moves in bursts as far apart as the windows are long. They are short here, so that half a minute holds many of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import confluent_kafka
import pytest
from tests.cluster.quotas import ODD, set_quota
from tests.cluster.records import create_topic
from tests.cluster.running import RunningCluster

pytestmark = pytest.mark.long

LIMIT = 100_000.0
WARM_UP_SECONDS = 5.0
SHORT_WINDOWS = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
SECONDS = 30.0
RECORD = b"x" * 5000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=SHORT_WINDOWS) as running:
        with running.connect() as admin:
            create_topic(admin, "held")
            set_quota(admin, {"client-id": ODD}, producer_byte_rate=LIMIT, consumer_byte_rate=LIMIT)
        yield running


def bytes_of(cluster: RunningCluster, attribute: str) -> int:
    """What the node has taken from the client, or given to it."""

    async def read() -> int:
        (found,) = [one for one, _ in cluster.node().meter.clients.meters() if one.client_id == ODD]
        return int(getattr(found, attribute))

    answer: int = cluster.run(read())
    return answer


def test_holds_for_producing(cluster: RunningCluster) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": ODD, "linger.ms": 0, "batch.size": 20_000}
    producer = confluent_kafka.Producer(settings | {"queue.buffering.max.kbytes": 1000})

    def produce_until(deadline: float) -> None:
        while time.monotonic() < deadline:
            try:
                producer.produce("held", RECORD)
            except BufferError:
                producer.poll(0.05)

    produce_until(time.monotonic() + WARM_UP_SECONDS)
    began, before = time.monotonic(), bytes_of(cluster, "bytes_in")
    produce_until(began + SECONDS)
    rate = (bytes_of(cluster, "bytes_in") - before) / (time.monotonic() - began)
    producer.purge()
    print(f"produced {rate:.0f} bytes a second")
    assert rate == pytest.approx(LIMIT, rel=0.1)


def test_holds_for_consuming(cluster: RunningCluster) -> None:
    # A batch larger than what the windows give would never arrive, in Kafka as here.
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": "free", "batch.size": 10_000}
    free = confluent_kafka.Producer(settings)
    for _ in range(1600):
        free.produce("held", RECORD)
        free.poll(0)
    assert free.flush(60) == 0
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "client.id": ODD,
            "group.id": "held",
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 10_000,
            "queued.max.messages.kbytes": 100,
        }
    )
    consumer.subscribe(["held"])

    def consume_until(deadline: float) -> None:
        while time.monotonic() < deadline:
            consumer.poll(0.1)

    consume_until(time.monotonic() + WARM_UP_SECONDS)
    began, before = time.monotonic(), bytes_of(cluster, "bytes_out")
    consume_until(began + SECONDS)
    rate = (bytes_of(cluster, "bytes_out") - before) / (time.monotonic() - began)
    consumer.close()
    print(f"consumed {rate:.0f} bytes a second")
    assert rate == pytest.approx(LIMIT, rel=0.1)
