"""CRC-32C without the front of its package."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

import crc32c as package
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.wire import crc


def test_knows_the_check_value_of_crc_32c() -> None:
    assert crc.crc32c(b"123456789") == 0xE3069283


@given(st.binary())
def test_agrees_with_the_package(data: bytes) -> None:
    assert crc.crc32c(memoryview(data)) == package.crc32c(data)


def test_takes_the_front_where_the_compiled_half_is_not_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: None)
    monkeypatch.setattr(crc, "find_spec", lambda _: sys.modules["crc32c"].__spec__)
    assert crc._load() is package.crc32c
