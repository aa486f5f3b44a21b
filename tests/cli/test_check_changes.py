"""`doorkeeper check changes FILE` and the file it reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from doorkeeper.cli import root

STATIC_1 = "process.roles=broker\nnode.id=1\nnum.io.threads=8\n"
STATIC_2 = "process.roles=broker\nnode.id=2\nnum.io.threads=32\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "1.properties").write_text(STATIC_1)
    (tmp_path / "2.properties").write_text(STATIC_2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(root, ["check", "changes", *arguments])


def judge(folder: Path, changes: str, *arguments: str) -> list[dict[str, Any]]:
    (folder / "changes.yaml").write_text(changes)
    result = check("changes.yaml", "--format", "json", *arguments)
    assert result.exit_code in (0, 1), result.stderr
    document = json.loads(result.stdout)
    assert document["version"] == 1
    results: list[dict[str, Any]] = document["results"]
    assert result.exit_code == int(any(one["code"] for one in results))
    return results


BOTH = ("--broker", "1=1.properties", "--broker", "2=2.properties")
DEFAULT_THREADS = "changes: [{type: broker, name: '', configs: [{name: num.io.threads, op: set, value: 12}]}]"


def test_a_default_is_judged_against_every_broker_and_names_those_that_refuse(folder: Path) -> None:
    (result,) = judge(folder, DEFAULT_THREADS, *BOTH)
    assert (result["verdict"], result["code"], result["refused_by"]) == ("refused", 42, [2])
    assert "2" in result["message"]


def test_the_same_default_passes_where_every_broker_accepts_it(folder: Path) -> None:
    (result,) = judge(folder, DEFAULT_THREADS, "--broker", "1=1.properties")
    assert (result["verdict"], result["code"], result["refused_by"]) == ("accepted", 0, [])


def test_without_static_configs_the_change_alone_is_judged(folder: Path) -> None:
    (result,) = judge(folder, DEFAULT_THREADS)
    assert result["code"] == 0


def test_what_is_in_force_counts(folder: Path) -> None:
    (folder / "current.yaml").write_text(
        "changes: [{type: broker, name: '2', configs: [{name: num.io.threads, op: set, value: 16}]}]"
    )
    change = "changes: [{type: broker, name: '2', configs: [{name: num.io.threads, value: 8}]}]"
    assert judge(folder, change, *BOTH)[0]["code"] == 42
    assert judge(folder, change, *BOTH, "--current", "current.yaml")[0]["code"] == 0


def test_a_brokers_door_refuses_another_brokers_id(folder: Path) -> None:
    change = "changes: [{type: broker, name: '2', configs: [{name: num.io.threads, value: 33}]}]"
    assert judge(folder, change, *BOTH)[0]["code"] == 0
    assert judge(folder, change, *BOTH, "--door", "broker:2")[0]["code"] == 0
    (result,) = judge(folder, change, *BOTH, "--door", "broker:1")
    assert (result["code"], result["rule"]) == (42, "CONFIG_OTHER_NODE")


def test_a_verdict_belongs_to_its_resource(folder: Path) -> None:
    results = judge(
        folder,
        """
        changes:
          - {type: topic, name: good, configs: [{name: retention.ms, op: set, value: 1000}]}
          - {type: topic, name: bad, configs: [{name: retention.ms, op: set, value: a day}]}
          - {type: group, name: g, configs: [{name: consumer.session.timeout.ms, op: delete}]}
          - {type: client-metrics, name: m, configs: [{name: nonsense, op: set, value: x}]}
          - {type: broker-logger, name: '1', configs: [{name: root, op: set, value: NOISY}]}
        """,
        *BOTH,
        "--door",
        "broker:1",
    )
    assert [result["code"] for result in results] == [0, 40, 0, 42, 40]
    assert [result["type"] for result in results] == ["topic", "topic", "group", "client-metrics", "broker-logger"]


def test_the_topics_and_groups_are_judged_by_the_controllers_file(folder: Path) -> None:
    (folder / "controller.properties").write_text("group.consumer.max.session.timeout.ms=70000\n")
    change = "changes: [{type: group, name: g, configs: [{name: consumer.session.timeout.ms, value: 65000}]}]"
    assert judge(folder, change)[0]["code"] == 40
    assert judge(folder, change, "--controller", "controller.properties")[0]["code"] == 0


@pytest.mark.parametrize("value", ["1_000", "0x10", "1e3"])
def test_a_scalar_is_judged_as_it_is_written(folder: Path, value: str) -> None:
    """YAML itself would make numbers of these, which Kafka never sees."""
    change = f"changes: [{{type: topic, name: t, configs: [{{name: retention.ms, value: {value}}}]}}]"
    (result,) = judge(folder, change)
    assert result["code"] == 40
    assert value in result["message"]


def test_yes_and_on_are_no_booleans(folder: Path) -> None:
    change = "changes: [{type: topic, name: t, configs: [{name: preallocate, value: yes}]}]"
    assert judge(folder, change)[0]["code"] == 40


def test_null_is_null(folder: Path) -> None:
    change = "changes: [{type: topic, name: t, configs: [{name: preallocate, op: set, value: null}]}]"
    assert judge(folder, change)[0]["rule"] == "CONFIG_VALUE_NULL"


def test_json_is_read_as_well(folder: Path) -> None:
    entry = {"name": "client-😀", "op": "SET", "value": True}
    document = json.dumps({"changes": [{"type": "topic", "name": "t", "configs": [entry]}]})
    (result,) = judge(folder, document)
    assert "client-😀" in result["message"]


def test_the_text_names_resource_code_and_reason(folder: Path) -> None:
    (folder / "c.yaml").write_text(DEFAULT_THREADS)
    result = check("c.yaml", *BOTH)
    assert result.exit_code == 1
    assert result.stdout.startswith("refused: broker '': INVALID_REQUEST (42): ")
    assert check("c.yaml", "--broker", "1=1.properties").stdout == "accepted: broker ''\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("changes: [", "broken YAML"),
        ('{"changes": [', "broken JSON"),
        ("[1, 2]", "expected one key 'changes'"),
        ("changes: {}", "expected one key 'changes'"),
        ("changes: []\nother: 1", "expected one key 'changes'"),
        ("changes: [7]", "changes[0]: expected a mapping"),
        ("changes: [{type: topic}]", "changes[0]: 'configs' is missing"),
        ("changes: [{type: tpic, configs: []}]", "changes[0].type: 'tpic' is none of topic, broker"),
        ("changes: [{type: topic, configs: {}}]", "changes[0].configs: expected a list"),
        ("changes: [{type: topic, nme: x, configs: []}]", "changes[0]: unknown key 'nme'"),
        ("changes: [{type: topic, configs: [{name: a, op: add}]}]", "changes[0].configs[0].op: 'add' is none of set"),
        ("changes: [{type: topic, configs: [{op: set}]}]", "changes[0].configs[0]: 'name' is missing"),
        ("changes: [{type: topic, configs: [{name: a, value: [1]}]}]", "changes[0].configs[0].value: expected text"),
        ("changes: [{type: topic, type: group, configs: []}]", "key 'type' stands twice"),
        ('{"changes": [{"type": "topic", "type": "group", "configs": []}]}', "stands twice"),
        ("changes: !!python/object:os.system []", "broken YAML"),
        ("[" * 100_000, "nested too deeply"),
        ("changes: " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_file_is_one_clear_line(folder: Path, text: str, words: str) -> None:
    (folder / "bad.yaml").write_text(text)
    result = check("bad.yaml")
    assert result.exit_code == 3
    assert result.stderr.startswith("doorkeeper: bad.yaml: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_a_file_that_is_not_there_or_not_utf8_is_one_clear_line(folder: Path) -> None:
    assert check("none.yaml").stderr == "doorkeeper: none.yaml: No such file or directory\n"
    (folder / "latin.yaml").write_bytes(b"changes: []  # caf\xe9")
    assert check("latin.yaml").stderr == "doorkeeper: latin.yaml: not UTF-8 (byte 18)\n"


def test_a_current_file_may_only_set(folder: Path) -> None:
    (folder / "c.yaml").write_text(DEFAULT_THREADS)
    (folder / "d.yaml").write_text("changes: [{type: topic, name: t, configs: [{name: a, op: delete}]}]")
    result = check("c.yaml", "--current", "d.yaml")
    assert result.exit_code == 3
    assert "'a' must be set to a value" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--broker", "x=1.properties"),
        ("--broker", "1"),
        ("--broker", "1" * 5000 + "=1.properties"),
        ("--broker", "1=1.properties", "--broker", "1=2.properties"),
        ("--door", "broker"),
        ("--door", "cellar:1"),
        ("--door", "broker:99999999999"),
        ("--broker", "1=1.properties", "--door", "broker:2"),
    ],
)
def test_a_bad_option_is_a_usage_error(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "c.yaml").write_text(DEFAULT_THREADS)
    assert check("c.yaml", *arguments).exit_code == 2


def test_a_yaml_file_may_begin_with_a_brace(folder: Path) -> None:
    (result,) = judge(folder, "{changes: [{type: topic, name: t, configs: [{name: retention.ms, value: 5}]}]}")
    assert result["verdict"] == "accepted"


def test_a_default_that_contradicts_itself_is_refused_without_any_broker(folder: Path) -> None:
    pair = "{name: log.retention.ms, value: 5}, {name: log.local.retention.ms, value: 6}"
    (result,) = judge(folder, f"changes: [{{type: broker, name: '', configs: [{pair}]}}]")
    assert (result["code"], result["refused_by"]) == (42, [])


def test_a_broker_id_of_any_length_is_judged(folder: Path) -> None:
    name = "1" * 5000
    (result,) = judge(folder, f"changes: [{{type: broker, name: '{name}', configs: []}}]")
    assert result["code"] == 42


def test_a_brokers_file_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "c.yaml").write_text(DEFAULT_THREADS)
    assert check("c.yaml", "--broker", "1=none").stderr == "doorkeeper: none: No such file or directory\n"


def test_says_which_static_configs_it_can_not_know(folder: Path) -> None:
    (folder / "1.properties").write_text(STATIC_1.replace("=8", "=${env:THREADS}"))
    (folder / "c.yaml").write_text(DEFAULT_THREADS)
    result = check("c.yaml", "--broker", "1=1.properties")
    assert result.exit_code == 0
    assert result.stderr.startswith("1.properties: only the broker knows")
    assert result.stderr.endswith(": num.io.threads\n")
