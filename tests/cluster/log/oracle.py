"""Our log behind the commands of `tools/kafka/src/LogOracle.java`, with answers in the same words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from doorkeeper.cluster.log.checkpoints import save_partition_metadata
from doorkeeper.cluster.log.compaction import Compaction, Dirt, measure_dirt
from doorkeeper.cluster.log.config import LogConfig, parse_log_config
from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.producer_state import Origin
from doorkeeper.cluster.log.reading import LATEST_TIMESTAMP, FoundOffset, Isolation
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.cluster.log.retention import apply_retention
from doorkeeper.cluster.log.surroundings import Surroundings

START = 1_700_000_000_000
TOPIC_ID = UUID(int=(1 << 64) + 2)
ORIGINS = {"client": Origin.CLIENT, "coordinator": Origin.COORDINATOR}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


class Oracle:
    """Answers one command after the other; the first must be `log`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log: PartitionLog
        self._opened = 0
        self._answers: dict[str, Callable[..., str]] = {
            "log": self.open,
            "append": self.append,
            "read": self.read,
            "time": self.time,
            "delete": self.delete,
            "roll": self.roll,
            "retain": self.retain,
            "clean": self.clean,
            "close": self.close,
        }

    def answer(self, command: str) -> str:
        kind, *words = command.split("\t")
        return self._answers[kind](*words)

    def open(self, configs: str = "") -> str:
        parent = self.folder / str(self._opened)
        self._opened += 1
        parent.mkdir()
        pairs = (config.split("=", 1) for config in configs.split(";") if config)
        config: LogConfig = parse_log_config(dict(pairs))
        surroundings = Surroundings(disk=Disk(sync=lambda _: None))
        self.log = open_log("t", 0, parent, config, surroundings, Known(was_clean=True), START)
        save_partition_metadata(self.log.directory, TOPIC_ID, surroundings.disk)
        return "log"

    def append(self, origin: str, version: str, now: str, leader_epoch: str, data: str) -> str:
        appended = self.log.append(
            bytearray.fromhex(data),
            leader_epoch=int(leader_epoch),
            now=int(now),
            origin=ORIGINS[origin],
            transaction_version=int(version),
        )
        if isinstance(appended, Refusal):
            return refused(appended)
        return f"ok\t{appended.base_offset}\t{appended.last_offset}\t{appended.log_append_time}\t{self.state()}"

    def state(self) -> str:
        log = self.log
        entries = ",".join(
            f"{key}:{entry.epoch}:{entry.last_offset}:{entry.coordinator_epoch}:{entry.last_timestamp}"
            f":{entry.transaction_start}"
            for key, entry in sorted(log.producers.entries.items())
        )
        bases = ",".join(str(segment.base_offset) for segment in log.segments)
        return f"{log.log_start_offset}\t{log.log_end_offset}\t{log.last_stable_offset}\t{bases}\t{entries}"

    def read(self, offset: str, size: str, isolation: str) -> str:
        found = self.log.read(int(offset), int(size), Isolation(int(isolation)))
        if isinstance(found, Refusal):
            return refused(found)
        data = b"" if found.records is None else found.records.read()
        aborted = "none" if found.aborted is None else ",".join(f"{each[0]}:{each[1]}" for each in found.aborted)
        return f"read\t{len(data)}\t{digest(data)}\t{aborted}"

    def time(self, timestamp: str) -> str:
        found = self.log.offset_for_time(int(timestamp))
        if found is None:
            return "time\tnone"
        assert isinstance(found, FoundOffset)
        return f"time\t{found.offset}\t{found.timestamp}\t{found.leader_epoch}"

    def delete(self, offset: str) -> str:
        refusal = self.log.delete_records(int(offset))
        return refused(refusal) if isinstance(refusal, Refusal) else f"delete\t{self.state()}"

    def roll(self, now: str) -> str:
        if self.log.active.size:
            self.log.roll(int(now))
        return f"roll\t{self.state()}"

    def retain(self, now: str) -> str:
        apply_retention(self.log, int(now))
        return f"retain\t{self.state()}"

    def clean(self, now: str) -> str:
        log = self.log
        log.cleaned_to = log.log_start_offset
        dirt: Dirt = measure_dirt(log, int(now))
        compaction = Compaction(log, dirt, int(now))
        while not compaction.step(1):
            pass
        digests = ",".join(
            f"{segment.base_offset}:{segment.size}:{digest(segment.path.read_bytes())}" for segment in log.segments
        )
        return f"clean\t{log.cleaned_to}\t{digests}"

    def close(self) -> str:
        self.log.close()
        files = sorted(path for path in self.log.directory.iterdir() if path.suffix != ".deleted")
        contents = ((path.name, path.read_bytes()) for path in files)
        return "close\t" + ",".join(f"{name}:{len(data)}:{digest(data)}" for name, data in contents)


def refused(refusal: Refusal) -> str:
    records = "|".join(f"{record.batch_index}:{record.message}" for record in refusal.records)
    return f"error\t{int(refusal.code)}\t{refusal.message}\t{records}"


__all__ = ["LATEST_TIMESTAMP", "START", "Oracle", "digest"]
