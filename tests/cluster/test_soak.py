"""Two hundred connections that come, go and misbehave: memory stays flat, and no task is left behind.

`DOORKEEPER_SOAK_SECONDS` sets how long the short form takes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.misbehaving import BEHAVIOURS, FETCH_BYTES, TOPIC
from tests.cluster.processes import SOURCE
from tests.cluster.records import batch, create_topic, produce
from tests.cluster.running import RunningCluster
from tests.kafka.requests import api_versions

from doorkeeper.wire.registry import Door

SHORT_SECONDS: Final = float(os.environ.get("DOORKEEPER_SOAK_SECONDS", "4"))
LONG_SECONDS: Final = 600.0
SAMPLES: Final = 40
SHORTEST_PAUSE_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 120.0
ROOT: Final = Path(__file__).parents[2]
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
MEBIBYTE: Final = 1 << 20
SLACK_BYTES: Final = 8 * MEBIBYTE
"""What an allocator may keep for itself; connections that leak a page each are through it after two thousand."""
CONFIGS: Final = {"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4"}


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def tasks(cluster: RunningCluster) -> set[str]:
    """The names of the tasks that live in the cluster's loop."""

    async def collect() -> set[str]:
        return {one.get_name() for one in asyncio.all_tasks() if one is not asyncio.current_task()}

    found: set[str] = cluster.run(collect())
    return found


def watch(peers: subprocess.Popen[str], seconds: float) -> list[int]:
    """The memory of this process, which the cluster lives in, at regular times until the peers are done.

    To collect garbage holds up the cluster, which lives here too, and takes a second in a run of all tests: so there
    are few samples, and a short run has none.
    """
    samples: list[int] = []
    deadline = time.monotonic() + seconds + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            peers.wait(max(seconds / SAMPLES, SHORTEST_PAUSE_SECONDS))
            return samples
        gc.collect()
        samples.append(resident_bytes())
    peers.kill()
    peers.communicate()
    raise AssertionError(f"the peers did not end within {PATIENCE_SECONDS} s of their time")


def soak(folder: Path, seconds: float) -> list[int]:
    with RunningCluster(folder, overrides=CONFIGS) as cluster:
        # A line for each misbehaviour is right; a test run would keep them all in memory.
        logging.getLogger("doorkeeper.net").setLevel(logging.ERROR)
        with cluster.connect() as connection:
            create_topic(connection, TOPIC)
            # Responses are as large in the beginning as they will be in the end.
            assert produce(connection, TOPIC, batch(b"x" * FETCH_BYTES)).error_code is ErrorCode.none
        before = tasks(cluster)
        port = cluster.address(Door.BROKER)[1]
        peers = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.misbehaving", str(port), str(seconds)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{SOURCE}:{ROOT}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        samples = watch(peers, seconds)
        told, _ = peers.communicate()
        assert peers.returncode == 0
        done = json.loads(told)
        assert {one.__name__ for one in BEHAVIOURS} <= done.keys()
        cluster.wait_until(lambda: cluster.node().connections()[Door.BROKER] == 0)
        with cluster.connect() as connection:
            assert api_versions(connection)
        cluster.wait_until(lambda: cluster.node().connections()[Door.BROKER] == 0)
        left = tasks(cluster) - before
        assert not left, f"left behind: {sorted(left)}"
    return samples


def test_misbehaving_peers_leave_nothing_behind(tmp_path: Path) -> None:
    soak(tmp_path, SHORT_SECONDS)


@pytest.mark.long
def test_memory_stays_flat_for_ten_minutes(tmp_path: Path) -> None:
    samples = soak(tmp_path, LONG_SECONDS)
    assert len(samples) > SAMPLES // 2
    quarter = len(samples) // 4
    early, late = statistics.median(samples[quarter : 2 * quarter]), statistics.median(samples[-quarter:])
    assert late <= early + SLACK_BYTES, f"{early / MEBIBYTE:.1f} MiB became {late / MEBIBYTE:.1f} MiB"
