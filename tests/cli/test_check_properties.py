"""`doorkeeper check properties FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from doorkeeper.cli import root

GOOD = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:9093
log.dirs=/tmp/data
"""


def check(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(root, ["check", "properties", str(path), *arguments])


def findings(tmp_path: Path, text: str, status: int) -> list[dict[str, Any]]:
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode("latin-1"))
    result = check(path, "--format", "json")
    assert result.exit_code == status, result.output
    document = json.loads(result.stdout)
    assert (document["version"], document["verdict"]) == (1, "refused" if status else "lawful")
    found: list[dict[str, Any]] = document["findings"]
    return found


def test_a_file_that_kafka_starts_with_is_lawful(tmp_path: Path) -> None:
    assert findings(tmp_path, GOOD, 0) == []


def test_an_unknown_key_is_a_warning_with_a_near_match(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, GOOD + "num.io.thread=8\n", 0)
    assert (finding["severity"], finding["key"], finding["line"]) == ("warning", "num.io.thread", 7)
    assert "num.io.threads" in finding["message"]


@pytest.mark.parametrize("key", ["super.users=User:admin", "allow.everyone.if.no.acl.found=true"])
def test_the_keys_of_kafkas_authorizer_are_known(tmp_path: Path, key: str) -> None:
    assert findings(tmp_path, f"{GOOD}{key}\n", 0) == []


def test_an_authorizer_is_a_warning_for_acls_are_not_enforced_here(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, GOOD + "authorizer.class.name=a.b.C\n", 0)
    assert (finding["severity"], finding["key"]) == ("warning", "authorizer.class.name")
    assert "without enforcing them" in finding["message"]


def test_a_key_that_stands_twice_is_a_warning(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, GOOD + "log.dirs=/tmp/other\n", 0)
    assert (finding["severity"], finding["line"]) == ("warning", 7)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("num.io.threads=eight", "CONFIG_VALUE_INVALID"),
        ("num.io.threads=0", "CONFIG_VALUE_INVALID"),
        ("compression.type=rar", "CONFIG_VALUE_INVALID"),
        ("log.retention.ms=0", "CONFIG_RETENTION"),
        ("max.connections.per.ip=0", "CONFIG_CONNECTION_LIMITS"),
    ],
)
def test_a_bad_value_is_refused_with_its_line(tmp_path: Path, line: str, rule: str) -> None:
    found = findings(tmp_path, GOOD + line + "\n", 1)
    assert [finding["rule"] for finding in found] == [rule]


def test_every_error_is_told_at_once(tmp_path: Path) -> None:
    found = findings(tmp_path, GOOD + "num.io.threads=eight\nnum.network.threads=0\nlog.retention.ms=0\n", 1)
    assert {finding["rule"] for finding in found} == {"CONFIG_VALUE_INVALID", "CONFIG_RETENTION"}
    assert len(found) == 3


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    secrets = "ssl.keystore.password=hunter2\nlistener.name.x.ssl.key.password=hunter2\nmy.secret=hunter2\n"
    path.write_text(GOOD + secrets)
    for format_ in ("text", "json"):
        assert "hunter2" not in check(path, "--format", format_).output


def test_the_text_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(GOOD + "num.io.threads=eight\n")
    assert check(path).stdout.startswith(f"refused: {path}:7: Invalid value eight for configuration num.io.threads")
    path.write_text(GOOD)
    assert check(path).stdout == f"lawful: {path}\n"


@pytest.mark.parametrize(("data", "words"), [(None, "No such file or directory"), (b"a=\\u12", "line 1: malformed")])
def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path: Path, data: bytes | None, words: str) -> None:
    path = tmp_path / "x.properties"
    if data is not None:
        path.write_bytes(data)
    result = check(path)
    assert result.exit_code == 3
    assert result.stderr.startswith(f"doorkeeper: {path}: {words}")


PROVIDED = """\
config.providers=env,file
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
num.io.threads=${env:IO_THREADS}
listener.name.plaintext.num.network.threads=${file:/etc/kafka/threads:network}
ssl.keystore.password=${env:KEYSTORE_PASSWORD}
"""


def test_what_a_config_provider_gives_is_not_judged(tmp_path: Path) -> None:
    listeners = "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    text = GOOD.replace(listeners, "listeners=${env:LISTENERS}") + PROVIDED
    found = findings(tmp_path, text, 0)
    assert [finding["severity"] for finding in found] == ["warning"] * 4
    assert "config provider env and is not judged" in found[0]["message"]


def test_a_variable_of_no_provider_is_a_value_like_any_other(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, GOOD + "config.providers=file\nnum.io.threads=${env:IO_THREADS}\n", 1)
    assert (finding["severity"], finding["key"]) == ("refused", "num.io.threads")
