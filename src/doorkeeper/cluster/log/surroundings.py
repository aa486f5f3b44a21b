"""What the logs of one store share, and what tests replace: descriptors, disk calls, chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import Disk, OpenFiles
from doorkeeper.cluster.log.producer_state import ProducerSettings


def _draw_below(limit: int) -> int:
    return random.randrange(limit)  # noqa: S311  spreads work over time, guards nothing


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Handed to every log."""

    files: OpenFiles = field(default_factory=OpenFiles)
    disk: Disk = field(default_factory=Disk)
    draw_below: Callable[[int], int] = _draw_below
    """A number from 0 up to, not including, the limit."""
    producers: ProducerSettings = field(default_factory=ProducerSettings)

    def jitter(self, config: LogConfig) -> int:
        """How much earlier than segment.ms a new segment is to be rolled (LogConfig.randomSegmentJitter)."""
        limit = min(config.segment_jitter_ms, config.segment_ms)
        return self.draw_below(limit) if limit > 0 else 0
