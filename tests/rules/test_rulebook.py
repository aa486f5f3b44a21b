"""The switch, its two defaults, and what a violation leads to."""

from __future__ import annotations

import pickle

import pytest

from doorkeeper.rules.catalogue import CATALOGUE
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.names import CHECKS
from doorkeeper.rules.rulebook import Release, Rulebook, answer
from doorkeeper.rules.verdict import Kind, RuleId, Severity, Violation

ALWAYS_ENFORCED = {Kind.TOPIC_NAME, Kind.OFFSET_METADATA, Kind.CONFIG_CHANGE}


def test_the_switch_is_off_in_4_and_on_in_5() -> None:
    assert not Rulebook.of_release("4.x").limits_enabled
    assert Rulebook.of_release("5.0").limits_enabled


@pytest.mark.parametrize("release", Release)
@pytest.mark.parametrize("enabled", [True, False])
def test_an_explicit_switch_beats_the_release(release: Release, enabled: bool) -> None:
    assert Rulebook.of_release(release, limits_enabled=enabled).limits_enabled is enabled


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ValueError, match=r"3\.9"):
        Rulebook.of_release("3.9")


@pytest.mark.parametrize("kind", Kind)
def test_the_switch_governs_all_but_kafkas_own_checks(kind: Kind) -> None:
    assert Rulebook.of_release("5.0").enforces(kind)
    assert Rulebook.of_release("4.x").enforces(kind) == (kind in ALWAYS_ENFORCED)


@pytest.mark.parametrize("kind", CHECKS)
def test_a_breach_is_found_whatever_the_switch_says(kind: Kind) -> None:
    for release in Release:
        rulebook = Rulebook.of_release(release)
        violation = rulebook.check(kind, "x" * 5000)
        assert violation is not None
        assert violation.kind is kind
        expected = Severity.REFUSED if rulebook.enforces(kind) else Severity.WOULD_BE_REFUSED
        assert rulebook.severity(violation) is expected


def test_a_violation_of_no_kind_is_refused() -> None:
    violation = Violation(RuleId.TOPIC_NAME_DOT, "m", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST)
    assert Rulebook().severity(violation) is Severity.REFUSED


def test_offset_metadata_is_judged_by_the_configured_limit() -> None:
    rulebook = Rulebook(offset_metadata_max=8)
    assert rulebook.check(Kind.OFFSET_METADATA, "x" * 8) is None
    assert rulebook.check(Kind.OFFSET_METADATA, "x" * 9) is not None


def test_an_old_client_is_never_told_the_new_code() -> None:
    violation = Rulebook().check(Kind.GROUP_ID, "g" * 250)
    assert violation is not None
    assert answer(violation, knows_new_code=True) is ErrorCode.RESOURCE_IDENTIFIER_TOO_LARGE
    assert answer(violation, knows_new_code=False) is ErrorCode.INVALID_REQUEST


def test_a_rulebook_and_a_violation_survive_pickling() -> None:
    rulebook = Rulebook.of_release("5.0")
    violation = rulebook.check(Kind.GROUP_ID, "g" * 250)
    assert pickle.loads(pickle.dumps((rulebook, violation))) == (rulebook, violation)


def test_the_catalogue_has_every_rule() -> None:
    assert set(CATALOGUE) == set(RuleId)
    for rule, info in CATALOGUE.items():
        assert info.rule is rule
        assert info.text.endswith(".")
        assert info.source
        assert info.since


def test_no_old_answer_is_the_new_code() -> None:
    old = {code for info in CATALOGUE.values() for code in info.codes_old}
    assert ErrorCode.RESOURCE_IDENTIFIER_TOO_LARGE not in old
