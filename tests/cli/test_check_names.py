"""`doorkeeper check KIND NAME...`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from doorkeeper.cli import root
from doorkeeper.cli.check import KINDS, SHORT_FORMS
from doorkeeper.rules.names import CHECKS


def check(*arguments: str, input: bytes | str | None = None) -> Result:  # noqa: A002 - click's own word
    return CliRunner().invoke(root, ["check", *arguments], input=input)


def test_a_group_of_250_is_refused_and_the_message_names_kind_length_and_limit() -> None:
    result = check("group", "g" * 250)
    assert result.exit_code == 1
    assert "group_id" in result.stdout
    assert "250" in result.stdout
    assert "249" in result.stdout
    assert "GROUP_ID_TOO_LONG" in result.stdout


def test_a_group_of_249_is_lawful() -> None:
    result = check("group", "g" * 249)
    assert (result.exit_code, result.stdout[:7]) == (0, "lawful:")


def test_125_emoji_are_250_units() -> None:
    assert check("group", "😀" * 124).exit_code == 0
    result = check("group", "😀" * 125)
    assert result.exit_code == 1
    assert "250" in result.stdout


def test_a_breach_under_4_x_is_told_and_exits_0() -> None:
    result = check("group", "--release", "4.x", "g" * 250)
    assert result.exit_code == 0
    assert result.stdout.startswith("would be refused: group_id")


def test_kafkas_own_checks_are_refused_under_4_x_too() -> None:
    assert check("topic", "--release", "4.x", "a/b").exit_code == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_command(kind: str) -> None:
    assert check(kind, "x").exit_code == 0
    assert check(kind, "x" * 5000).exit_code == 1


def test_every_kind_but_quota_entity_has_a_short_form() -> None:
    assert {kind.value for kind in CHECKS} - {kind.value for kind in SHORT_FORMS.values()} == {"quota_entity"}


def test_names_come_one_per_line_from_standard_input() -> None:
    result = check("group", "-", input=b"a\r\nb\n\n" + b"g" * 250 + b"\n")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 4
    assert result.stdout.startswith("lawful: group_id 'a'\nlawful: group_id 'b'\nlawful: group_id ''\nrefused")


def test_names_may_end_in_nul_and_then_keep_their_line_feeds(tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_bytes(b"a\nb\r\n\0c\0")
    document = json.loads(check("client-id", "--file", str(names), "-0", "--format", "json").stdout)
    assert [result["value"] for result in document["results"]] == ["a\nb\r\n", "c"]


def test_json_is_versioned_and_complete() -> None:
    document = json.loads(check("client-id", "ok", "c" * 250, "--format", "json").stdout)
    assert document["version"] == 1
    assert document["release"] == "5.0"
    lawful, refused = document["results"]
    assert lawful == {"kind": "client_id", "value": "ok", "verdict": "lawful"}
    assert refused.pop("message")
    assert refused == {
        "kind": "client_id",
        "value": "c" * 250,
        "verdict": "refused",
        "rule": "CLIENT_ID_TOO_LONG",
        "length": 250,
        "limit": 249,
        "unit": "UTF-16 code units",
        "answer_new": 134,
        "answer_old": 42,
    }


def test_a_name_from_an_attacker_does_no_harm_to_the_terminal() -> None:
    result = check("client-id", "\x1b[2J\u202e\n")
    assert result.exit_code == 0
    assert result.stdout.removesuffix("\n").isprintable()


def test_an_unknown_kind_is_a_usage_error_with_a_near_match() -> None:
    result = check("gruop", "x")
    assert result.exit_code == 2
    assert "unknown kind 'gruop'" in result.stderr
    assert "Did you mean 'group'?" in result.stderr


def test_no_name_at_all_is_a_usage_error() -> None:
    result = check("group")
    assert result.exit_code == 2
    assert "NAME" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["group", "--file", "no-such-file"], "no-such-file: No such file or directory"),
        (["group", "--file", "."], ".: Is a directory"),
        (["group", "ok", "bad\udcff"], "name 2 is not UTF-8"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_3(arguments: list[str], words: str) -> None:
    result = check(*arguments)
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_standard_input_that_is_not_utf8_is_named() -> None:
    result = check("group", "-", input=b"ok\nx\xff\n")
    assert result.exit_code == 3
    assert result.stderr == "doorkeeper: standard input: name 2 is not UTF-8 (byte 1 of it)\n"
