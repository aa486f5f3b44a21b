"""Logs in temporary directories; the disk is not waited for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.cluster.log.batches import NOW

from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import Disk, OpenFiles
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.cluster.log.surroundings import Surroundings

OpenLog: TypeAlias = Callable[..., PartitionLog]

UNSYNCED = Disk(sync=lambda _: None)


@pytest.fixture
def surroundings() -> Surroundings:
    return Surroundings(disk=UNSYNCED)


@pytest.fixture
def open_partition(tmp_path: Path, surroundings: Surroundings) -> OpenLog:
    """`open_partition(segment_bytes=1000)` opens t-0; again, what is there. `known=` says what the checkpoints do."""

    def open_it(*, known: Known | None = None, now: int = NOW, near: Surroundings | None = None, **configs: Any) -> Any:
        return open_log(
            "t", 0, tmp_path, LogConfig(**configs), near or surroundings, known or Known(was_clean=True), now
        )

    return open_it


@pytest.fixture
def log(open_partition: OpenLog) -> PartitionLog:
    return open_partition()


def few_files(limit: int) -> Surroundings:
    return Surroundings(disk=UNSYNCED, files=OpenFiles(limit))
