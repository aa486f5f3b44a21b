"""KIP-1233's table and Kafka's own law for topic names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.names import (
    CHECKS,
    LIMITS,
    UNIT,
    check_member_id,
    check_offset_metadata,
    check_quota_entity,
    check_topic_name,
)
from doorkeeper.rules.verdict import Kind, RuleId

KIP_1233 = {
    Kind.TOPIC_NAME: (249, 17, 17, False),
    Kind.GROUP_ID: (249, 134, 42, True),
    Kind.MEMBER_ID: (36, 42, 42, True),
    Kind.GROUP_INSTANCE_ID: (249, 134, 42, True),
    Kind.CLIENT_ID: (249, 134, 42, True),
    Kind.TRANSACTIONAL_ID: (249, 134, 42, True),
    Kind.OFFSET_METADATA: (4096, 12, 12, False),
    Kind.RACK_ID: (249, 134, 42, True),
    Kind.RESOURCE_NAME: (249, 134, 42, True),
    Kind.ACL_PRINCIPAL: (249, 134, 42, True),
    Kind.ACL_HOST: (249, 134, 42, True),
}
"""The proposal's table, typed a second time on purpose: limit, new code, old code, governed by the switch."""


def test_the_table_is_the_proposals() -> None:
    rows = {kind: (row.limit, int(row.code), int(row.code_old), row.governed) for kind, row in LIMITS.items()}
    assert rows == KIP_1233
    assert {row.unit for row in LIMITS.values()} == {UNIT}


def test_every_length_rule_is_named_after_its_kind() -> None:
    assert {row.rule.value for row in LIMITS.values()} == {f"{kind.name}_TOO_LONG" for kind in KIP_1233}


@pytest.mark.parametrize("kind", KIP_1233)
def test_accepts_exactly_the_limit(kind: Kind) -> None:
    assert CHECKS[kind]("x" * KIP_1233[kind][0]) is None


@pytest.mark.parametrize("kind", KIP_1233)
def test_refuses_one_unit_over_the_limit_and_says_so(kind: Kind) -> None:
    limit, code, code_old, _ = KIP_1233[kind]
    violation = CHECKS[kind]("x" * (limit + 1))
    assert violation is not None
    assert (violation.rule.value, violation.kind) == (f"{kind.name}_TOO_LONG", kind)
    assert (violation.code, violation.code_old) == (code, code_old)
    assert LIMITS[kind].label in violation.message
    assert str(limit + 1) in violation.message
    assert str(limit) in violation.message
    assert len(violation.message) < 250
    assert violation.parameters["length"] == limit + 1
    assert violation.parameters["limit"] == limit


@pytest.mark.parametrize("kind", [kind for kind in KIP_1233 if kind is not Kind.TOPIC_NAME])
def test_counts_an_emoji_as_two_units(kind: Kind) -> None:
    limit = KIP_1233[kind][0]
    assert CHECKS[kind]("😀" * (limit // 2)) is None
    violation = CHECKS[kind]("😀" * (limit // 2 + 1))
    assert violation is not None
    assert violation.parameters["length"] == 2 * (limit // 2 + 1)


@pytest.mark.parametrize("kind", [kind for kind in KIP_1233 if kind is not Kind.TOPIC_NAME])
def test_counts_units_not_bytes(kind: Kind) -> None:
    assert CHECKS[kind]("é" * KIP_1233[kind][0]) is None


@pytest.mark.parametrize("kind", [kind for kind in KIP_1233 if kind is not Kind.TOPIC_NAME])
def test_accepts_the_empty_identifier(kind: Kind) -> None:
    assert CHECKS[kind]("") is None


@given(st.sampled_from(sorted(set(KIP_1233) - {Kind.TOPIC_NAME})), st.text(max_size=300))
def test_a_violation_means_more_utf16_units_than_the_limit(kind: Kind, value: str) -> None:
    units = len(value.encode("utf-16-le")) // 2
    assert (CHECKS[kind](value) is not None) == (units > LIMITS[kind].limit)


@given(st.sampled_from(sorted(CHECKS)), st.text(min_size=240))
def test_a_message_is_safe_on_a_terminal(kind: Kind, value: str) -> None:
    violation = CHECKS[kind](value)
    if violation is not None:
        assert violation.message.isprintable()


def test_a_printed_uuid_is_a_lawful_member_id() -> None:
    assert check_member_id("8D8AC610-566D-4EF0-9C22-186B2A5ED792") is None
    assert check_member_id("8D8AC610-566D-4EF0-9C22-186B2A5ED792x") is not None


def test_offset_metadata_obeys_the_limit_that_is_configured() -> None:
    assert check_offset_metadata("x" * 5000, limit=5000) is None
    violation = check_offset_metadata("x" * 11, limit=10)
    assert violation is not None
    assert violation.code is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert "11" in violation.message
    assert "10" in violation.message


@pytest.mark.parametrize(
    ("entity_type", "rule"),
    [
        ("client-id", RuleId.CLIENT_ID_TOO_LONG),
        ("user", RuleId.RESOURCE_NAME_TOO_LONG),
        ("ip", RuleId.RESOURCE_NAME_TOO_LONG),
        ("", RuleId.RESOURCE_NAME_TOO_LONG),
    ],
)
def test_a_quota_entity_is_judged_as_client_id_or_as_resource_name(entity_type: str, rule: RuleId) -> None:
    assert check_quota_entity("q" * 249, entity_type) is None
    violation = check_quota_entity("q" * 250, entity_type)
    assert violation is not None
    assert (violation.rule, violation.kind) == (rule, Kind.QUOTA_ENTITY)


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "._-", "a" * 249, "__consumer_offsets"])
def test_accepts_legal_topic_names(name: str) -> None:
    assert check_topic_name(name) is None


@pytest.mark.parametrize(
    ("name", "rule", "words"),
    [
        ("", RuleId.TOPIC_NAME_EMPTY, "the empty string is not allowed"),
        (".", RuleId.TOPIC_NAME_DOT, "'.' is not allowed"),
        ("..", RuleId.TOPIC_NAME_DOT, "'..' is not allowed"),
        ("a" * 250, RuleId.TOPIC_NAME_TOO_LONG, "longer than the max allowed length 249"),
        ("/" * 250, RuleId.TOPIC_NAME_TOO_LONG, "longer than the max allowed length 249"),
        ("a/b", RuleId.TOPIC_NAME_ILLEGAL_CHARACTER, "'a/b' contains one or more characters"),
        ("a\n", RuleId.TOPIC_NAME_ILLEGAL_CHARACTER, "contains one or more characters"),
        ("é", RuleId.TOPIC_NAME_ILLEGAL_CHARACTER, "contains one or more characters"),
        ("٣", RuleId.TOPIC_NAME_ILLEGAL_CHARACTER, "contains one or more characters"),
    ],
)
def test_refuses_illegal_topic_names_in_kafkas_words(name: str, rule: RuleId, words: str) -> None:
    violation = check_topic_name(name)
    assert violation is not None
    assert violation.rule is rule
    assert violation.code is violation.code_old is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert violation.message.startswith("Topic name is invalid: ")
    assert words in violation.message
