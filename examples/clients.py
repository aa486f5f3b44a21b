"""Clients of the demo: some with modest names, some with names that something generated.

python clients.py work BOOTSTRAP      every client does its work; who is refused, says so
python clients.py offend BOOTSTRAP    only one of the offenders, to see what it is told
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "orders"
SECONDS = 20
POD = "checkout-worker-7d9c5bb6f4-x2x8q"
GENERATED_GROUP = "-".join(["checkout", "eu-central-1", "prod", *[POD] * 7])
GENERATED_TRANSACTION = f"Source: orders -> Map -> Sink: Writer ({'/'.join([POD] * 8)})"
ODD_CLIENT = "reports (nightly)/eu*1"


def create_topic(bootstrap: str) -> None:
    """The one topic that all use."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(TOPIC, num_partitions=1)]).values():
        future.result(SECONDS)


def produce(bootstrap: str, client_id: str) -> str:
    """Three records."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id})
    for number in range(3):
        producer.produce(TOPIC, f"order {number}".encode())
    left = producer.flush(SECONDS)
    return "produced 3 records" if not left else f"{left} records were not delivered"


def consume(bootstrap: str, client_id: str, group: str) -> str:
    """Join a group, read what is there, commit."""
    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "group.id": group}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    try:
        consumer.subscribe([TOPIC])
        messages = consumer.consume(3, SECONDS)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return f"read {len(messages)} records in group {shown(group)}"


def transact(bootstrap: str, client_id: str, transactional_id: str) -> str:
    """One transaction."""
    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "transactional.id": transactional_id}
    producer = Producer(settings)
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(TOPIC, b"order in a transaction")
    producer.commit_transaction(SECONDS)
    return f"committed a transaction as {shown(transactional_id)}"


def shown(name: str) -> str:
    """A name, cut where it gets tedious."""
    return f"'{name}'" if len(name) <= 40 else f"'{name[:40]}…' ({len(name)} characters)"


def tell(client_id: str, work: Callable[[], str]) -> None:
    """Do it, and say how it went."""
    try:
        outcome = work()
    except KafkaException as error:
        outcome = f"REFUSED: {error.args[0].name()}: {error.args[0].str()}"
    print(f"  {client_id}: {outcome}", flush=True)  # noqa: T201 - what the demo is for


def main(story: str, bootstrap: str) -> None:
    """Run the clients of a story."""
    if story == "work":
        create_topic(bootstrap)
        tell("billing", lambda: produce(bootstrap, "billing"))
        tell("invoices", lambda: consume(bootstrap, "invoices", "invoices"))
        tell(ODD_CLIENT, lambda: produce(bootstrap, ODD_CLIENT))
        tell("checkout", lambda: consume(bootstrap, "checkout", GENERATED_GROUP))
    tell("flink", lambda: transact(bootstrap, "flink", GENERATED_TRANSACTION))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
