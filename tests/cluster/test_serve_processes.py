"""`doorkeeper serve` as a process: addresses, signals, locks, separate roles, and kill -9 under a stream of changes."""

from __future__ import annotations

import itertools
import json
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cluster.processes import ServeProcess
from tests.cluster.running import free_ports
from tests.kafka import requests as wire
from tests.kafka.cluster import write_properties
from tests.kafka.requests import Change, Connection, Operation

from doorkeeper.cli import root
from doorkeeper.wire.registry import Door

INVALID_CONFIG = 40
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
GROUPS = 7
ANSWER_SECONDS = 30
STREAM_SECONDS = 0.1
"""The kill comes at any moment of this: most often while a change is decided, written, synced or answered."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_in_good_order_when_told_to(tmp_path: Path, number: signal.Signals) -> None:
    with ServeProcess("--port", "0", "--data", str(tmp_path)) as served:
        served.wait_until_listening()
        with served.connect() as connection:
            assert wire.live_brokers(connection) == {1}
        assert served.stop(number) == 0


def test_second_node_on_one_directory_is_refused_with_one_sentence(tmp_path: Path) -> None:
    with ServeProcess("--port", "0", "--data", str(tmp_path)) as first:
        first.wait_until_listening()
        with ServeProcess("--port", "0", "--data", str(tmp_path)) as second:
            _, errors = second.process.communicate(timeout=30)
        assert second.process.returncode == 3
        assert errors == f"doorkeeper: {tmp_path} is in use by another process (its .lock is held)\n"
        with first.connect() as connection:
            assert wire.live_brokers(connection) == {1}


def test_bad_file_is_refused_with_every_fault_before_anything_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    properties = {
        "node.id": "one",
        "process.roles": "broker,controller",
        "num.io.threads": "0",
        "log.dirs": str(tmp_path / "data"),
        "metadata.version": "9.9",
    }
    write_properties(file, properties)
    with ServeProcess(str(file)) as served:
        _, errors = served.process.communicate(timeout=30)
    assert served.process.returncode == 3
    assert errors.startswith(f"doorkeeper: {file} is refused:\n")
    for fragment in ("node.id", "num.io.threads", "metadata.version 9.9 is unknown"):
        assert fragment in errors
    assert not (tmp_path / "data").exists()


def test_what_a_file_asks_for_in_vain_is_said_once_at_the_start(tmp_path: Path) -> None:
    overrides = ("--override", "authorizer.class.name=a.b.C", "--override", "num.io.thread=8")
    with ServeProcess("--port", "0", "--brokers", "2", "--data", str(tmp_path), *overrides) as served:
        served.wait_until_listening(3)
        assert served.stop() == 0
        errors = served.errors
    assert errors.count("authorizer.class.name is set, but `doorkeeper serve` stores ACLs without enforcing them") == 1
    assert errors.count("Unknown key num.io.thread; did you mean num.io.threads?") == 1


def test_without_a_file_the_doors_are_kafkas_and_the_data_is_beside(tmp_path: Path) -> None:
    with ServeProcess("--port", "0", "--format", "json", cwd=tmp_path) as served:
        assert served.process.stdout is not None
        assert '"listening": [{"door": "broker", "node_id": 1' in served.process.stdout.readline()
        assert (tmp_path / "doorkeeper-data" / "__cluster_metadata-0").is_dir()


def test_roles_in_separate_processes_register_follow_and_forward(tmp_path: Path) -> None:
    ports = free_ports(2)
    shared = {
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports[0]}",
        "controller.listener.names": "CONTROLLER",
    }
    controller, broker = tmp_path / "controller.properties", tmp_path / "broker.properties"
    write_properties(
        controller,
        shared
        | {
            "node.id": "100",
            "process.roles": "controller",
            "listeners": f"CONTROLLER://127.0.0.1:{ports[0]}",
            "log.dirs": str(tmp_path / "c"),
        },
    )
    write_properties(
        broker,
        shared
        | {
            "node.id": "5",
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{ports[1]}",
            "log.dirs": str(tmp_path / "b"),
            "num.io.threads": "20",
            "num.network.threads": "30",
            "request.timeout.ms": "1000",
        },
    )
    change = Change(wire.BROKER, "5", (Operation("num.io.threads", "12"),))
    bad = Change(wire.BROKER, "5", (Operation("num.io.threads", "5"),))
    lower = Change(wire.BROKER, "5", (Operation("num.network.threads", "14"),))
    with ServeProcess(str(controller)) as first, ServeProcess(str(broker)) as second:
        first.wait_until_listening(1)
        second.wait_until_listening(1)
        with second.connect(Door.BROKER, 5) as connection:
            assert [one.code for one in wire.incremental_alter_configs(connection, [change])] == [0]
        with first.connect(Door.CONTROLLER, 100) as connection:
            assert [one.code for one in wire.incremental_alter_configs(connection, [bad])] == [42]
        first.kill()
        with second.connect(Door.BROKER, 5) as connection:
            # Reads go on; a change times out, as Kafka's do.
            assert wire.live_brokers(connection) == {5}
            assert [one.code for one in wire.incremental_alter_configs(connection, [change])] == [7]
        assert _dumped_static_configs(tmp_path / "c", 5)["num.io.threads"] == "20"
        with ServeProcess(str(controller)) as again:
            again.wait_until_listening(1)
            with again.connect(Door.CONTROLLER, 100) as connection:
                (outcome,) = wire.incremental_alter_configs(connection, [lower])
                assert (outcome.code, "half the current value 30" in str(outcome.message)) == (42, True)
            with second.connect(Door.BROKER, 5) as connection:
                for _ in range(30):  # each waits up to a second for the controller
                    (outcome,) = wire.incremental_alter_configs(connection, [change])
                    if outcome.code == 0:
                        break
                assert outcome.code == 0
            assert second.stop() == 0
            assert again.stop() == 0


def _dumped_static_configs(folder: Path, broker_id: int) -> dict[str, str]:
    """What `doorkeeper metadata dump` shows of a broker's registration, which is of version 5."""
    done = CliRunner().invoke(root, ["metadata", "dump", str(folder)])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    (found,) = [row for row in rows if row["type"] == "RegisterBrokerRecord"]
    assert (found["version"], found["fields"]["brokerId"]) == (5, broker_id)
    return {one["name"]: one["value"] for one in found["fields"]["staticConfigs"]}


