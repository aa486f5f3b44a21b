"""franz-go's own integration tests, run from its module against the embedded cluster.

`franz-go/tests.allow` names the tests that must pass; it may only grow. What else asks a broker is in
`franz-go/FINDINGS.md`, with the reason. This client speaks the newest versions of everything, by topic id.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.franz_go import (
    FINDINGS,
    FRANZ_GO,
    Told,
    allowed_tests,
    broker_tests,
    go,
    go_is_missing,
    package_folder,
    run_suite,
)
from tests.kafka.jars import require

SHORT_RECORDS, SHORT_SECONDS = 2_000, 240
LONG_RECORDS, LONG_SECONDS = 500_000, 1_800
"""As many as the suite has by itself, and a longer time than its own."""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(go_is_missing(), Path())
    built = tmp_path_factory.mktemp("franz-go") / "kgo.test"
    go("test", "-c", "-o", str(built), f"{FRANZ_GO}/pkg/kgo")
    return built


@pytest.fixture(scope="module")
def told(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    return run_suite(binary, tmp_path_factory.mktemp("data"), records=SHORT_RECORDS, seconds=SHORT_SECONDS)


@pytest.mark.parametrize("name", allowed_tests())
def test_passes(told: Told, name: str) -> None:
    assert told.outcomes.get(name) == "PASS", told.about(name)


def test_every_test_that_ran_is_on_the_list(told: Told) -> None:
    assert set(told.outcomes) == set(allowed_tests())


def test_every_test_that_asks_a_broker_is_on_the_list_or_among_the_findings() -> None:
    require(go_is_missing(), Path())
    listed = {name.partition("/")[0] for name in allowed_tests()}
    findings = FINDINGS.read_text(encoding="utf-8")
    unexplained = {name for name in broker_tests(package_folder()) - listed if f"`{name}`" not in findings}
    assert not unexplained


@pytest.mark.long
def test_the_whole_suite_passes_with_all_its_records(binary: Path, tmp_path: Path) -> None:
    told = run_suite(binary, tmp_path, records=LONG_RECORDS, seconds=LONG_SECONDS)
    failed = [name for name in allowed_tests() if told.outcomes.get(name) != "PASS"]
    assert not failed, told.about(failed[0])
