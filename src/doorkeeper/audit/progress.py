"""Progress on standard error: stages, megabytes, and how long it will take yet.

How far a stage is comes from Spark's own count of finished tasks, where the session can be asked (not over Connect).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from doorkeeper.audit.sources import Inputs

MEGABYTE: Final = 1_000_000
_INTERVAL: Final = 1.0  # seconds between two looks


class Progress:
    """Writes a line per stage, and on a terminal how far it is."""

    def __init__(self, out: TextIO | None, spark: SparkSession | None = None) -> None:
        self._out = out
        self._spark = spark
        self._live = out is not None and out.isatty()

    def say(self, text: str) -> None:
        """One line."""
        if self._out is not None:
            self._out.write(text + "\n")
            self._out.flush()

    def found(self, inputs: Inputs) -> None:
        """What there is to do."""
        for kind, files in inputs.files.items():
            megabytes = sum(file.size for file in files) / MEGABYTE
            self.say(f"{kind.value}: {len(files)} files, {megabytes:,.1f} MB")
        for path in inputs.unknown:
            self.say(f"not read, nothing known in it: {escape_for_display(path, 200)}")

    @contextmanager
    def stage(self, name: str, size: int = 0) -> Iterator[None]:
        """Time a stage; with a size in bytes, also its speed."""
        started = time.monotonic()
        stop = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(name, size, started, stop), daemon=True)
        if self._live:
            watcher.start()
        try:
            yield
        finally:
            stop.set()
            if self._live:
                watcher.join()
        self.done(name, started, size)

    def done(self, name: str, started: float, size: int = 0, lines: int = 0) -> None:
        """Say how long something took that began at `started`, and how fast it was."""
        seconds = max(time.monotonic() - started, 0.001)
        speed = f", {size / MEGABYTE / seconds:,.0f} MB/s" if size else ""
        speed += f", {lines / seconds:,.0f} lines/s" if lines else ""
        self.say(f"{name}: {seconds:.1f} s{speed}")

    def _watch(self, name: str, size: int, started: float, stop: threading.Event) -> None:
        assert self._out is not None
        while not stop.wait(_INTERVAL):
            share = self._finished()
            seconds = time.monotonic() - started
            text = f"{name}: {seconds:.0f} s"
            if size and share:
                done = size * share / MEGABYTE
                text += f", {done:,.0f} of {size / MEGABYTE:,.0f} MB, {done / seconds:,.0f} MB/s"
                text += f", {seconds / share - seconds:.0f} s left"
            self._out.write(f"\r\x1b[K{text}")
            self._out.flush()
        self._out.write("\r\x1b[K")

    def _finished(self) -> float:
        """The share of the running stages' tasks that are done."""
        with suppress(Exception):  # Spark Connect has no status tracker; progress is never worth a failure
            assert self._spark is not None
            tracker = self._spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = sum(stage.numTasks for stage in stages if stage)
            return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
        return 0.0
