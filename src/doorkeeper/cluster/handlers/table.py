"""All handlers: what each door serves, computed from their own declarations.

A module of this package that declares `SERVED` is a handler: a new file is a new API.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster import handlers
from doorkeeper.wire.registry import Door, Registry

if TYPE_CHECKING:
    from doorkeeper.cluster.door import Handler

_FUNCTIONS: Final = {Door.BROKER: "at_broker", Door.CONTROLLER: "at_controller"}


def _declared() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(handlers.__path__, f"{handlers.__name__}."):
        if found.name != __name__:
            module = importlib.import_module(found.name)
            if hasattr(module, "SERVED"):
                yield module


MODULES: Final[tuple[ModuleType, ...]] = tuple(_declared())


def registry_for(door: Door, *, unstable_versions: bool) -> Registry:
    """The APIs and versions of a door."""
    return Registry([module.SERVED for module in MODULES], door, unstable_versions=unstable_versions)


def handlers_for(door: Door) -> Mapping[int, Handler[Any]]:
    """The function that answers each API at a door."""
    return {
        module.SERVED.api_key: getattr(module, _FUNCTIONS[door]) for module in MODULES if door in module.SERVED.doors
    }
