"""`doorkeeper configs` and Kafka's own tool, side by side at one real Kafka; and `--verify` at a poisoned one."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.cli.kafka_tool import Said, doorkeeper_configs, kafka_configs
from tests.kafka.cluster import KafkaCluster, plan

from doorkeeper.cli import root
from doorkeeper.cli.configs_options import parse_add_config

if TYPE_CHECKING:
    from tests.kafka.plugin import KafkaFactory
    from tests.kafka.tools import KafkaTools

pytestmark = pytest.mark.kafka

ODD = 'a b/c:d*é"\n😀'
LEARN_SECONDS = 20


class Tools:
    """Both tools, aimed at the same cluster."""

    def __init__(self, kafka: KafkaCluster, kafka_tools: KafkaTools) -> None:
        self.kafka = kafka
        self.kafka_tools = kafka_tools
        host, port = next(iter(kafka.controller_addresses.values()))
        self.servers = ("--bootstrap-server", kafka.bootstrap_servers)
        self.controllers = ("--bootstrap-controller", f"{host}:{port}")

    def theirs(self, *words: str) -> Said:
        return kafka_configs(self.kafka_tools, *self.servers, *words)

    def ours(self, *words: str) -> Said:
        return doorkeeper_configs(*self.servers, *words)

    def at_controller(self, *words: str) -> Said:
        return doorkeeper_configs(*self.controllers, *words)

    def wait_for(self, text: str, *words: str, gone: bool = False) -> Said:
        """Ask ours until the broker has learnt of a change, which takes it a moment."""
        deadline = time.monotonic() + LEARN_SECONDS
        while (text in "\n".join((said := self.ours(*words)).lines)) is gone:
            assert time.monotonic() < deadline, said
        return said


@pytest.fixture
def tools(kafka_cluster: KafkaFactory, kafka_tools: KafkaTools) -> Tools:
    return Tools(kafka_cluster("configs-tool"), kafka_tools)


@pytest.mark.parametrize(
    ("entity", "configs", "shown"),
    [
        (("--client", ODD), "producer_byte_rate=1024,consumer_byte_rate=2e7,request_percentage=12.5", "1024.0"),
        (("--user", ODD, "--client", ODD), "producer_byte_rate=77,controller_mutation_rate=1.5", "77.0"),
        (("--broker", "1"), "log.cleaner.threads=2,log.cleanup.policy=[compact,delete]", "  log.cleaner.threads=2 "),
        (("--broker-defaults",), "log.retention.ms=86400000", "  log.retention.ms=86400000 "),
        (("--client-metrics", "all"), "interval.ms=1000,match=[client_id=a.*,client_software_name=b]", "interval.ms"),
        (("--group", ODD), "consumer.session.timeout.ms=50000", "consumer.session.timeout.ms=50000"),
    ],
)
def test_what_we_set_kafkas_tool_describes_as_we_do(
    tools: Tools, entity: tuple[str, ...], configs: str, shown: str
) -> None:
    done = tools.ours("--alter", *entity, "--add-config", configs)
    assert (done.code, done.errors) == (0, [""])
    described = tools.wait_for(shown, "--describe", *entity)
    assert tools.theirs("--describe", *entity) == described
    assert tools.ours("--alter", *entity, "--delete-config", ",".join(parse_add_config(configs))).code == 0
    tools.wait_for(shown, "--describe", *entity, gone=True)


def test_all_configs_of_a_broker_are_the_same_lines(tools: Tools) -> None:
    words = ("--describe", "--broker", "1", "--all")
    ours = tools.ours(*words)
    assert len(ours.lines) > 300
    assert ours == tools.theirs(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("--alter", "--broker", "1", "--add-config", "num.io.threads=10000"),
        ("--alter", "--topic", "missing", "--add-config", "retention.ms=1"),
        ("--describe", "--topic", "missing"),
        ("--alter", "--client", "c", "--delete-config", "producer_byte_rate"),
    ],
)
def test_refusals_have_the_same_words_streams_and_exit_code(tools: Tools, words: tuple[str, ...]) -> None:
    assert tools.ours(*words) == tools.theirs(*words)


def test_at_the_controllers_door_both_say_the_same(tools: Tools) -> None:
    words = (*tools.controllers, "--describe", "--entity-type", "brokers")
    assert doorkeeper_configs(*words) == kafka_configs(tools.kafka_tools, *words)


def test_credentials_that_we_set_kafkas_tool_describes_and_neither_shows_the_password(tools: Tools) -> None:
    done = tools.ours("--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=hush]")
    assert done.lines == ["", "Completed updating config for user u."]
    described = tools.wait_for("SCRAM-SHA-256=iterations=8192", "--describe", "--user", "u")
    assert tools.theirs("--describe", "--user", "u") == described
    assert tools.ours("--alter", "--user", "u", "--delete-config", "SCRAM-SHA-256").code == 0


def test_a_dry_run_is_judged_and_stores_nothing(tools: Tools) -> None:
    entity = ("--broker", "1")
    done = tools.ours("--alter", *entity, "--add-config", "log.segment.bytes=2000000", "--dry-run")
    assert done.lines == ["", "Validated config for broker 1; nothing was changed."]
    refused = tools.ours("--alter", *entity, "--add-config", "num.io.threads=10000", "--dry-run")
    assert refused.code == 1
    assert not any("log.segment.bytes" in line for line in tools.ours("--describe", *entity).lines)


def test_names_come_from_a_file_and_results_as_json(tools: Tools, tmp_path: Path) -> None:
    names = tmp_path / "names.json"
    names.write_text(json.dumps([ODD, None]))
    entity = ("--entity-type", "users", "--entity-type", "clients", "--entity-name-file", str(names))
    assert tools.ours("--alter", *entity, "--add-config", "producer_byte_rate=5").code == 0
    tools.wait_for("producer_byte_rate=5.0", "--describe", *entity)
    done = CliRunner().invoke(root, ["configs", *tools.servers, "--describe", *entity, "--format", "json"])
    assert json.loads(done.stdout) == {
        "version": 1,
        "quotas": [{"entity": {"user": ODD, "client-id": None}, "quotas": {"producer_byte_rate": 5.0}}],
    }
    assert tools.ours("--alter", *entity, "--delete-config", "producer_byte_rate").code == 0


def test_verify_finds_what_a_controller_let_in_and_its_commands_free_the_brokers(
    kafka_cluster: KafkaFactory, kafka_tools: KafkaTools
) -> None:
    tools = Tools(kafka_cluster("configs-poisoned", nodes=plan(2, combined=False)), kafka_tools)
    lawful = ("--alter", "--broker", "1", "--add-config", "log.retention.ms=86400000")
    assert tools.ours("--verify").code == 0

    bad = ("--alter", "--broker-defaults", "--add-config", "num.io.threads=10000")
    assert tools.at_controller(*bad).code == 0
    tools.wait_for("num.io.threads=10000", "--describe", "--broker-defaults")
    assert tools.ours(*lawful).code == 1
    _free(tools, expected={"num.io.threads"}, door="--bootstrap-server")
    assert tools.ours(*lawful).code == 0

    assert tools.at_controller(*bad).code == 0
    worse = ("--alter", "--broker", "2", "--add-config", "num.network.threads=10000,log.cleaner.threads=1000")
    assert tools.at_controller(*worse).code == 0
    tools.wait_for("num.network.threads=3", "--describe", "--broker", "2")
    tools.wait_for("num.io.threads=10000", "--describe", "--broker-defaults")
    expected = {"num.io.threads", "num.network.threads", "log.cleaner.threads"}
    _free(tools, expected=expected, door="--bootstrap-controller")
    assert tools.ours("--alter", "--broker", "2", "--add-config", "log.retention.ms=86400000").code == 0


def _free(tools: Tools, *, expected: set[str], door: str) -> None:
    """Verify, check what is found, run the commands it prints, and wait until nothing is found."""
    done = CliRunner().invoke(root, ["configs", *tools.servers, "--verify", "--format", "json"])
    found = json.loads(done.stdout)
    assert (done.exit_code, {one["key"] for one in found["findings"]}) == (1, expected)
    assert found["brokers"] == [1, 2]
    shown = tools.ours("--verify")
    assert set(found["commands"]) < set(shown.lines)
    for line in found["commands"]:
        program, command, *words = shlex.split(line)
        assert (program, command, words[0]) == ("doorkeeper", "configs", door)
        assert doorkeeper_configs(*words).code == 0
    tools.wait_for("Every stored broker config is lawful; 2 broker(s) judged.", "--verify")
