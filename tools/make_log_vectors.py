"""Drive Kafka's own partition log through random scenarios, and write down what it answered.

    python tools/make_log_vectors.py --jars .cache/kafka-4.3.1

The commands are those of `tools/kafka/src/LogOracle.java`: batches good and bad from producers that repeat, skip and
fence themselves, transactions, reads, lookups by time, deletions, retention, compaction, and the digests of all files
at the end. The answers go to `tests/vectors/log-scenarios-<version>.jsonl.gz`: a header, then `[command, answer]`.
Batches that Kafka has compressed itself go to `log-batches-<version>.jsonl.gz` in the same form.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from crc32c import crc32c
from tools.extract_facts import ROOT, run_java

from doorkeeper.cluster.log.batch import Marker, MarkerType, write_marker
from doorkeeper.wire.records import Record, write_batch

VERSION = "4.3.1"
VECTORS = ROOT / "tests" / "vectors" / f"log-scenarios-{VERSION}.jsonl.gz"
BATCHES = ROOT / "tests" / "vectors" / f"log-batches-{VERSION}.jsonl.gz"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SHAPES = ((1, 0), (1, 10), (3, 100), (1, 80_000))
"""Records and bytes of each: below and above the blocks of all codecs."""
SCENARIOS = 120
STEPS = 60
START = 1_700_000_000_000
"""Where the oracle's clock stands."""
TOPICS = (
    "",
    "message.timestamp.type=LogAppendTime",
    "compression.type=uncompressed",
    "compression.type=uncompressed;message.timestamp.type=LogAppendTime",
    "message.timestamp.before.max.ms=5000;message.timestamp.after.max.ms=5000",
    "cleanup.policy=compact;delete.retention.ms=1000",
    "cleanup.policy=compact;delete.retention.ms=0",
    "max.message.bytes=300",
    "retention.ms=10000;retention.bytes=3000",
    "segment.ms=3000",
)


