"""The pytest fixture `kafka`: a cluster for one test, gone after it.

Loaded by pytest in every run where Doorkeeper is installed, so it imports nothing until a test asks for the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.embedded import Doorkeeper


@pytest.fixture
def kafka() -> Iterator[Doorkeeper]:
    """A running Kafka with nothing in it (`doorkeeper.Doorkeeper`). For another scope make a fixture of your own."""
    from doorkeeper.embedded import Doorkeeper

    with Doorkeeper() as running:
        yield running
