"""Ledgers at the transaction versions that differ."""

from __future__ import annotations

import pytest
from tests.cluster.transactions.ledger import Ledger


@pytest.fixture
def tv1() -> Ledger:
    return Ledger(transaction_version=1)


@pytest.fixture
def tv2() -> Ledger:
    return Ledger(transaction_version=2)


@pytest.fixture(params=[0, 1, 2], ids=["tv0", "tv1", "tv2"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    return Ledger(transaction_version=request.param)
