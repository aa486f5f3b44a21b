"""Real clients and a real Kafka, with the gateway between them, through trouble too.

`compat` has every library, and every identifier.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.gateway.running import HOST, RunningGateway, ThreadedGateway, wait_until
from tests.kafka.cluster import plan
from tests.kafka.requests import Connection, live_brokers

from doorkeeper.gateway.address_table import NodeKind

if TYPE_CHECKING:
    from tests.kafka.cluster import KafkaCluster
    from tests.kafka.plugin import KafkaFactory

confluent = pytest.importorskip("confluent_kafka")
confluent_admin = pytest.importorskip("confluent_kafka.admin")
pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 60
LONG, LONGEST = "g" * 250, "g" * 249
RECORDS = 300
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    return kafka_cluster("gateway-clients", nodes=plan(2), properties=PROPERTIES)


@pytest.fixture(scope="module")
def enforcing(kafka: KafkaCluster) -> Iterator[ThreadedGateway]:
    with ThreadedGateway("--upstream", kafka.bootstrap_servers, "--mode", "enforce") as running:
        yield running


@pytest.fixture
def topic(kafka: KafkaCluster) -> str:
    name = f"orders-{uuid4()}"
    admin = confluent_admin.AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.create_topics([confluent_admin.NewTopic(name, 2, 1)]).values():
        future.result(PATIENCE_SECONDS)
    return name


def produce(
    servers: str, topic: str, count: int = RECORDS, settings: Mapping[str, Any] | None = None
) -> list[str | None]:
    """Send so many records; returns the errors, None for those that were acknowledged."""
    errors: list[str | None] = []
    producer = confluent.Producer({"bootstrap.servers": servers, "message.timeout.ms": 20_000, **(settings or {})})
    for number in range(count):
        producer.produce(
            topic, b"%d" % number, on_delivery=lambda error, _: errors.append(None if error is None else error.name())
        )
    producer.flush(PATIENCE_SECONDS)
    return errors


def consume(servers: str, topic: str, count: int = RECORDS, settings: Mapping[str, Any] | None = None) -> list[int]:
    """Read so many records, as a member of a group."""
    usual = {"bootstrap.servers": servers, "group.id": f"readers-{uuid4()}", "auto.offset.reset": "earliest"}
    consumer = confluent.Consumer({**usual, **(settings or {})})
    consumer.subscribe([topic])
    got: list[int] = []

    def has_all() -> bool:
        got.extend(int(one.value()) for one in consumer.consume(count, 0.5) if one.error() is None)
        return len(got) >= count

    try:
        wait_until(has_all, PATIENCE_SECONDS)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return got


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_lawful_clients_work_as_without_the_gateway(enforcing: ThreadedGateway, topic: str, protocol: str) -> None:
    """A classic member's id is far longer than 36, and the broker's."""
    servers = enforcing.bootstrap_servers
    assert produce(servers, topic) == [None] * RECORDS
    names = {"client.id": "c" * 200, "group.id": f"{protocol}-{LONGEST[:200]}", "group.protocol": protocol}
    assert sorted(consume(servers, topic, settings=names)) == list(range(RECORDS))


def test_transactions_go_through(enforcing: ThreadedGateway, topic: str) -> None:
    settings = {"bootstrap.servers": enforcing.bootstrap_servers, "transactional.id": f"t-{uuid4()}"}
    producer = confluent.Producer(settings)
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    producer.commit_transaction(PATIENCE_SECONDS)
    read = consume(enforcing.bootstrap_servers, topic, 10, {"isolation.level": "read_committed"})
    assert sorted(read) == list(range(10))


def test_an_over_long_transactional_id_is_refused(enforcing: ThreadedGateway) -> None:
    producer = confluent.Producer({"bootstrap.servers": enforcing.bootstrap_servers, "transactional.id": LONG})
    with pytest.raises(confluent.KafkaException) as caught:
        producer.init_transactions(5)
    assert caught.value.args[0].name() == "INVALID_REQUEST"


def test_an_over_long_client_id_produces_nothing(enforcing: ThreadedGateway, kafka: KafkaCluster, topic: str) -> None:
    sent = produce(enforcing.bootstrap_servers, topic, 1, {"client.id": LONG, "message.timeout.ms": 3000})
    assert sent != [None]
    assert produce(kafka.bootstrap_servers, topic, 1, {"client.id": LONG}) == [None]


# -- trouble


class Load:
    """Records that are produced all the time, one after the other, until `stop`; what was acknowledged is kept."""

    def __init__(self, servers: str, topic: str) -> None:
        self.acknowledged: set[int] = set()
        self._topic = topic
        self._stop = threading.Event()
        self._producer = confluent.Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 1, "message.timeout.ms": 60_000}
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            self._producer.produce(self._topic, b"%d" % number, on_delivery=self._note)
            number += 1
            self._producer.poll(0.002)
        self._producer.flush(PATIENCE_SECONDS)

    def _note(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged.add(int(message.value()))

    def wait_for_more(self, count: int = 100) -> None:
        goal = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= goal, PATIENCE_SECONDS)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def test_an_end_signal_under_load_loses_no_acknowledged_write(kafka: KafkaCluster, topic: str, tmp_path: Path) -> None:
    words = ("--upstream", kafka.bootstrap_servers, "--state", str(tmp_path / "ports.json"))
    with RunningGateway(*words) as gateway:
        port = gateway.port()
        load = Load(gateway.bootstrap_servers, topic)
        load.wait_for_more()
        gateway.signal()
        assert gateway.wait() == 0
    with RunningGateway(*words, listen=f"127.0.0.1:{port}") as gateway:
        load.wait_for_more()
        load.stop()
    read = consume(kafka.bootstrap_servers, topic, len(load.acknowledged))
    assert load.acknowledged <= set(read)
    assert len(read) == len(set(read))


def pause(kafka: KafkaCluster) -> Callable[[], None]:
    """Stop a broker in the middle of whatever it does."""
    process = kafka.nodes[2].process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    return lambda: os.kill(process.pid, signal.SIGCONT)


def kill(kafka: KafkaCluster) -> Callable[[], None]:
    """End a broker at once; start it again afterwards."""
    kafka.kill(2)
    return lambda: kafka.restart(2)


@pytest.mark.parametrize("trouble", [pause, kill])
def test_clients_recover_when_a_broker_does(
    enforcing: ThreadedGateway,
    kafka: KafkaCluster,
    topic: str,
    trouble: Callable[[KafkaCluster], Callable[[], None]],
) -> None:
    load = Load(enforcing.bootstrap_servers, topic)
    try:
        load.wait_for_more()
        undo = trouble(kafka)
        load.wait_for_more(10)
        undo()
        load.wait_for_more(300)
    finally:
        load.stop()
    read = consume(enforcing.bootstrap_servers, topic, len(load.acknowledged))
    assert load.acknowledged <= set(read)


def is_refused(port: int) -> bool:
    try:
        Connection((HOST, port)).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_broker_gets_a_door_which_closes_after_it_is_gone_and_is_the_same_when_it_is_back(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    file = tmp_path / "gateway.yaml"
    host, port = kafka.broker_addresses[1]
    file.write_text(f"upstream: {host}:{port}\nmetadata.max.age.ms: 200\n")
    kafka.kill(2)
    try:
        with kafka.connect_broker(1) as connection:
            wait_until(lambda: live_brokers(connection) == {1})
        with ThreadedGateway(str(file)) as gateway:
            assert not gateway.has(NodeKind.BROKER, 2)
            kafka.restart(2)
            before = gateway.port(NodeKind.BROKER, 2)
            with gateway.connect(NodeKind.BROKER, 2) as connection:
                assert live_brokers(connection) == {1, 2}
            kafka.kill(2)
            wait_until(lambda: not gateway.has(NodeKind.BROKER, 2))
            wait_until(lambda: is_refused(before))
            kafka.restart(2)
            assert gateway.port(NodeKind.BROKER, 2) == before
            with gateway.connect(NodeKind.BROKER, 2) as connection:
                wait_until(lambda: live_brokers(connection) == {1, 2})
    finally:
        if kafka.nodes[2].process is None or kafka.nodes[2].process.poll() is not None:
            kafka.restart(2)
