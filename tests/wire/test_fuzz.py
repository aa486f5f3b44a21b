"""Any bytes give an answer, or the error that means so: short form here, long form under the marker `long`."""

from __future__ import annotations

import os
import random

import pytest
from fuzz.targets import TARGETS, run
from hypothesis import given, settings
from hypothesis import strategies as st

SHORT_SECONDS = 5.0
SHORT_SEED = 190
"""The short form asks the same on every run, as all of it does; the long form explores."""
LONG_SECONDS = 300.0


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_answered_or_refused(name: str, data: bytes) -> None:
    TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
def test_seconds_of_damaged_messages_are_answered_or_refused(name: str) -> None:
    assert run(name, SHORT_SECONDS, SHORT_SEED) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_minutes_of_damaged_messages_are_answered_or_refused(name: str) -> None:
    seconds = float(os.environ.get("DOORKEEPER_FUZZ_SECONDS", LONG_SECONDS))
    assert run(name, seconds, random.SystemRandom().randrange(2**32)) > 0
