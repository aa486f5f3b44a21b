"""Where Kafka's jars are, and what happens to a test that needs them and doesn't find them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools import kafka_jars


def missing() -> str | None:
    """Say in one sentence what is missing to run Kafka, or nothing."""
    try:
        kafka_jars.require_java()
    except kafka_jars.MissingToolError as error:
        return str(error)
    if not kafka_jars.is_complete(kafka_jars.JARS):
        return f"Kafka {kafka_jars.KAFKA_VERSION}'s jars are not fetched: run `make kafka`"
    return None


def require_jars() -> Path:
    """Return the folder of the jars; without it the test is skipped, under CI it fails."""
    reason = missing()
    if reason is None:
        return kafka_jars.JARS
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
