"""Measuring two things in alternation, so that a noisy machine is noisy for both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 15


@dataclass(frozen=True, slots=True)
class Row:
    """One line of RESULTS.md."""

    what: str
    ours: str
    peer: str
    ratio: float
    target: str
    met: bool | None
    """None: there is no target."""


def compare(
    what: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    at_most: float,
    loops: int,
    peer_loops: int | None = None,
    rounds: int = ROUNDS,
    unit: str = "µs",
    clock: Callable[[], float] = time.perf_counter,
) -> Row:
    """Median time of one call of each, and their ratio; `at_most` is the target.

    On a busy machine `time.process_time` is the clock to trust, unless other processes do the work.
    """
    scale = {"µs": 1e6, "ms": 1e3, "ns": 1e9}[unit]
    our_times, peer_times = [], []
    for _ in range(rounds):
        peer_times.append(_time(peer, peer_loops or loops, clock))
        our_times.append(_time(ours, loops, clock))
    ours_median, peer_median = statistics.median(our_times), statistics.median(peer_times)
    ratio = ours_median / peer_median
    return Row(
        what,
        f"{ours_median * scale:.3g} {unit}",
        f"{peer_median * scale:.3g} {unit}",
        ratio,
        f"<= {at_most:g}x",
        ratio <= at_most,
    )


def _time(call: Callable[[], object], loops: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(loops):
        call()
    return (clock() - start) / loops
