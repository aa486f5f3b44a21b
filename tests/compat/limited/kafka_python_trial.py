"""kafka-python."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from tests.compat.limited.trials import NOTHING, REBALANCE, Asked, Seen

kafka = pytest.importorskip("kafka")


def attempt(asked: Asked) -> Seen:
    milliseconds = asked.seconds * 1000
    settings: dict[str, Any] = {
        "bootstrap_servers": asked.servers,
        "bootstrap_timeout_ms": milliseconds,
        "request_timeout_ms": milliseconds,
    }
    try:
        if asked.trial == REBALANCE:
            return _rebalance(asked)
        return (_produce if asked.is_producer else _consume)(asked, settings, milliseconds)
    except Exception as error:  # whatever reaches the user
        return Seen(False, f"{type(error).__name__}({error})")


def _produce(asked: Asked, settings: dict[str, Any], milliseconds: int) -> Seen:
    settings |= {"delivery_timeout_ms": milliseconds + 1000, "max_block_ms": milliseconds, "linger_ms": 0}
    if asked.trial == "producer client id":
        settings["client_id"] = asked.value
    is_transactional = asked.trial == "transactional id"
    if is_transactional:
        settings["transactional_id"] = asked.value
    producer = kafka.KafkaProducer(**settings)
    try:
        if is_transactional:
            producer.init_transactions()
            producer.begin_transaction()
        topic = asked.value if asked.trial == "topic name" else asked.topic
        producer.send(topic, b"1", partition=0).get(asked.seconds + 2)
        if is_transactional:
            producer.commit_transaction()
    finally:
        producer.close(timeout=1)
    return Seen(True, "")


def _consume(asked: Asked, settings: dict[str, Any], milliseconds: int) -> Seen:
    settings |= {"group_id": asked.group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    settings |= {"consumer_timeout_ms": milliseconds, "session_timeout_ms": 6000, "request_timeout_ms": 7000}
    keys = {"consumer client id": "client_id", "group id": "group_id", "group instance id": "group_instance_id"}
    settings[keys.get(asked.trial, "client_rack")] = asked.value
    consumer = kafka.KafkaConsumer(asked.topic, **settings)
    try:
        for _message in consumer:
            consumer.commit()
            return Seen(True, "")
        return Seen(False, NOTHING)
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)


class _Member:
    """A consumer that is polled in a thread of its own: a join waits for the others."""

    def __init__(self, asked: Asked) -> None:
        self.shared = 0
        self._stop = Event()
        settings = {"bootstrap_servers": asked.servers, "group_id": asked.group, "session_timeout_ms": 6000}
        self._consumer = kafka.KafkaConsumer(asked.topic, **settings)
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._consumer.poll(timeout_ms=100)
            self.shared = len(self._consumer.assignment())
        self._consumer.close()

    def leave(self) -> None:
        self._stop.set()
        self._thread.join()


def _rebalance(asked: Asked) -> Seen:
    deadline = monotonic() + asked.seconds
    members = [_Member(asked)]

    def settled(*shares: int) -> bool:
        while monotonic() < deadline:
            if tuple(member.shared for member in members) == shares:
                return True
        return False

    try:
        alone = settled(2)
        members.append(_Member(asked))
        together = settled(1, 1)
        members.pop().leave()
        again = settled(2)
    finally:
        for member in members:
            member.leave()
    return Seen(alone and together and again, f"{alone}, {together}, {again}")
