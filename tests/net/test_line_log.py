"""Lines reach the file whole and in order; what does not is counted; old files are gzipped and bounded in number."""

from __future__ import annotations

import errno
import gzip
import logging
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorkeeper.net import line_log, rotated_file
from doorkeeper.net.line_log import LineLog
from doorkeeper.net.rotated_file import DAY_SECONDS, RotatedFile, Rotation

NOON = 1_800_000_000 // DAY_SECONDS * DAY_SECONDS + DAY_SECONDS / 2


class Clock:
    """A clock that stands still until told."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


@pytest.fixture
def log(path: Path, clock: Clock) -> Iterator[LineLog]:
    opened = LineLog(path, Rotation(max_bytes=100, kept=3), max_queued_lines=50, max_queued_bytes=1000, clock=clock)
    yield opened
    opened.close()


class Wall:
    """Holds the writing thread until it is torn down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._down = threading.Event()
        write = rotated_file._write_all

        def wait_and_write(descriptor: int, data: bytes) -> None:
            assert self._down.wait(30)
            write(descriptor, data)

        monkeypatch.setattr(rotated_file, "_write_all", wait_and_write)

    def tear_down(self) -> None:
        self._down.set()


def old_texts(path: Path) -> list[str]:
    return [gzip.decompress(one.read_bytes()).decode() for one in RotatedFile(path, Rotation()).old_files()]


