"""Kafka's own tools and brokers on our files, and ours on theirs."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.cluster.log.batches import NOW, batch

from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.reading import Isolation, ReadResult
from doorkeeper.cluster.log.store import open_store
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.records import iter_batches

if TYPE_CHECKING:
    from tests.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.kafka

DUMP_SECONDS = 120


def dump(jars: Path, *arguments: str) -> str:
    """What `kafka-dump-log` prints; it says every complaint on stdout."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", "org.apache.kafka.tools.DumpLogSegments"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=DUMP_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fill(log: PartitionLog) -> None:
    """Plain, compressed, idempotent and transactional batches, an abort and a commit."""
    for number in range(40):
        codec = list(Compression)[number % 5]
        data = batch(
            b"value %d" % number * 20, b"another", key=b"k%d" % number, timestamp=NOW + number, compression=codec
        )
        assert isinstance(log.append(data, leader_epoch=number // 15, now=NOW + number), Appended)
    for sequence in range(4):
        data = batch(b"in", key=b"t", producer_id=5, sequence=sequence, is_transactional=True, timestamp=NOW + 50)
        assert isinstance(log.append(data, leader_epoch=3, now=NOW + 50), Appended)
        if sequence % 2:
            kind = MarkerType.ABORT if sequence == 1 else MarkerType.COMMIT
            log.append_marker(5, 0, Marker(kind, 0, NOW + 60), leader_epoch=3, now=NOW + 60, transaction_version=1)
    assert isinstance(log.append(batch(producer_id=6, key=b"i"), leader_epoch=3, now=NOW + 60), Appended)


@pytest.mark.parametrize("compacted", [False, True])
def test_dump_log_reads_every_file_without_complaint(kafka_jars: Path, tmp_path: Path, *, compacted: bool) -> None:
    config = LogConfig(segment_bytes=3000, index_interval_bytes=200, is_compacted=compacted)
    store = open_store(tmp_path, lambda _: config, NOW)
    log = store.create("t", 0, UUID(int=9), config, NOW)
    fill(log)
    if compacted:
        fill_again = [b"k%d" % number for number in range(0, 40, 2)]
        for key in fill_again:
            log.append(batch(b"newer", key=key, timestamp=NOW + 100), leader_epoch=3, now=NOW + 100)
        log.roll(NOW + 100)
        while store.step(NOW + 15_000):
            pass
        assert log.cleaned_to > 0
    store.close(NOW)
    files = sorted(path for path in log.directory.iterdir() if path.name.startswith("0"))
    assert {path.suffix for path in files} == {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
    told = dump(kafka_jars, "--deep-iteration", "--files", ",".join(map(str, files)))
    assert "Found" not in told, told
    assert "Mismatches" not in told
    assert "isvalid: false" not in told.lower()
    assert told.count("Dumping ") == len(files)
    assert "isvalid: true" in told
    assert "endTxnMarker: ABORT" in told
    assert "producerId: 6 producerEpoch: 0 " in told
    sane = dump(kafka_jars, "--index-sanity-check", "--files", ",".join(str(p) for p in files if "index" in p.suffix))
    indexes = sum(path.suffix in (".index", ".timeindex") for path in files)
    assert sane.count("passed sanity check") + sane.count("is empty") == indexes


def end(cluster: KafkaCluster) -> None:
    """End the processes politely: their shutdown is clean."""
    for node in cluster.nodes.values():
        assert node.process is not None
        node.process.terminate()
        node.process.wait(60)


def begin(cluster: KafkaCluster) -> None:
    """Start the nodes again, on the files that they left."""
    for node in cluster.nodes.values():
        node.process = cluster._spawn(node, "kafka.Kafka", str(node.folder / "server.properties"))
        cluster._wait_until_ready(node, time.monotonic() + 120)


def test_a_broker_serves_what_we_wrote_and_we_read_what_it_wrote(kafka_jars: Path, tmp_path: Path) -> None:
    from tests.kafka.cluster import KafkaCluster
    from tests.kafka.requests import create_topic

    def console(tool: str, *arguments: str, given: str = "") -> str:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars}/*", f"org.apache.kafka.tools.{tool}"]
        done = subprocess.run(
            [*command, "--bootstrap-server", kafka.bootstrap_servers, *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=DUMP_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    consume = ("consumer.ConsoleConsumer", "--topic", "t", "--from-beginning", "--timeout-ms", "8000")
    with KafkaCluster(kafka_jars, tmp_path) as kafka:
        with kafka.connect_broker() as connection:
            assert create_topic(connection, "t", {"segment.bytes": "1048576"})[0] == 0
        properties = ("--command-property", "enable.idempotence=true", "--compression-codec", "zstd")
        console("ConsoleProducer", "--topic", "t", *properties, given="one\ntwo\nthree\n")
        end(kafka)
        data = kafka.nodes[1].folder / "data"
        untouched = tmp_path / "copy"
        shutil.copytree(data, untouched)

        theirs = open_store(untouched, lambda _: LogConfig(), NOW).get("t", 0)
        assert theirs is not None
        assert theirs.log_end_offset == 3
        assert len(theirs.producers.entries) == 1
        assert theirs.topic_id is not None

        store = open_store(data, lambda _: LogConfig(), NOW)
        log = store.get("t", 0)
        assert log is not None
        result = log.read(0, 100_000)
        assert isinstance(result, ReadResult)
        assert result.records is not None
        values = [record.value for _, found in iter_batches(result.records.read()) for record in found.records]
        assert values == [b"one", b"two", b"three"]
        for value, sequence, kind in ((b"committed", 0, MarkerType.COMMIT), (b"aborted", 1, MarkerType.ABORT)):
            ours = batch(value, producer_id=900, sequence=sequence, is_transactional=True, compression=Compression.LZ4)
            assert isinstance(log.append(ours, leader_epoch=log.epochs.latest, now=NOW), Appended)
            log.append_marker(900, 0, Marker(kind, 0, NOW), leader_epoch=log.epochs.latest, now=NOW)
        assert isinstance(log.append(batch(b"last"), leader_epoch=log.epochs.latest, now=NOW), Appended)
        store.close(NOW)

        begin(kafka)
        committed = console(*consume, "--isolation-level", "read_committed").split("\n")
        assert committed[:5] == ["one", "two", "three", "committed", "last"]
        console("ConsoleProducer", "--topic", "t", given="after\n")
        every = console(*consume).split("\n")
        assert every[:7] == ["one", "two", "three", "committed", "aborted", "last", "after"]
        kafka.stop()  # with kill -9: its index files are ten megabytes of zeros
        again = open_store(data, lambda _: LogConfig(), NOW).get("t", 0)
        assert again is not None
        assert again.log_end_offset == 9
        found = again.read(0, 100_000, Isolation.READ_COMMITTED)
        assert isinstance(found, ReadResult)
        assert found.aborted == ((900, 5),)
