"""A log of lines that costs its caller an append: a thread of its own writes them to a rotated file.

For verdicts, the request log and the gateway's identity log. The queue between caller and thread is bounded in lines
and in bytes; what does not fit is dropped and counted. A disk that refuses is counted too, and said once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from doorkeeper.net.rotated_file import RotatedFile, Rotation
from doorkeeper.wire.framing import MEBIBYTES

LOGGER: Final = logging.getLogger("doorkeeper.line_log")
MAX_QUEUED_LINES: Final = 10_000
MAX_QUEUED_BYTES: Final = 16 * MEBIBYTES
GATHER_SECONDS: Final = 0.1  # how long lines are gathered before they are written together
CLOSE_SECONDS: Final = 10.0  # how long `close` and `flush` wait for a slow disk


class LineLog:
    """Lines to a file, from any thread. Only the constructor raises."""

    def __init__(
        self,
        path: Path,
        rotation: Rotation | None = None,
        *,
        max_queued_lines: int = MAX_QUEUED_LINES,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """:raises OSError: when the file can't be opened.

        :param clock: seconds since the epoch.
        """
        self._clock = clock
        self._file = RotatedFile(path, rotation or Rotation())
        self._max_lines = max_queued_lines
        self._max_bytes = max_queued_bytes
        self._lock = threading.Lock()
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._idle = threading.Event()
        self._idle.set()
        self._waiting = threading.Event()
        self._hurry = threading.Event()
        self._closed = False
        self._written = 0
        self._dropped = 0
        self._failed = 0
        self._refused = False
        """Whether the disk's refusal has been said; it is said again after a write that went well."""
        self._thread = threading.Thread(target=self._run, name=f"lines of {path.name}", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """Where the newest lines are."""
        return self._file.path

    @property
    def written(self) -> int:
        """Lines that are in the file."""
        return self._written

    @property
    def dropped(self) -> int:
        """Lines that the queue had no room for, or that came after `close`."""
        return self._dropped

    @property
    def failed(self) -> int:
        """Lines that the disk did not take."""
        return self._failed

    def write(self, line: str | bytes) -> bool:
        """Queue one line, without its end; False when it is dropped."""
        data = line if isinstance(line, bytes) else line.encode("utf-8", "backslashreplace")
        with self._lock:
            full = len(self._queue) >= self._max_lines or self._queued_bytes + len(data) > self._max_bytes
            if full or self._closed:
                self._dropped += 1
                return False
            self._queue.append(data)
            self._queued_bytes += len(data)
            if len(self._queue) == 1:
                self._idle.clear()
                self._waiting.set()
        return True

    def flush(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Wait until every line queued so far has met the disk; False when that took too long."""
        self._hurry.set()
        try:
            return self._idle.wait(seconds)
        finally:
            if not self._closed:
                self._hurry.clear()

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write what is queued and take no more; False when the disk was too slow. A second call does nothing."""
        with self._lock:
            self._closed = True
        self._hurry.set()
        self._waiting.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # -- the thread

    def _run(self) -> None:
        self._tidy()
        while not (self._closed and self._idle.is_set()):
            self._waiting.wait()
            self._hurry.wait(GATHER_SECONDS)
            self._write_queued()
        self._file.close()

    def _write_queued(self) -> None:
        with self._lock:
            lines, self._queue, self._queued_bytes = self._queue, [], 0
            self._waiting.clear()
        if lines:
            self._append(lines)
        with self._lock:
            if not self._queue:
                self._idle.set()

    def _append(self, lines: list[bytes]) -> None:
        # A line end inside a line would forge another line.
        whole = b"".join(line.replace(b"\n", b"\\n") + b"\n" for line in lines)
        try:
            rotated = self._file.append(whole, self._clock())
        except OSError as error:
            self._failed += len(lines)
            self._say_once("%s can't be written, its lines are lost (and counted): %s", error)
            return
        self._refused = False
        self._written += len(lines)
        if rotated:
            self._tidy()

    def _tidy(self) -> None:
        try:
            self._file.tidy()
        except OSError as error:
            self._say_once("old files of %s can't be gzipped or removed: %s", error)

    def _say_once(self, text: str, error: OSError) -> None:
        if not self._refused:
            self._refused = True
            LOGGER.warning(text, self.path, error)
