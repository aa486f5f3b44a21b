"""Stories and random walks of transactions, told to a real Kafka and to our coordinator: every answer is the same."""

from __future__ import annotations

import random

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.both import NOWHERE, Both, Ours
from tests.cluster.transactions.ledger import A0, A1

pytestmark = pytest.mark.kafka

WALKS = 12
STEPS = 60


@pytest.mark.parametrize("version", range(6))
def test_a_producer_comes_and_comes_again(both: Both, version: int) -> None:
    assert both.init(version) == (ErrorCode.none, 0, 0)
    assert both.init(version) == (ErrorCode.none, 0, 1)
    both.listed()
    for timeout_ms in (0, 900_001, 900_000, 1):
        both.init(version, timeout_ms=timeout_ms)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_producer_says_who_it_is(both: Both, version: int) -> None:
    both.init(version)
    for producer in ((0, 0), (0, 0), (0, 5), (7, 0), (-1, 3), (0, -1), (0, 1), (0, 0)):
        both.init(version, producer)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(6))
def test_a_transaction_ends_and_its_end_is_asked_for_again(both: Both, version: int, commit: bool) -> None:
    both.init(5)
    both.end(version, (0, 0), commit=commit)
    both.settle()
    both.add(5 if version == 5 else 3, (0, 0), A0, A1)
    both.end(version, (0, 0), commit=commit)
    both.settle()
    both.listed()
    for epoch in (0, 1, 2, 3):
        for again in (commit, not commit):
            both.end(version, (0, epoch), commit=again)
            both.settle()
    both.listed()


@pytest.mark.parametrize("version", range(6))
def test_partitions_are_added_and_verified(both: Both, version: int) -> None:
    both.add(version, (0, 0), A0)
    both.init(5)
    both.add(version, (0, 0), A0)
    both.add(version, (0, 0), A0, A1)
    both.add(version, (0, 0), A0, NOWHERE)
    both.add(version, (3, 0), A0)
    both.add(version, (0, 4), A0)
    if version >= 4:
        both.add(version, (0, 0), A0, A1, verify_only=True)
        both.add(version, (0, 1), A0, verify_only=True)
        both.add(version, (0, 0), NOWHERE, verify_only=True)
    both.listed()


def test_another_producer_aborts_the_ongoing_transaction(both: Both) -> None:
    both.init(5)
    both.add(3, (0, 0), A0)
    assert both.init(5)[0] is ErrorCode.concurrent_transactions
    both.settle()
    both.listed()
    both.add(3, (0, 0), A0)
    both.end(4, (0, 0), commit=False)
    both.end(5, (0, 0), commit=False)
    both.init(5)
    both.listed()


@pytest.mark.parametrize("seed", range(WALKS))
def test_random_walks(both: Both, seed: int) -> None:
    """Any request, of any version, by any producer that was, is, or may come."""
    chance = random.Random(seed)
    both.init(5)
    for _ in range(STEPS):
        number, epoch = len(both.sides[0].ids) - 1, both_epoch(both)
        producer = chance.choice(
            [(number, epoch)] * 6 + [(number, epoch - 1), (number, epoch + 1), (number + 1, 0), (0, 0)]
        )
        producer = (producer[0], max(producer[1], 0))
        match chance.choice("iIaaaaoveeeee"):
            case "i":
                both.init(chance.randrange(6))
            case "I":
                both.init(chance.choice([3, 4, 5]), producer)
            case "a":
                both.add(chance.randrange(6), producer, *chance.choice([(A0,), (A1,), (A0, A1)]))
            case "v":
                both.add(chance.choice([4, 5]), producer, A0, A1, verify_only=True)
            case "o":
                both.add_offsets(chance.randrange(5), producer)
            case "e":
                both.end(chance.choice([0, 1, 3, 4, 5, 5, 5]), producer, commit=chance.random() < 0.6)
        both.settle()
        both.listed()


def both_epoch(both: Both) -> int:
    """The epoch in force, which our side can tell without asking."""
    ours = both.sides[1].server
    assert isinstance(ours, Ours)
    return ours.ledger.coordinator.state.transactions[both.transactional_id].producer_epoch
