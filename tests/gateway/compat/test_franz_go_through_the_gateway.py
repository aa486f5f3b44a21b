"""franz-go's own integration tests, through a gateway before a real Kafka: all that the embedded cluster passes.

Its logins apart, for this Kafka has no listener with SASL.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.compat.franz_go import FRANZ_GO, Told, allowed_tests, go, go_is_missing, run_against
from tests.kafka.jars import require

if TYPE_CHECKING:
    from tests.gateway.compat.conftest import Behind

pytestmark = [pytest.mark.kafka, pytest.mark.long]

RECORDS, SECONDS = 2_000, 400
NAMES = [name for name in allowed_tests() if "SCRAM" not in name]


@pytest.fixture(scope="module")
def told(running: Behind, tmp_path_factory: pytest.TempPathFactory) -> Told:
    require(go_is_missing(), Path())
    built = tmp_path_factory.mktemp("franz-go") / "kgo.test"
    go("test", "-c", "-o", str(built), f"{FRANZ_GO}/pkg/kgo")
    return run_against(built, running.bootstrap_servers, NAMES, {}, records=RECORDS, seconds=SECONDS)


@pytest.mark.parametrize("name", NAMES)
def test_passes(told: Told, name: str) -> None:
    assert told.outcomes.get(name) == "PASS", told.about(name)
