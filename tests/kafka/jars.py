"""Where fetched jars are, and what happens to a test that needs them and doesn't find them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.kafka_jars import KAFKA
from tools.maven_jars import JarSet, MissingToolError, require_java


def missing(jar_set: JarSet = KAFKA) -> str | None:
    """Say in one sentence what is missing to use these jars, or nothing."""
    try:
        require_java()
    except MissingToolError as error:
        return str(error)
    if not jar_set.is_complete():
        return f"The jars of {jar_set.title} {jar_set.version} are not fetched: run `make kafka`"
    return None


def require_jars(jar_set: JarSet = KAFKA) -> Path:
    """Return the folder of the jars; without it the test is skipped, under CI it fails."""
    return require(missing(jar_set), jar_set.folder)


def require(reason: str | None, found: Path) -> Path:
    """Return what was found, unless there is a reason against it: that skips the test, and under CI fails it."""
    if reason is None:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
