"""Doorkeeper: one rulebook for what Apache Kafka lets in, and the doors that enforce it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.client import Admin
    from doorkeeper.embedded import Doorkeeper

__version__ = "0.1.0"
__all__ = ["Admin", "Doorkeeper", "__version__"]


def __getattr__(name: str) -> object:
    """Load what is named only where it is asked for: the rulebook and `--help` need neither kio nor asyncio."""
    if name == "Admin":
        from doorkeeper.client import Admin

        return Admin
    if name == "Doorkeeper":
        from doorkeeper.embedded import Doorkeeper

        return Doorkeeper
    raise AttributeError(f"module 'doorkeeper' has no attribute '{name}'")