class Producer:
    """A producer that keeps its own count, and can be told to lose it."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = 0
        self.sequence = 0
        self.is_transactional = False
        self.sent: list[bytes] = []


class Scenario:
    """One log and what happens to it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.topic = TOPICS[seed % len(TOPICS)]
        self.is_compacted = "compact" in self.topic
        self.may_delete = not self.is_compacted and seed % 3 == 0
        """Without transactions: Kafka lets the last stable offset fall behind the log's start."""
        self.now = START
        self.leader_epoch = 0
        self.producers = [Producer(producer_id) for producer_id in (1, 2, 3)]
        self.end = 0
        """At least as large as the log's end."""

    def commands(self) -> list[str]:
        segment = self.random.choice([700, 1500, 4000])
        interval = self.random.choice([0, 100, 4096])
        configs = f"internal.segment.bytes={segment};index.interval.bytes={interval};{self.topic}"
        commands = [f"log\t{configs.rstrip(';')}"]
        for _ in range(STEPS):
            commands += self.step()
        commands.append("close")
        return commands

    def step(self) -> list[str]:
        self.now += self.random.choice([0, 1, 100, 1000])
        kind = self.random.choices(
            ["data", "bad", "marker", "repeat", "read", "time", "delete", "roll", "retain", "epoch", "clean"],
            [40, 10, 10, 6, 12, 6, 2, 3, 3, 2, 4 if self.is_compacted else 0],
        )[0]
        return getattr(self, f"step_{kind}")()  # type: ignore[no-any-return]

    def step_data(self) -> list[str]:
        producer = self.random.choice([None, *self.producers])
        if producer is None:
            return [self.append(self.batch())]
        fate = self.random.choices(["next", "gap", "bump", "stale", "switch"], [80, 4, 6, 4, 6])[0]
        if fate == "gap":
            return [self.append(self.batch(producer, sequence=producer.sequence + self.random.choice([1, 5])))]
        if fate == "stale" and producer.epoch:
            return [self.append(self.batch(producer, epoch=producer.epoch - 1))]
        if fate == "bump":
            producer.epoch += 1
            producer.sequence = self.random.choice([0, 0, 0, 3])
        if fate == "switch" and not self.may_delete:
            producer.is_transactional = not producer.is_transactional
        data = self.batch(producer)
        producer.sent.append(data)
        producer.sequence += struct.unpack_from(">i", data, 57)[0]
        return [self.append(data)]

    def step_repeat(self) -> list[str]:
        producer = self.random.choice(self.producers)
        return [self.append(self.random.choice(producer.sent[-7:]))] if producer.sent else []

    def step_marker(self) -> list[str]:
        producer = self.random.choice(self.producers)
        version = self.random.choice([0, 1, 2])
        epoch = producer.epoch + self.random.choice([0, 0, 1] if version < 2 else [0, 1, 1, 1])
        marker = Marker(self.random.choice(list(MarkerType)), self.random.choice([0, 0, 0, 1]), self.now)
        if epoch > producer.epoch:
            producer.epoch, producer.sequence = epoch, 0
        data = write_marker(producer.producer_id, epoch, marker)
        return [self.append(data, origin="coordinator", version=version)]

    def step_bad(self) -> list[str]:
        data = bytearray(self.batch(self.random.choice([None, *self.producers])))
        spoil = self.random.choice(
            [
                "crc",
                "count",
                "delta",
                "base",
                "control",
                "time",
                "tail",
                "second",
                "legacy",
                "length",
                "sequence",
                "old",
            ]
        )
        getattr(self, f"spoil_{spoil}")(data)
        return [self.append(bytes(data))]

    def spoil_crc(self, data: bytearray) -> None:
        data[self.random.randrange(17, len(data))] ^= 1

    def spoil_count(self, data: bytearray) -> None:
        _patch(data, ">i", 57, self.random.choice([0, -1, 7]))

    def spoil_delta(self, data: bytearray) -> None:
        _patch(data, ">i", 23, self.random.choice([-1, -5, 9]))

    def spoil_base(self, data: bytearray) -> None:
        struct.pack_into(">q", data, 0, self.random.choice([1, 77]))

    def spoil_control(self, data: bytearray) -> None:
        _patch(data, ">h", 21, 0x20)

    def spoil_time(self, data: bytearray) -> None:
        """Too far in the future, or in the past, or said to be the broker's."""
        if self.random.random() < 0.3:
            _patch(data, ">h", 21, struct.unpack_from(">h", data, 21)[0] | 0x08)
            return
        _shift(data, self.random.choice([3_600_000, 3_600_001, 5_001, -5_001, 10_000_000]))

    def spoil_tail(self, data: bytearray) -> None:
        data += bytes(self.random.choice([1, 11]))

    def spoil_second(self, data: bytearray) -> None:
        data += self.batch()

    def spoil_legacy(self, data: bytearray) -> None:
        data[16] = self.random.choice([3, 9, 255])

    def spoil_length(self, data: bytearray) -> None:
        struct.pack_into(">i", data, 8, self.random.choice([0, -1, 13]))

    def spoil_sequence(self, data: bytearray) -> None:
        _patch(data, ">q", 43, 1)
        _patch(data, ">h", 51, 0)
        _patch(data, ">i", 53, -1)

    def spoil_old(self, data: bytearray) -> None:
        """A batch that claims a time of long ago."""
        _shift(data, 1000 - self.now)

    def step_read(self) -> list[str]:
        offset = self.random.randrange(-1, self.end + 3)
        size = self.random.choice([0, 1, 100, 500, 100_000])
        return [f"read\t{offset}\t{size}\t{isolation}" for isolation in (0, 1)]

    def step_time(self) -> list[str]:
        return [f"time\t{self.random.choice([-1, -2, -3, -4, -5, -6, 0, START, self.now - 500, self.now])}"]

    def step_delete(self) -> list[str]:
        return [f"delete\t{self.random.randrange(self.end + 2)}"] if self.may_delete else []

    def step_roll(self) -> list[str]:
        return [f"roll\t{self.now}"]

    def step_retain(self) -> list[str]:
        return [f"retain\t{self.now}"]

    def step_clean(self) -> list[str]:
        return [f"roll\t{self.now}", f"clean\t{self.now}"]

    def step_epoch(self) -> list[str]:
        self.leader_epoch += self.random.choice([1, 3])
        return []

    def append(self, data: bytes, *, origin: str = "client", version: int = -1) -> str:
        self.end += 3
        return f"append\t{origin}\t{version}\t{self.now}\t{self.leader_epoch}\t{data.hex()}"

    def batch(
        self, producer: Producer | None = None, *, sequence: int | None = None, epoch: int | None = None
    ) -> bytes:
        records = [self.record() for _ in range(self.random.choice([1, 1, 2, 3]))]
        compression = 0 if self.is_compacted else self.random.choice([0, 0, 0, 1, 2, 3, 4])
        if producer is None:
            return write_batch(records, base_offset=0, compression=compression)
        return write_batch(
            records,
            base_offset=0,
            compression=compression,
            is_transactional=producer.is_transactional,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch if epoch is None else epoch,
            base_sequence=producer.sequence if sequence is None else sequence,
        )

    def record(self) -> Record:
        keyless = self.random.random() < (0.02 if self.is_compacted else 0.3)
        key = None if keyless else self.random.choice([b"a", b"b", b"c", b"d" * 40])
        value = None if self.random.random() < 0.2 else bytes(self.random.randrange(100))
        headers = ((b"h", None), (b"h", b"v")) if self.random.random() < 0.1 else ()
        return Record(value, key, self.now - self.random.choice([0, 0, 10, 300]), 0, headers)


def _patch(data: bytearray, layout: str, position: int, value: int) -> None:
    struct.pack_into(layout, data, position, value)
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))


def _shift(data: bytearray, milliseconds: int) -> None:
    """Give all records another time."""
    for position in (27, 35):
        _patch(data, ">q", position, struct.unpack_from(">q", data, position)[0] + milliseconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--jars", type=Path, required=True)
    jars = parser.parse_args().jars
    _ask(jars, [command for seed in range(SCENARIOS) for command in Scenario(seed).commands()], VECTORS)
    _ask(jars, [f"pack\t{codec}\t{count}\t{size}" for codec in CODECS for count, size in SHAPES], BATCHES)
    return 0


def _ask(jars: Path, commands: list[str], path: Path) -> None:
    answers = run_java("LogOracle.java", jars, stdin="\n".join(commands).encode()).decode().split("\n")[:-1]
    assert len(answers) == len(commands), (len(answers), len(commands))
    lines = [json.dumps({"kafka_version": VERSION, "made_by": "tools/make_log_vectors.py"})]
    lines += [json.dumps(pair, ensure_ascii=False) for pair in zip(commands, answers, strict=True)]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    sys.exit(main())
