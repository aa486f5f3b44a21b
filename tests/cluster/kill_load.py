"""Real clients at work while their brokers are killed: what they were told, and what a reader then sees."""

from __future__ import annotations

import subprocess
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

confluent = pytest.importorskip("confluent_kafka")

PATIENCE_SECONDS: Final = 180
IN_FLIGHT: Final = 10
PARTITIONS: Final = 2
RECORDS: Final = 3
"""Of one transaction, in each partition."""
QUICK: Final = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    # Where all brokers are gone, librdkafka would begin anew from the bootstrap servers (KIP-899), and a request that
    # waits for its coordinator would wait for a broker handle that was given up (seen with librdkafka 2.16).
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}
JVM: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
JAVA_LOAD: Final = Path(__file__).parents[2] / "tools" / "kafka" / "src" / "TransactionalLoad.java"


class Load:
    """Something that goes on in a thread until it is told to stop; `advance` waits until it has done some more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._done = 0
        self._error: BaseException | None = None
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    @abstractmethod
    def work(self) -> None: ...

    def note(self) -> None:
        """One more thing is done."""
        with self._changed:
            self._done += 1
            self._changed.notify_all()

    def advance(self, count: int) -> None:
        """Wait until so many more things are done."""
        with self._changed:
            goal = self._done + count
            in_time = self._changed.wait_for(lambda: self._done >= goal or self._error, PATIENCE_SECONDS)
            if self._error is not None:
                raise self._error
            assert in_time, f"{type(self).__name__} does not get on"

    def abandon(self) -> None:
        """Go on no longer, and let nobody wait for the end."""
        self.stopping.set()

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), f"{type(self).__name__} does not end"
        if self._error is not None:
            raise self._error


class IdempotentLoad(Load):
    """Numbers, one after the other, to one partition of a topic."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self.acknowledged: list[int] = []
        self._producer = confluent.Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 1, "retry.backoff.ms": 20, **QUICK}
        )

    def work(self) -> None:
        number = 0
        while not self.stopping.is_set():
            while len(self._producer) < IN_FLIGHT:
                self._producer.produce(self.topic, b"%d" % number, partition=0, on_delivery=self._delivered)
                number += 1
            self._producer.poll(0.05)
        self._producer.flush(PATIENCE_SECONDS)

    def _delivered(self, error: object, message: Any) -> None:
        assert error is None, error
        self.acknowledged.append(int(message.value()))
        self.note()

    def check(self, read: Read) -> None:
        values = [int(one) for one in read[0]]
        assert len(values) == len(set(values)), "a record is there twice"
        assert values == sorted(values), "records changed places"
        assert set(values) >= set(self.acknowledged), "an acknowledged record is lost"


class Transactions(Load):
    """Transactions with records in every partition of a topic and an offset of a group; each third is aborted."""

    def __init__(self, topic: str, group: str) -> None:
        super().__init__()
        self.topic = topic
        self.group = group
        self.outcomes: dict[int, str] = {}

    def tell(self, number: int, outcome: str) -> None:
        self.outcomes[number] = outcome
        if outcome == "committed":
            self.note()

    def check(self, read: Read, offset: int) -> None:
        """Committed transactions are there as a whole and once, aborted ones not at all, the rest wholly or not."""
        found: set[int] = set()
        for partition, values in read.items():
            assert len(values) == len(set(values)), "a record is there twice"
            numbers = [int(one.partition(b":")[0]) for one in values]
            whole = {one for one in set(numbers) if numbers.count(one) == RECORDS}
            assert whole == set(numbers), "a part of a transaction is read"
            assert not partition or whole == found, "a transaction is in one partition and not in another"
            found = whole
        committed = {one for one, outcome in self.outcomes.items() if outcome == "committed"}
        aborted = {one for one, outcome in self.outcomes.items() if outcome == "aborted"}
        assert committed <= found, f"lost: {sorted(committed - found)}"
        assert not aborted & found, f"aborted and read: {sorted(aborted & found)}"
        assert offset == max(found) + 1, "the group's offset is not that of the last commit"