class TestQueue:
    def test_writes_lines_in_order(self, log: LineLog, path: Path) -> None:
        for number in range(5):
            assert log.write(f"line {number}")
        assert log.flush()
        assert path.read_text() == "".join(f"line {number}\n" for number in range(5))
        assert (log.written, log.dropped, log.failed) == (5, 0, 0)

    def test_close_writes_what_is_queued(self, log: LineLog, path: Path) -> None:
        log.write(b"last")
        assert log.close()
        assert log.close()
        assert path.read_bytes() == b"last\n"

    def test_drops_and_counts_what_comes_after_close(self, log: LineLog, path: Path) -> None:
        log.close()
        assert not log.write("too late")
        assert log.dropped == 1
        assert path.read_bytes() == b""

    @pytest.mark.parametrize(("line", "room"), [("x", 50), ("x" * 100, 10)], ids=["lines", "bytes"])
    def test_drops_and_counts_what_the_queue_has_no_room_for(
        self, log: LineLog, path: Path, monkeypatch: pytest.MonkeyPatch, line: str, room: int
    ) -> None:
        wall = Wall(monkeypatch)
        log.write("taken")
        log._hurry.set()
        while log._queue:  # until the thread has taken the first line and stands before the wall
            pass
        taken = [log.write(line) for _ in range(room + 3)]
        assert taken == [True] * room + [False] * 3
        assert log.dropped == 3
        assert not log.flush(0)
        wall.tear_down()
        assert log.flush()
        assert log.written == room + 1

    def test_a_line_end_forges_no_line(self, log: LineLog, path: Path) -> None:
        log.write('{"value":"a\n{}"}')
        log.flush()
        assert path.read_text() == '{"value":"a\\n{}"}\n'

    def test_writes_what_is_no_unicode(self, log: LineLog, path: Path) -> None:
        log.write("\ud800")
        log.flush()
        assert path.read_bytes() == b"\\ud800\n"

    def test_lines_of_many_threads_are_whole(self, path: Path) -> None:
        log = LineLog(path)
        texts = [str(number) * 20 for number in range(4)]
        threads = [threading.Thread(target=lambda text=text: [log.write(text) for _ in range(500)]) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log.close()
        assert sorted(path.read_text().split()) == sorted(texts * 500)

    def test_refuses_a_path_that_cant_be_opened(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            LineLog(tmp_path / "no such directory" / "log")


class TestDisk:
    def test_a_full_disk_is_counted_and_said_once(
        self, log: LineLog, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        write = os.write

        def half(descriptor: int, data: bytes) -> int:
            if len(data) > 4:
                return write(descriptor, data[:4])
            raise OSError(errno.ENOSPC, "No space left on device")

        with caplog.at_level(logging.WARNING, line_log.LOGGER.name), monkeypatch.context() as patched:
            patched.setattr(os, "write", half)
            for _ in range(2):
                assert log.write("a long line")
                assert log.flush()
        assert [one.getMessage() for one in caplog.records] == [
            f"{path} can't be written, its lines are lost (and counted): [Errno 28] No space left on device"
        ]
        assert (log.failed, log.written) == (2, 0)
        log.write("back again")
        log.flush()
        assert path.read_text() == "back again\n"

    def test_a_line_is_written_when_the_old_file_cant_be_gzipped(
        self, log: LineLog, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(path: Path) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(rotated_file, "_compress", refuse)
        with caplog.at_level(logging.WARNING, line_log.LOGGER.name):
            for text in ("a" * 80, "b" * 80):
                log.write(text)
                log.flush()
            log.close()
        assert path.read_text() == "b" * 80 + "\n"
        assert log.failed == 0
        assert "can't be gzipped" in caplog.text


class TestRotation:
    def write(self, log: LineLog, *lines: str) -> None:
        for line in lines:
            log.write(line)
            assert log.flush()

    def test_begins_a_new_file_when_a_line_would_exceed_the_size(self, log: LineLog, path: Path) -> None:
        self.write(log, "a" * 49, "b" * 49)
        assert old_texts(path) == []
        self.write(log, "c")
        log.close()
        assert path.read_text() == "c\n"
        assert old_texts(path) == ["a" * 49 + "\n" + "b" * 49 + "\n"]

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
    def test_old_files_are_for_the_same_readers(self, log: LineLog, path: Path, mode: int) -> None:
        path.chmod(mode)
        self.write(log, "a" * 80, "b" * 80)
        log.close()
        (old,) = RotatedFile(path, Rotation()).old_files()
        assert (old.suffix, stat.S_IMODE(old.stat().st_mode)) == (".gz", mode)

    def test_a_line_longer_than_a_file_is_written_whole(self, log: LineLog, path: Path) -> None:
        self.write(log, "a" * 300, "b")
        log.close()
        assert old_texts(path) == ["a" * 300 + "\n"]

    def test_begins_a_new_file_with_the_day(self, log: LineLog, path: Path, clock: Clock) -> None:
        self.write(log, "noon")
        clock.now += DAY_SECONDS / 2 - 1
        self.write(log, "before midnight")
        clock.now += 1
        self.write(log, "midnight")
        log.close()
        assert path.read_text() == "midnight\n"
        assert old_texts(path) == ["noon\nbefore midnight\n"]

    def test_the_day_is_remembered_by_the_next_process(self, path: Path, clock: Clock) -> None:
        path.write_text("yesterday\n")
        os.utime(path, (NOON - DAY_SECONDS, NOON - DAY_SECONDS))
        log = LineLog(path, clock=clock)
        self.write(log, "today")
        log.close()
        assert old_texts(path) == ["yesterday\n"]

    def test_keeps_so_many_old_files(self, log: LineLog, path: Path) -> None:
        self.write(log, *(letter * 90 for letter in "abcdef"))
        log.close()
        assert [text[0] for text in old_texts(path)] == ["c", "d", "e"]

    def test_leaves_files_alone_that_only_look_alike(self, path: Path) -> None:
        alike = [path.with_name(path.name + ending) for ending in (".1.gz", ".20261116.gz", ".bak", "x.gz")]
        for one in alike:
            one.write_text("mine")
        RotatedFile(path, Rotation(kept=0)).tidy()
        assert all(one.read_text() == "mine" for one in alike)

    def test_gzips_what_an_earlier_process_put_aside(self, path: Path) -> None:
        path.with_name(path.name + ".20261116T031807Z-000").write_text("old\n")
        LineLog(path).close()
        assert old_texts(path) == ["old\n"]

    def test_ends_the_line_that_an_earlier_process_began(self, path: Path) -> None:
        path.write_text('{"torn')
        log = LineLog(path)
        self.write(log, "{}")
        log.close()
        assert path.read_text() == '{"torn\n{}\n'

    def test_follows_the_path_when_somebody_else_moved_the_file(self, log: LineLog, path: Path) -> None:
        self.write(log, "first")
        path.rename(path.with_name("moved"))
        self.write(log, "second")
        assert path.read_text() == "second\n"
        assert path.with_name("moved").read_text() == "first\n"

    def test_others_may_not_read(self, log: LineLog, path: Path) -> None:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o007
