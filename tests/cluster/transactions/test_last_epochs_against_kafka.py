"""The last epochs of a producer id, at a real Kafka and at our coordinator: every one before them has to be used up."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.both import Both
from tests.cluster.transactions.ledger import A0

from doorkeeper.cluster.transactions.metadata import LAST_CLIENT_EPOCH

pytestmark = [pytest.mark.kafka, pytest.mark.long]

LAST = LAST_CLIENT_EPOCH


def use_up(both: Both, until: int) -> None:
    """Let producers come until one has this epoch."""
    for epoch in range(until + 1):
        assert both.init(5) == (ErrorCode.none, 0, epoch)


def test_producers_come_until_epochs_run_out(both: Both) -> None:
    use_up(both, LAST - 1)
    assert both.init(5, (0, LAST - 1)) == (ErrorCode.none, 0, LAST)
    both.init(5, (0, LAST - 1))
    assert both.init(5, (0, LAST)) == (ErrorCode.none, 1, 0)
    for producer in ((0, LAST), (0, LAST), (0, LAST - 1), (1, 0), (1, 0)):
        both.init(5, producer)
    both.listed()


def test_transactions_end_until_epochs_run_out(both: Both) -> None:
    use_up(both, LAST - 1)
    for epoch in (LAST - 1, LAST):
        both.add(5, (0, epoch), A0)
        both.end(5, (0, epoch), commit=True)
        both.settle()
        both.listed()
    for producer in ((0, LAST), (0, LAST - 1), (1, 0), (1, 1)):
        for commit in (True, False):
            both.end(5, producer, commit=commit)
            both.settle()
    both.listed()


def test_fencing_takes_the_very_last_epoch(both: Both) -> None:
    use_up(both, LAST)
    both.add(3, (0, LAST), A0)
    assert both.init(5)[0] is ErrorCode.concurrent_transactions
    both.settle()
    both.listed()
    for commit in (True, False):
        both.end(5, (0, LAST), commit=commit)
        both.end(4, (0, LAST), commit=commit)
        both.settle()
    both.init(5)
    both.init(5)
    both.listed()
