"""The files of facts that are shipped beside this code.

`pkgutil.get_data` reads them from a folder and from a zip alike, as importlib.resources does, without importing
tempfile, shutil and zipfile: 6 ms of every start.
"""

from __future__ import annotations

import pkgutil


def read_facts(path: str) -> str:
    """The text of a file under `facts/`; raises OSError if there is none."""
    return (pkgutil.get_data("doorkeeper.rules", f"facts/{path}") or b"").decode()
