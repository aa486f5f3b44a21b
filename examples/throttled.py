"""Two producers of the demo under names that no metric may have; a quota binds one of them.

python throttled.py BOOTSTRAP METRICS
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

from confluent_kafka import Producer

TOPIC = "odd-orders"
BOUND = 'a b/c:d*é"\n\U0001f600'
FREE = "reports (nightly)/eu*1"
SECONDS = 20
RECORDS, BYTES = 12, 50_000


def produce(bootstrap: str, client_id: str) -> None:
    """As many bytes as the quota gives in twelve seconds, at once."""
    told: list[float] = []

    def note(event: Any) -> None:
        told.append(event.throttle_time)

    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id, "throttle_cb": note, "linger.ms": 0})
    for _ in range(RECORDS):
        producer.produce(TOPIC, b"x" * BYTES)
        producer.flush(SECONDS)
    longest = max(told, default=0.0)
    outcome = f"told to wait {longest:.1f} s" if longest else "never throttled"
    print(f"  {client_id!r}: produced {RECORDS * BYTES} bytes, {outcome}", flush=True)  # noqa: T201 - what the demo is for


def show_metrics(address: str) -> None:
    """What is told of both, under their legal names."""
    with urllib.request.urlopen(f"http://{address}/kafka-metrics", timeout=SECONDS) as answer:
        objects = json.loads(answer.read())
    for name, attributes in objects.items():
        if name.startswith("kafka.server:type=Produce,"):
            print(f"  {name}\n    byte-rate {attributes['byte-rate']:.0f}, throttle-time {attributes['throttle-time']}")  # noqa: T201


if __name__ == "__main__":
    for client_id in (FREE, BOUND):
        produce(sys.argv[1], client_id)
    show_metrics(sys.argv[2])
