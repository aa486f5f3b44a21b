"""A config key, in a sentence."""

from __future__ import annotations

import pytest

from doorkeeper.rules.config_documentation import document
from doorkeeper.rules.config_schema import RESOURCE_TYPES, ConfigKey, ConfigType, Scope, load_schema
from doorkeeper.rules.config_validators import (
    All,
    GzipLevel,
    In,
    InIgnoringCase,
    ListOf,
    NonEmpty,
    NonNull,
    Range,
    Validator,
)


@pytest.mark.parametrize(
    ("validator", "words"),
    [
        (None, "Takes an integer of 32 bits."),
        (Range(None, None), "Takes an integer of 32 bits."),
        (Range(1, None), "Takes an integer of 32 bits, at least 1."),
        (Range(None, 9), "Takes an integer of 32 bits, at most 9."),
        (Range(0, 9), "Takes an integer of 32 bits, from 0 to 9."),
        (GzipLevel(1, 9, -1), "Takes an integer of 32 bits, from 1 to 9, or -1."),
        (In(("a", "b")), "Takes an integer of 32 bits, one of a, b."),
        (InIgnoringCase(("A", "B")), "Takes an integer of 32 bits, one of A, B in upper or lower case."),
        (ListOf(("a", "b"), empty_allowed=True, null_allowed=False), "Takes an integer of 32 bits, of a, b."),
        (ListOf(None, empty_allowed=True, null_allowed=False), "Takes an integer of 32 bits."),
        (All((NonNull(), Range(0, None))), "Takes an integer of 32 bits, at least 0."),
        (NonEmpty(), "Takes an integer of 32 bits."),
    ],
)
def test_tells_the_bounds_where_they_are_data(validator: Validator | None, words: str) -> None:
    assert document(ConfigKey("k", ConfigType.INT, "5", validator=validator)) == f"{words} The default is 5."


@pytest.mark.parametrize(
    ("key", "end"),
    [
        (ConfigKey("k", ConfigType.STRING, None, required=True), "Takes a text. Has to be set."),
        (ConfigKey("k", ConfigType.STRING, None), "Takes a text. Has no default."),
        (ConfigKey("k", ConfigType.STRING, ""), "Takes a text. The default is empty."),
        (
            ConfigKey("k", ConfigType.BOOLEAN, "true", scope=Scope.READ_ONLY),
            "Takes true or false. The default is true. Read when the broker starts.",
        ),
    ],
)
def test_tells_what_holds_without_it_and_whether_it_may_be_changed(key: ConfigKey, end: str) -> None:
    assert document(key) == end


@pytest.mark.parametrize("resource_type", RESOURCE_TYPES)
def test_every_key_there_is_has_a_sentence(resource_type: str) -> None:
    for key in load_schema(resource_type).values():
        assert document(key).startswith("Takes "), key.name
