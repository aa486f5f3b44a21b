"""confluent-kafka (librdkafka)."""

from __future__ import annotations

from time import monotonic
from typing import Any

import confluent_kafka
from tests.compat.limited.trials import NEWER, NOTHING, REBALANCE, Asked, Seen


def attempt(asked: Asked) -> Seen:
    errors: list[str] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": asked.servers,
        "error_cb": lambda error: errors.append(f"error_cb: {error.name()}: {error.str()}"),
        "log_level": 0,
    }
    if asked.trial == REBALANCE:
        return _rebalance(asked, settings)
    try:
        return (_produce if asked.is_producer else _consume)(asked, settings, errors)
    except confluent_kafka.KafkaException as error:
        fault = error.args[0]
        return Seen(False, f"KafkaException({fault.name()}: {fault.str()})")


def _produce(asked: Asked, settings: dict[str, Any], errors: list[str]) -> Seen:
    settings["message.timeout.ms"] = asked.seconds * 1000
    if asked.trial == "producer client id":
        settings["client.id"] = asked.value
    is_transactional = asked.trial == "transactional id"
    if is_transactional:
        settings |= {"transactional.id": asked.value, "transaction.timeout.ms": asked.seconds * 1000}
    outcomes: list[Any] = []
    producer = confluent_kafka.Producer(settings)
    if is_transactional:
        producer.init_transactions(asked.seconds)
        producer.begin_transaction()
    topic = asked.value if asked.trial == "topic name" else asked.topic
    producer.produce(topic, b"1", callback=lambda error, _: outcomes.append(error))
    producer.flush(asked.seconds + 2)
    if is_transactional:
        producer.commit_transaction(asked.seconds)
    error = outcomes[0] if outcomes else None
    if outcomes and error is None:
        return Seen(True, "")
    said = f"delivery callback: {error.name()}: {error.str()}" if error is not None else NOTHING
    return Seen(False, "; ".join(dict.fromkeys([said, *errors])))


def _consume(asked: Asked, settings: dict[str, Any], errors: list[str]) -> Seen:
    settings |= {"group.id": asked.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    keys = {"consumer client id": "client.id", "group id": "group.id", "group instance id": "group.instance.id"}
    settings[keys.get(asked.trial.removesuffix(NEWER), "client.rack")] = asked.value
    if asked.trial.endswith(NEWER):
        settings["group.protocol"] = "consumer"
    consumer = confluent_kafka.Consumer(settings)
    try:
        consumer.subscribe([asked.topic])
        deadline = monotonic() + asked.seconds
        while monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                errors.append(f"message.error(): {error.name()}: {error.str()}")
                continue
            consumer.commit(message=message, asynchronous=False)
            return Seen(True, "")
        return Seen(False, "; ".join(dict.fromkeys(errors)) or NOTHING)
    finally:
        consumer.close()


def _rebalance(asked: Asked, settings: dict[str, Any]) -> Seen:
    settings |= {"group.id": asked.group, "session.timeout.ms": 6000}
    deadline = monotonic() + asked.seconds
    first, second = confluent_kafka.Consumer(settings), confluent_kafka.Consumer(settings)

    def settled(*shares: int) -> bool:
        members = (first, second)[: len(shares)]
        while monotonic() < deadline:
            for member in members:
                member.poll(0.1)
            if tuple(len(member.assignment()) for member in members) == shares:
                return True
        return False

    try:
        first.subscribe([asked.topic])
        alone = settled(2)
        second.subscribe([asked.topic])
        together = settled(1, 1)
    finally:
        second.close()
    again = settled(2)
    first.close()
    return Seen(alone and together and again, f"{alone}, {together}, {again}")
