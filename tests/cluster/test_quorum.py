"""The one writer: turns, group commit, failures, snapshots, waiters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from doorkeeper.cluster import quorum as quorum_module
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.cluster.quorum import MetadataQuorum, QuorumBusyError, QuorumStoppedError
from doorkeeper.errors import StorageError
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ConfigRecord, FeatureLevelRecord

MEBIBYTE = 1024 * 1024
Scenario = Callable[[MetadataQuorum], Awaitable[None]]


def setting(value: str) -> Callable[[MetadataImage], Decision[str]]:
    record = ConfigRecord(resource_type=32, resource_name="g", name="k", value=value)
    return lambda image: Decision((VersionedRecord(record, 0),), image.configs.of(32, "g").get("k", ""))


@asynccontextmanager
async def running(folder: Path, snapshot_bytes: int = MEBIBYTE) -> AsyncIterator[MetadataQuorum]:
    log = MetadataLog(folder / "__cluster_metadata-0", 1)
    log.begin_epoch(0)
    quorum = MetadataQuorum(log, snapshot_bytes=snapshot_bytes, clock_ms=lambda: 7)
    task = asyncio.get_running_loop().create_task(quorum.run())
    level = FeatureLevelRecord(name="metadata.version", feature_level=1000)
    await quorum.decide(lambda _image: Decision((VersionedRecord(level, 0),), None))
    try:
        yield quorum
    finally:
        quorum.stop()
        await task
        log.close()


def play(folder: Path, scenario: Scenario, snapshot_bytes: int = MEBIBYTE) -> None:
    async def main() -> None:
        async with running(folder, snapshot_bytes) as quorum:
            await scenario(quorum)

    asyncio.run(main())


def test_decisions_of_one_turn_see_each_other_and_share_a_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        flushes: list[Any] = []
        flush = quorum.log.flush

        def counted(sealed: Any) -> None:
            flushes.append(sealed)
            flush(sealed)

        monkeypatch.setattr(quorum.log, "flush", counted)
        answers = await asyncio.gather(*(quorum.decide(setting(str(number))) for number in range(50)))
        assert answers == ["", *map(str, range(49))]
        assert len(flushes) == 1
        assert quorum.image.configs.of(32, "g") == {"k": "49"}

    play(tmp_path, scenario)


def test_failed_flush_refuses_its_turn_and_leaves_the_image_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        await quorum.decide(setting("before"))

        def fail(_sealed: Any) -> None:
            raise StorageError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(quorum.log, "flush", fail)
            outcomes = await asyncio.gather(
                quorum.decide(setting("a")), quorum.decide(setting("b")), return_exceptions=True
            )
        assert [type(one) for one in outcomes] == [StorageError, StorageError]
        assert quorum.image.configs.of(32, "g") == {"k": "before"}
        assert await quorum.decide(setting("after")) == "before"

    play(tmp_path, scenario)


def test_decision_that_raises_fails_alone(tmp_path: Path) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        def broken(_image: MetadataImage) -> Decision[None]:
            raise ZeroDivisionError

        outcomes = await asyncio.gather(quorum.decide(broken), quorum.decide(setting("x")), return_exceptions=True)
        assert isinstance(outcomes[0], ZeroDivisionError)
        assert quorum.image.configs.of(32, "g") == {"k": "x"}

    play(tmp_path, scenario)


def test_slow_disk_is_flushed_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        monkeypatch.setattr(quorum_module, "INLINE_FLUSH_SECONDS", 0.0)
        for number in range(3):
            await quorum.decide(setting(str(number)))
        assert quorum.image.configs.of(32, "g") == {"k": "2"}

    play(tmp_path, scenario)


def test_image_is_told_before_the_answer_and_a_failing_subscriber_harms_nobody(tmp_path: Path) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        seen: list[int] = []

        def broken(image: MetadataImage) -> None:
            if image.configs.of(32, "g"):
                raise ZeroDivisionError

        quorum.subscribe(broken)
        quorum.subscribe(lambda image: seen.append(image.provenance.offset))
        await quorum.decide(setting("x"))
        assert seen[-1] == quorum.image.provenance.offset
        assert len(seen) == 2

    play(tmp_path, scenario)


def test_waiters_are_woken_by_a_write_and_by_the_end_of_their_time(tmp_path: Path) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        end = quorum.log.end_offset
        waiting = asyncio.ensure_future(quorum.wait_beyond(end, timeout=60))
        await asyncio.sleep(0)
        assert not waiting.done()
        await quorum.decide(setting("x"))
        await waiting
        await quorum.wait_beyond(quorum.log.end_offset, timeout=0.001)
        await quorum.wait_beyond(end, timeout=60)

    play(tmp_path, scenario)


def test_snapshot_is_made_when_the_log_has_grown(tmp_path: Path) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        for number in range(20):
            await quorum.decide(setting(str(number)))
        assert quorum.log.snapshots

    play(tmp_path, scenario, snapshot_bytes=500)


def test_snapshot_that_fails_is_not_tried_at_every_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        tried: list[int] = []

        def fail(now: int) -> None:
            tried.append(now)
            raise StorageError("no space left")

        monkeypatch.setattr(quorum.log, "save_snapshot", fail)
        while quorum.log.size < 1200:
            await quorum.decide(setting("x"))
        assert len(tried) == 2

    play(tmp_path, scenario, snapshot_bytes=500)


def test_stopped_quorum_takes_no_decision_but_finishes_those_that_wait(tmp_path: Path) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        last = asyncio.ensure_future(quorum.decide(setting("last")))
        await asyncio.sleep(0)
        quorum.stop()
        with pytest.raises(QuorumStoppedError):
            await quorum.decide(setting("late"))
        await last
        assert quorum.image.configs.of(32, "g") == {"k": "last"}

    play(tmp_path, scenario)


def test_too_many_waiting_decisions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(quorum: MetadataQuorum) -> None:
        monkeypatch.setattr(quorum_module, "MAX_WAITING", 2)
        outcomes = await asyncio.gather(*(quorum.decide(setting("x")) for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in outcomes] == [str, str, QuorumBusyError]

    play(tmp_path, scenario)