class ConfluentTransactions(Transactions):
    """librdkafka's, of transaction version 1."""

    def __init__(self, servers: str, topic: str, group: str) -> None:
        super().__init__(topic, group)
        self._servers = servers
        consumer = confluent.Consumer({"bootstrap.servers": servers, "group.id": group, **QUICK})
        self._metadata = consumer.consumer_group_metadata()
        consumer.close()

    def work(self) -> None:
        producer = self._new()
        number = 0
        while not self.stopping.is_set():
            try:
                outcome = self._transact(producer, number)
            except confluent.KafkaException as error:
                if not error.args[0].fatal():
                    raise
                outcome = "unknown"
                producer = self._new()
            self.tell(number, outcome)
            number += 1

    def _new(self) -> Any:
        producer = confluent.Producer(
            {
                "bootstrap.servers": self._servers,
                "transactional.id": self.topic,
                "linger.ms": 1,
                "retry.backoff.ms": 20,
                **QUICK,
            }
        )
        _insist(lambda: producer.init_transactions(PATIENCE_SECONDS))
        return producer

    def _transact(self, producer: Any, number: int) -> str:
        try:
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                for record in range(RECORDS):
                    producer.produce(self.topic, b"%d:%d" % (number, record), partition=partition)
            places = [confluent.TopicPartition(self.topic, 0, number + 1)]
            _insist(lambda: producer.send_offsets_to_transaction(places, self._metadata, PATIENCE_SECONDS))
            if number % 3 != 2:
                _insist(lambda: producer.commit_transaction(PATIENCE_SECONDS))
                return "committed"
            producer.flush(PATIENCE_SECONDS)
        except confluent.KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
        _insist(lambda: producer.abort_transaction(PATIENCE_SECONDS))
        return "aborted"


def _insist(call: Callable[[], object]) -> None:
    """Call again as long as the error says that this may help."""
    while True:
        try:
            call()
        except confluent.KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


class JavaTransactions(Transactions):
    """Those of Kafka's own producer, of transaction version 2; `tools/kafka/src/TransactionalLoad.java` makes them."""

    def __init__(self, jars: Path, servers: str, topic: str, group: str) -> None:
        super().__init__(topic, group)
        arguments = (servers, topic, group, str(PARTITIONS), str(RECORDS))
        self._process = subprocess.Popen(
            ["java", *JVM, "-cp", f"{jars}/*", str(JAVA_LOAD), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def work(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            outcome, number = line.split()
            self.tell(int(number), outcome)

    def abandon(self) -> None:
        self._process.kill()

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        super().stop()
        assert self._process.wait(PATIENCE_SECONDS) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


Read = dict[int, list[bytes]]
"""Values by partition."""


class Reader(Load):
    """Reads committed records of topics along with everything that happens, from their beginning."""

    def __init__(self, servers: str, topics: Sequence[str]) -> None:
        super().__init__()
        self.read: dict[str, Read] = {topic: {index: [] for index in range(PARTITIONS)} for topic in topics}
        self._at_end: set[tuple[str, int]] = set()
        self._consumer = confluent.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.error.backoff.ms": 20,
                **QUICK,
            }
        )
        places = [confluent.TopicPartition(topic, index, 0) for topic in topics for index in range(PARTITIONS)]
        self._consumer.assign(places)

    def work(self) -> None:
        while not self.stopping.is_set():
            self._poll()
        self._consumer.close()

    def read_to_the_end(self) -> dict[str, Read]:
        """In the caller's thread, where nobody writes any more."""
        while len(self._at_end) < len(self.read) * PARTITIONS:
            self._poll()
        self._consumer.close()
        return self.read

    def _poll(self) -> None:
        message = self._consumer.poll(0.05)
        if message is None:
            return
        error = message.error()
        if error is None:
            self.read[message.topic()][message.partition()].append(message.value())
        elif error.code() == confluent.KafkaError._PARTITION_EOF:
            self._at_end.add((message.topic(), message.partition()))
        else:
            # Brokers that are gone come again; an offset that is not there would be a loss.
            assert error.code() != confluent.KafkaError._AUTO_OFFSET_RESET, error
