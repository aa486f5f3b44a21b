"""`doorkeeper configs` as a command: streams, exit codes, and what never shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from doorkeeper.cli import root
from doorkeeper.cli.configs import is_secret
from doorkeeper.cli.configs_describe import java_map_order

NOBODY = "127.0.0.1:1"
HASTY = "default.api.timeout.ms=50\nretry.backoff.ms=1\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(root, ["configs", *words])


@pytest.fixture
def hasty(tmp_path: Path) -> str:
    path = tmp_path / "client.properties"
    path.write_text(HASTY)
    return str(path)


def test_help_is_on_stdout_with_exit_code_0() -> None:
    result = run("--help")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "--entity-name-file" in result.stdout


def test_no_flags_at_all_is_a_failure_with_the_usage_on_stderr() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Usage: doorkeeper configs" in result.stderr


def test_version_is_that_of_the_tool_followed() -> None:
    assert run("--version").stdout == "4.3.1\n"


def test_a_refusal_is_one_line_on_stderr_with_exit_code_1() -> None:
    result = run("--bootstrap-server", NOBODY, "--describe")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "At least one entity type must be specified\n"


def test_a_wrong_action_shows_the_usage_too() -> None:
    result = run("--bootstrap-server", NOBODY, "--all")
    assert result.exit_code == 1
    assert result.stderr.startswith("Command must include exactly one action: --describe, --alter\nUsage:")


def test_nobody_there_is_an_error_that_names_the_exception(hasty: str) -> None:
    words = ("--bootstrap-server", NOBODY, "--command-config", hasty, "--describe", "--entity-type", "topics")
    result = run(*words)
    assert (result.exit_code, result.stdout) == (1, "")
    first, second, *_ = result.stderr.splitlines()
    assert first == f"Error while executing config command with args '{' '.join(words)}'"
    assert second.startswith(
        "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.TimeoutException: "
    )


def test_secrets_on_the_command_line_are_not_repeated(hasty: str) -> None:
    for config in ("SCRAM-SHA-256=[password=hush]", "listener.name.x.ssl.key.password=hush", "unheard.of=hush"):
        entity = "--user" if config.startswith("SCRAM") else "--broker"
        common = ("--bootstrap-server", NOBODY, "--command-config", hasty, "--alter", entity, "1")
        for words in (("--add-config", config), (f"--add-config={config}",)):
            result = run(*common, *words)
            assert result.exit_code == 1
            assert "Error while executing" in result.stderr
            assert "[hidden]" in result.stderr
            assert "hush" not in result.stderr + result.stdout


def test_plain_values_are_repeated(hasty: str) -> None:
    result = run(
        *("--bootstrap-server", NOBODY, "--command-config", hasty, "--alter", "--broker", "1"),
        *("--add-config", "num.io.threads=5,cleanup.policy=[compact,delete]"),
    )
    assert "num.io.threads=5,cleanup.policy=[compact,delete]" in result.stderr


@pytest.mark.parametrize("key", ["num.io.threads", "retention.ms", "producer_byte_rate", "connection_creation_rate"])
def test_keys_that_everybody_may_see(key: str) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize("key", ["SCRAM-SHA-512", "sasl.jaas.config", "listener.name.a.ssl.keystore.password", "what"])
def test_keys_whose_values_are_hidden(key: str) -> None:
    assert is_secret(key)


def test_words_that_belong_to_no_option_are_told(hasty: str) -> None:
    result = run("--bootstrap-server", NOBODY, "--command-config", hasty, "--describe", "--topic", "t", "stray")
    assert "'stray' belongs to no option and is ignored." in result.stderr


def test_settings_that_are_not_used_are_told(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(HASTY + "linger.ms=5\n")
    result = run("--bootstrap-server", NOBODY, "--command-config", str(path), "--describe", "--topic", "t")
    assert "'linger.ms' is not used." in result.stderr


def test_a_missing_file_of_settings_is_named() -> None:
    result = run("--bootstrap-server", NOBODY, "--command-config", "/nowhere", "--describe", "--topic", "t")
    assert result.exit_code == 1
    assert "/nowhere: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    "keys",
    [
        [],
        ["producer_byte_rate"],
        ["consumer_byte_rate", "controller_mutation_rate"],
        ["consumer_byte_rate", "producer_byte_rate"],
        ["controller_mutation_rate", "producer_byte_rate"],
        ["consumer_byte_rate", "controller_mutation_rate", "producer_byte_rate"],
        ["consumer_byte_rate", "controller_mutation_rate", "request_percentage"],
        ["producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate", "request_percentage"],
    ],
)
def test_quotas_are_printed_in_the_order_of_javas_hash_map(keys: list[str]) -> None:
    """As printed by Java 17 for `new HashMap<>(keys.size())`."""
    assert java_map_order(sorted(keys)) == keys


HELP_ALONE = """
import sys
from doorkeeper.cli import root
for words in (["--help"], ["configs", "--help"], ["quotas", "--help"]):
    root(words, standalone_mode=False)
sys.exit(", ".join({"kio", "doorkeeper.client", "yaml"}.intersection(sys.modules)) or 0)
"""


def test_help_loads_neither_kio_nor_the_client() -> None:
    done = subprocess.run([sys.executable, "-c", HELP_ALONE], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
