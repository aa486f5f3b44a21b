"""How long a client that has used too much is left alone. From QuotaUtils and ControllerMutationQuotaManager."""

from __future__ import annotations

import math

from doorkeeper.rules.javatext import INT_MAX


def throttle_time_ms(observed: float, limit: float, window_ms: int, longest_ms: int | None = None) -> int:
    """The time after which the rate is back at its limit if nothing more comes: X = (O - T) / T * W (KIP-13)."""
    time = _rounded((observed - limit) / limit * window_ms) if limit > 0 else INT_MAX
    return time if longest_ms is None else min(time, longest_ms)


def refill_time_ms(tokens: float, limit: float) -> int:
    """The time after which an overdrawn bucket is empty, and no longer overdrawn (KIP-599)."""
    return _rounded(-tokens / limit * 1000) if limit > 0 else INT_MAX


def _rounded(value: float) -> int:
    """Java's Math.round, held within an int."""
    return min(math.floor(value + 0.5), INT_MAX) if math.isfinite(value) else INT_MAX
