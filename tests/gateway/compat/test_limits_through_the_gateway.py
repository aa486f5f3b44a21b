"""Identifiers of 249 and 250 characters in every client library, through a gateway before a real Kafka.

In `enforce` as in the embedded cluster; in `evaluate` all of them work, and are logged. `conftest` says which are long.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.compat import test_limits
from tests.compat.limited.trials import Attempt
from tests.compat.test_limits import *  # noqa: F403 - the tests themselves
from tests.compat.test_limits import ATTEMPTS, NEVER_SENT, asked, has_worked, verdict_on, verdicts_in
from tests.gateway.compat.state import KafkaBehind
from tests.gateway.running import ThreadedGateway

if TYPE_CHECKING:
    from tests.gateway.compat.conftest import Behind

pytestmark = [*test_limits.pytestmark, pytest.mark.kafka]


@pytest.fixture(scope="module", name="judged")
def in_the_place_of_the_embedded_cluster(running: Behind) -> KafkaBehind:
    return KafkaBehind(running.bootstrap_servers, running.kafka.bootstrap_servers)


@pytest.fixture(scope="module")
def evaluated(running: Behind) -> Iterator[KafkaBehind]:
    kafka = running.kafka.bootstrap_servers
    with ThreadedGateway("--upstream", kafka, "--mode", "evaluate") as gateway:
        yield KafkaBehind(gateway.bootstrap_servers, kafka)


@pytest.mark.parametrize(
    ("library", "trial"), [one for one in ATTEMPTS if one[1] != "topic name" and one not in NEVER_SENT]
)
def test_250_characters_work_where_they_are_evaluated_and_are_logged(
    evaluated: KafkaBehind, libraries: dict[str, Attempt], library: str, trial: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = asked(evaluated, trial, 250, lawful=True)
    with caplog.at_level(logging.INFO, evaluated.verdict_logger):
        seen = libraries[library](one)
    assert seen.worked, seen
    assert has_worked(evaluated, one)
    written_down = [line for line in verdicts_in(caplog, evaluated) if verdict_on(one) in line]
    assert written_down, verdicts_in(caplog, evaluated)
    who = '"principal":"User:ANONYMOUS","address":"127.0.0.1"'
    assert all('"mode":"evaluate"' in line and who in line for line in written_down), written_down
