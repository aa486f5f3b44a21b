"""Every recorded verdict of a real Kafka, put to the rulebook."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from tests.equivalence.cases import read_vectors
from tests.equivalence.configurations import CONFIGURATIONS
from tests.equivalence.differences import reason_to_differ
from tests.equivalence.record import vector_path
from tests.equivalence.replay import normalise, replay, verdicts_on

from doorkeeper.rules.catalogue import CATALOGUE
from doorkeeper.rules.codes import ErrorCode

if TYPE_CHECKING:
    from tests.equivalence.cases import Answer

    from doorkeeper.rules.config_change import ResourceChange

SAME_MESSAGES = 0.995  # the rest have several things wrong at once, and Java's hash maps decide which is said


@cache
def _compared(configuration: str) -> list[tuple[ResourceChange, Answer, Answer]]:
    """Each change with Kafka's answer and ours."""
    return [
        compared
        for vector in read_vectors(vector_path(configuration))
        for request, theirs, mine in zip(vector.case.requests, vector.answers, replay(vector.case), strict=True)
        for compared in zip(request, theirs, mine, strict=True)
    ]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
class TestVectors:
    def test_codes_are_kafkas_on_every_case(self, configuration: str) -> None:
        wrong = [
            (change, theirs, mine)
            for change, theirs, mine in _compared(configuration)
            if theirs[0] != mine[0] and reason_to_differ(change, theirs, mine) is None
        ]
        assert wrong == []

    def test_messages_are_kafkas_but_for_the_order_of_sets(self, configuration: str) -> None:
        same = [normalise(theirs[1]) == normalise(mine[1]) for _, theirs, mine in _compared(configuration)]
        assert sum(same) / len(same) >= SAME_MESSAGES


def test_the_catalogue_lists_every_code_that_a_rule_answers_with() -> None:
    seen = {
        (verdict.rule, verdict.code)
        for configuration in CONFIGURATIONS
        for vector in read_vectors(vector_path(configuration))
        for verdicts in verdicts_on(vector.case)
        for verdict in verdicts
    }
    assert (None, ErrorCode.NONE) in seen
    assert {rule.value for rule, code in seen if rule is not None and code not in CATALOGUE[rule].codes} == set()
    assert len({rule for rule, _ in seen}) > 30


def test_the_corpus_has_every_code_and_resource_type() -> None:
    pairs = {
        (change.type, code)
        for configuration in CONFIGURATIONS
        for vector in read_vectors(vector_path(configuration))
        for change, (code, _) in zip(chain(*vector.case.requests), chain(*vector.answers), strict=True)
    }
    assert {resource_type for resource_type, _ in pairs} >= {0, 2, 4, 8, 16, 32}
    assert {code for _, code in pairs} == {-1, 0, 3, 17, 40, 42}
