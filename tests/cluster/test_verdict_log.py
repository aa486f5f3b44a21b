"""`doorkeeper serve --verdict-log FILE`, and the switch turned by `doorkeeper configs` while clients are at work."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cluster.processes import STOP_SECONDS, ServeProcess
from tests.cluster.running import HOST
from tests.door.requests import filled
from tests.door.sockets import Client

from doorkeeper.cli import root
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.registry import Door

SWITCH = "resource.identifier.limit.enable"
API_VERSIONS, METADATA = 18, 3
NOT_COORDINATOR, TOO_LARGE = 16, 134
OUR_GROUP, HEARTBEAT = "g" * 250, 12
FIELDS = {
    *("time", "mode", "rule", "kind", "value", "length", "limit", "unit", "door", "api", "api_version", "answer"),
    *("client_id", "principal", "address", "listener", "software_name", "software_version", "version"),
}


@contextmanager
def traffic(address: tuple[str, int]) -> Iterator[list[int]]:
    """Clients that ask without a pause, lawfully; the codes that they are answered with."""
    codes: list[int] = []
    stop = threading.Event()

    def ask() -> None:
        body = build(message_classes(METADATA, 13).request, {"topics": ()})
        with Client(address) as client:
            while not stop.is_set():
                codes.append(client.ask(body, "c" * 249).error_code)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield codes
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def turn(address: tuple[str, int], *change: str) -> None:
    arguments = ["configs", "--bootstrap-server", "{}:{}".format(*address), "--alter", *change]
    result = CliRunner().invoke(root, [*arguments, "--entity-type", "brokers", "--entity-default"])
    assert result.exit_code == 0, result.output


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_switch_is_turned_under_traffic_and_every_verdict_is_written(tmp_path: Path) -> None:
    log = tmp_path / "verdicts.jsonl"
    with ServeProcess("--port", "0", "--data", str(tmp_path / "data"), "--verdict-log", str(log)) as server:
        server.wait_until_listening()
        address = HOST, server.ports[Door.BROKER, 1]
        with traffic(address) as codes, Client(address) as client:
            answers = [ask(client)]
            turn(address, "--add-config", f"{SWITCH}=true")
            answers += [ask(client), ask(client)]
            turn(address, "--add-config", f"{SWITCH}=false")
            answers.append(ask(client))
            turn(address, "--add-config", f"{SWITCH}=true")
            turn(address, "--delete-config", SWITCH)
            answers.append(ask(client))
        assert answers == [NOT_COORDINATOR, TOO_LARGE, TOO_LARGE, NOT_COORDINATOR, NOT_COORDINATOR]
        assert set(codes) == {0}
        assert server.stop() == 0
    written = lines(log)
    assert [(one["mode"], one["kind"], one["answer"]) for one in written] == [
        ("evaluate", "group_id", 134),
        ("enforce", "group_id", 134),
    ]
    assert all(set(one) == FIELDS for one in written)
    expected = {"length": 250, "limit": 249, "unit": "UTF-16 code units", "door": "broker", "api": "HEARTBEAT"}
    expected |= {"api_version": 5, "client_id": "test", "principal": "User:ANONYMOUS", "address": HOST, "version": 1}
    expected |= {"value": OUR_GROUP, "software_name": "tests", "software_version": "7"}
    assert expected.items() <= written[0].items()


def ask(client: Client) -> int:
    """A breach, from a client that has said what software it is."""
    client.ask(build(message_classes(API_VERSIONS, 4).request, SOFTWARE))
    body = build(message_classes(HEARTBEAT, 5).request, {"group_id": OUR_GROUP, "member_id": "m"})
    return int(client.ask(body).error_code)


SOFTWARE = {"client_software_name": "tests", "client_software_version": "7"}


def test_a_verdict_log_that_cant_be_written_is_said_before_anything_is_opened(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "verdicts.jsonl"
    with ServeProcess("--port", "0", "--data", str(tmp_path / "data"), "--verdict-log", str(missing)) as server:
        _, errors = server.process.communicate(timeout=STOP_SECONDS)
    assert server.process.returncode == 3
    assert f"can't write the verdict log {missing}: No such file or directory" in errors
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("door", list(Door))
def test_a_flood_of_offenders_fills_neither_memory_nor_disk(tmp_path: Path, door: Door) -> None:
    log = tmp_path / "verdicts.jsonl"
    with ServeProcess("--port", "0", "--data", str(tmp_path / "data"), "--verdict-log", str(log)) as server:
        server.wait_until_listening()
        with Client((HOST, server.ports[door, 1])) as client:
            for number in range(500):
                client.ask(filled(API_VERSIONS, 4), f"{number:030000}")
        assert server.stop() == 0
    assert len(lines(log)) == 500
    assert log.stat().st_size < 500 * 2000
