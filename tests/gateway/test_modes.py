"""Modes as words: for all rules, or for one."""

from __future__ import annotations

import pytest

from doorkeeper.errors import InputError
from doorkeeper.gateway.modes import Mode, Modes, parse_modes, parse_rule
from doorkeeper.rules.verdict import Kind, RuleId


def test_evaluates_unless_told_otherwise() -> None:
    assert {Modes().of(kind) for kind in Kind} == {Mode.EVALUATE}


def test_a_rule_may_have_a_mode_of_its_own() -> None:
    modes = parse_modes(["enforce", "group_id=off", "config_change=evaluate"])
    assert (modes.of(Kind.CLIENT_ID), modes.of(Kind.GROUP_ID)) == (Mode.ENFORCE, Mode.OFF)
    assert modes.describe() == "enforce (config_change: evaluate, group_id: off)"


def test_later_words_win() -> None:
    assert parse_modes(["enforce", "off", "group_id=off", "group_id=enforce"]) == Modes(
        Mode.OFF, {Kind.GROUP_ID: Mode.ENFORCE}
    )


@pytest.mark.parametrize("name", ["group_id", "GROUP_ID_TOO_LONG", " group_id "])
def test_a_rule_is_named_by_its_kind_or_by_its_id(name: str) -> None:
    assert parse_rule(name) is Kind.GROUP_ID


@pytest.mark.parametrize("name", ["", "topic_name", "offset_metadata", "nonsense"])
def test_a_rule_that_the_gateway_does_not_judge_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="config_change"):
        parse_rule(name)


@pytest.mark.parametrize("word", ["on", "", "group_id=", "group_id=maybe"])
def test_a_word_that_is_no_mode_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="evaluate"):
        parse_modes([word])


def test_says_what_is_judged() -> None:
    assert not parse_modes(["off"]).judges_identifiers
    assert not parse_modes(["off"]).judges_configs
    assert parse_modes(["off", "rack_id=evaluate"]).judges_identifiers
    assert parse_modes(["off", "config_change=evaluate"]).judges_configs


def test_a_rule_for_config_changes_may_have_a_mode_of_its_own() -> None:
    modes = parse_modes(["off", "config_value_null=enforce"])
    assert modes.of_change(RuleId.CONFIG_VALUE_NULL) is Mode.ENFORCE
    assert modes.of_change(RuleId.CONFIG_THREAD_POOL) is Mode.OFF
    assert modes.judges_configs
    assert modes.enforces
    assert modes.describe() == "off (CONFIG_VALUE_NULL: enforce)"
