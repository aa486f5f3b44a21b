"""`doorkeeper quotas` against a real Kafka."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from doorkeeper.cli import root

if TYPE_CHECKING:
    from tests.kafka.plugin import KafkaFactory

pytestmark = pytest.mark.kafka

LEARN_SECONDS = 20
FIRST = r"""
- entity: {client-id: "a b/c:d*é\"\n\U0001F600"}
  quotas: {producer_byte_rate: 1024, consumer_byte_rate: 2048}
- entity: {user: null, client-id: null}
  quotas: {request_percentage: 12.5}
- entity: {ip: 10.0.0.1}
  quotas: {connection_creation_rate: 7}
- entity: {client-id: 'x%20y'}
  quotas: {producer_byte_rate: 1}
"""
SECOND = r"""
- entity: {client-id: "a b/c:d*é\"\n\U0001F600"}
  quotas: {producer_byte_rate: 4096, consumer_byte_rate: null}
- entity: {user: alice}
  quotas: {producer_byte_rate: 1, nonsense: 1}
"""


class Quotas:
    """The command, aimed at one cluster."""

    def __init__(self, servers: str) -> None:
        self.servers = ("--bootstrap-server", servers)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(root, ["quotas", *words, *self.servers])

    def wait_for(self, code: int, *words: str) -> Result:
        """Ask until the broker has learnt of a change."""
        deadline = time.monotonic() + LEARN_SECONDS
        while (done := self.run(*words)).exit_code != code:
            assert time.monotonic() < deadline, done.output
        return done


def test_quotas_are_applied_compared_exported_and_repaired(kafka_cluster: KafkaFactory, tmp_path: Path) -> None:
    quotas = Quotas(kafka_cluster("quotas-tool").bootstrap_servers)
    first, second, exported = (tmp_path / name for name in ("first.yaml", "second.yaml", "exported.yaml"))
    first.write_text(FIRST, encoding="utf-8")
    second.write_text(SECOND, encoding="utf-8")

    missing = quotas.run("diff", str(first))
    assert (missing.exit_code, len(missing.stdout.splitlines())) == (1, 5)
    assert all(line.startswith("+ ") for line in missing.stdout.splitlines())
    assert quotas.run("apply", str(first), "--dry-run").stdout.startswith("Validated the quotas of 4 entities")
    assert quotas.run("diff", str(first)).exit_code == 1

    applied = quotas.run("apply", str(first))
    assert (applied.exit_code, applied.stdout) == (0, "Applied the quotas of 4 entities, 0 refused.\n")
    assert applied.stderr == "4 of 4 entities in 1 request(s)\n"
    same = quotas.wait_for(0, "diff", str(first))
    assert same.stdout == ""
    assert "client-id 'x%20y' may stand for client-id 'x y'" in same.stderr
    again = quotas.run("apply", str(first))
    assert (again.exit_code, again.stderr) == (0, "")

    assert quotas.run("export", "--output", str(exported)).exit_code == 0
    assert quotas.run("diff", str(exported)).exit_code == 0
    assert quotas.run("export").stdout == exported.read_text(encoding="utf-8")

    refused = quotas.run("apply", str(second))
    assert (refused.exit_code, refused.stdout) == (1, "Applied the quotas of 1 entities, 1 refused.\n")
    assert "Refused: user 'alice': INVALID_REQUEST (42)" in refused.stderr

    moved = quotas.run("repair")
    assert moved.stdout.splitlines()[0] == "client-id 'x%20y' -> client-id 'x y'"

    pruned = quotas.run("apply", str(exported), "--prune")
    assert pruned.exit_code == 0
    restored = quotas.wait_for(0, "diff", str(exported))
    assert restored.stdout == ""


def test_a_file_that_cannot_be_read_ends_with_3_and_nothing_is_asked() -> None:
    done = Quotas("127.0.0.1:1").run("apply", "/nowhere.yaml")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "/nowhere.yaml: No such file or directory" in done.stderr


def test_a_cluster_must_be_named() -> None:
    assert CliRunner().invoke(root, ["quotas", "export"]).exit_code == 2
