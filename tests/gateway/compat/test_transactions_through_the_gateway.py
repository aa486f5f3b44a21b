"""The suite of the embedded cluster, through a gateway before a real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.compat.test_transactions import *  # noqa: F403 - the tests themselves

if TYPE_CHECKING:
    from tests.gateway.compat.conftest import Behind

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module", name="kafka")
def in_the_place_of_the_embedded_cluster(running: Behind) -> Behind:
    return running
