"""Any bytes give an answer or `RemoteProtocolError`: short form here, long form under the marker `long`."""

from __future__ import annotations

import os
import random

import pytest
from fuzz.wire_targets import TARGETS, lawful_request, mutations, run
from hypothesis import given, settings
from hypothesis import strategies as st

LONG_SECONDS = 300.0


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_answered_or_refused(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_damaged_messages_are_answered_or_refused(name: str, seed: int) -> None:
    TARGETS[name](mutations(seed, lawful_request(random.Random(seed))))


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_minutes_of_damaged_messages_are_answered_or_refused(name: str) -> None:
    seconds = float(os.environ.get("DOORKEEPER_FUZZ_SECONDS", LONG_SECONDS))
    assert run(name, seconds, random.SystemRandom().randrange(2**32)) > 0
