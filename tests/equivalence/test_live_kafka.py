"""A real Kafka and the rulebook, asked the same: a sample in every run, the whole corpus in the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.equivalence.configurations import CONFIGURATIONS
from tests.equivalence.corpus import cases_of
from tests.equivalence.differences import reason_to_differ
from tests.equivalence.oracle import Oracle, cluster_of
from tests.equivalence.replay import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.equivalence.cases import Case

pytestmark = pytest.mark.kafka
EVERY = 29  # one case in so many is asked in the short run; a prime, so that no pattern of the corpus is missed


def _sample(configuration: str) -> list[Case]:
    return [case for case in cases_of(configuration) if not case.final][::EVERY]


def _disagreements(configuration: str, cases: list[Case], jars: Path, folder: Path) -> list[object]:
    with cluster_of(CONFIGURATIONS[configuration], jars, folder) as kafka, Oracle(kafka) as oracle:
        vectors = [oracle.answer(case) for case in cases]
    return [
        (change, theirs, mine)
        for vector in vectors
        for request, answers, ours in zip(vector.case.requests, vector.answers, replay(vector.case), strict=True)
        for change, theirs, mine in zip(request, answers, ours, strict=True)
        if theirs[0] != mine[0] and reason_to_differ(change, theirs, mine) is None
    ]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_agrees_with_the_rulebook_on_a_sample(configuration: str, kafka_jars: Path, tmp_path: Path) -> None:
    assert _disagreements(configuration, _sample(configuration), kafka_jars, tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_agrees_with_the_rulebook_on_the_whole_corpus(configuration: str, kafka_jars: Path, tmp_path: Path) -> None:
    assert _disagreements(configuration, cases_of(configuration), kafka_jars, tmp_path) == []


def test_the_corpus_is_large_enough() -> None:
    assert sum(len(cases_of(configuration)) for configuration in CONFIGURATIONS) >= 10_000
