"""What the audit costs as the request log grows, on two cores with 4 GB for the driver, and what Spark spills of it.

Seconds are those after the session's start. The cost is linear if a gigabyte of a large log costs no more than one of
the smallest; what is the same for every size, planning and writing tables, makes it less. Other sizes:
`python -m benchmarks.audit_scale 1 2`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.audit import audit
from benchmarks.measure import Row
from benchmarks.request_log import write_log

GIGABYTES = (1, 2, 5, 10)
MEMORY = "spark.driver.memory=4g"
AT_MOST = 1.1
_GIGABYTE = 1_000_000_000
_MEGABYTE = 1_000_000
_SPILLED = ("Memory Bytes Spilled", "Disk Bytes Spilled")


@dataclass(frozen=True, slots=True)
class Scaled:
    """One size."""

    size: int
    """Bytes of log."""
    seconds: float
    cpu: float
    spilled: int
    """Bytes."""

    @property
    def seconds_per_gigabyte(self) -> float:
        """After the session's start."""
        return self.seconds / self.size * _GIGABYTE


def measure(gigabytes: int) -> Scaled:
    """Write a log, audit it, and look into Spark's own record of the run."""
    with tempfile.TemporaryDirectory() as folder:
        log, events = Path(folder) / "kafka-request.log", Path(folder) / "events"
        planted = write_log(log, gigabytes * _GIGABYTE // 1024**2)
        events.mkdir()
        record = (
            "spark.eventLog.enabled=true",
            f"spark.eventLog.dir={events.as_uri()}",
            "spark.eventLog.compress=false",
        )
        run = audit(log, Path(folder) / "out", MEMORY, *record)
        if run.found != planted.counts:
            raise AssertionError("the audit does not find what was planted")
        scaled = Scaled(log.stat().st_size, run.seconds, run.cpu, sum(_spills(events)))
    print(f"{gigabytes} GB: {run.summed_up}, {scaled.spilled:,} bytes spilled", file=sys.stderr)
    return scaled


def _spills(events: Path) -> Iterator[int]:
    """The bytes that each task has spilled, by Spark's event log."""
    for path in events.rglob("events_*"):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                metrics = json.loads(line).get("Task Metrics") or {}
                yield sum(metrics.get(name, 0) for name in _SPILLED)


def rows(gigabytes: Sequence[int] = GIGABYTES) -> list[Row]:
    """What `make bench` asks for."""
    first, *others = [measure(one) for one in gigabytes]
    made = []
    for one in others:
        ratio = one.seconds_per_gigabyte / first.seconds_per_gigabyte
        what = f"seconds per GB at {one.size / _GIGABYTE:.0f} GB, against {first.size / _GIGABYTE:.0f} GB"
        ours, peer = f"{one.seconds_per_gigabyte:.2f}", f"{first.seconds_per_gigabyte:.2f}"
        made.append(Row(what, ours, peer, ratio, f"<= {AT_MOST:g}x", ratio <= AT_MOST))
    largest = others[-1] if others else first
    share = largest.spilled / largest.size
    what = f"MB spilled at {largest.size / _GIGABYTE:.0f} GB, against its input"
    ours, peer = f"{largest.spilled / _MEGABYTE:.0f}", f"{largest.size / _MEGABYTE:.0f}"
    return [*made, Row(what, ours, peer, share, "<= 1x", share <= 1)]


if __name__ == "__main__":
    for row in rows([int(argument) for argument in sys.argv[1:]] or GIGABYTES):
        print(f"{row.what}: {row.ours} to {row.peer} = {row.ratio:.2f}x (target {row.target})")
