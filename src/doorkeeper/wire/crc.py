"""CRC-32C, from the compiled half of the crc32c package.

The package's own front reads its version with importlib.metadata and imports a command line: 17 ms of every start, and
email, csv, zipfile and argparse in memory for as long as a node runs. So its compiled module is loaded by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TypeAlias, cast

Crc: TypeAlias = "Callable[[bytes | bytearray | memoryview], int]"


def _load() -> Crc:
    package = find_spec("crc32c")
    spec = package and PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if spec is None or spec.loader is None:  # not where it used to be: the front knows
        from crc32c import crc32c as through_the_front

        return through_the_front
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Crc", module.crc32c)


crc32c = _load()
