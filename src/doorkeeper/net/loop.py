"""The event loop: uvloop where it is to be had, asyncio's own elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the loop; uvloop is imported here and nowhere else."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine to its end on the fastest loop there is."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)