class Stream:
    """Changes one after the other until the node dies: some good, some bad, each known as acknowledged or not."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, str] = {}
        self.unanswered: dict[str, str] = {}
        """What the last kill left open: it may be there or not, and either is lawful."""
        self.first_answer = threading.Event()
        self._numbers = itertools.count()

    def run(self, connection: Connection) -> None:
        with connection:
            try:
                while True:
                    self._change(connection)
                    self.first_answer.set()
            except (ConnectionError, TimeoutError):
                return

    def _change(self, connection: Connection) -> None:
        number = next(self._numbers)
        name, value = f"group-{number % GROUPS}", str(45_000 + number % 15_000)
        good = Change(wire.GROUP, name, (Operation(SESSION, value),))
        bad = Change(wire.GROUP, f"bad-{number}", (Operation(SESSION, value), Operation(HEARTBEAT, "x")))
        self.unanswered = {name: value}
        outcomes = wire.incremental_alter_configs(connection, [good, bad])
        assert [one.code for one in outcomes] == [0, INVALID_CONFIG]
        self.acknowledged |= self.unanswered
        self.unanswered = {}

    def check(self, connection: Connection) -> None:
        """All that was acknowledged is there, the last of it too; nothing that was refused."""
        stored = wire.list_config_resources(connection, wire.GROUP)
        assert set(self.acknowledged) <= stored <= set(self.acknowledged) | set(self.unanswered)
        for name in stored:
            described = wire.describe_configs(connection, wire.GROUP, name)
            found = {one.name: one.value for one in described.configs}[SESSION]
            assert found in {each.get(name) for each in (self.acknowledged, self.unanswered)}
            self.acknowledged[name] = found
        self.unanswered = {}


def _survives_kills(folder: Path, rounds: int) -> None:
    stream = Stream()
    chooser = random.Random(rounds)
    for round_number in range(rounds):
        with ServeProcess("--port", "0", "--data", str(folder)) as served:
            served.wait_until_listening()
            with served.connect() as connection:
                stream.check(connection)
            stream.first_answer.clear()
            with ThreadPoolExecutor(1) as pool:
                door = Door.CONTROLLER if round_number % 2 else Door.BROKER
                running = pool.submit(stream.run, served.connect(door))
                assert stream.first_answer.wait(ANSWER_SECONDS)
                time.sleep(chooser.uniform(0, STREAM_SECONDS))
                served.kill()
            running.result()
    assert len(stream.acknowledged) == GROUPS
    with ServeProcess("--port", "0", "--data", str(folder)) as served:
        served.wait_until_listening()
        with served.connect() as connection:
            stream.check(connection)


def test_every_acknowledged_change_survives_ten_kills(tmp_path: Path) -> None:
    _survives_kills(tmp_path, 10)


@pytest.mark.long
def test_every_acknowledged_change_survives_two_hundred_kills(tmp_path: Path) -> None:
    _survives_kills(tmp_path, 200)
