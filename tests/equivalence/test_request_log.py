"""The request log: the same requests to a real Kafka and to Doorkeeper give lines that differ in values alone."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.processes import ServeProcess
from tests.cluster.quotas import ODD
from tests.cluster.running import HOST
from tests.cluster.test_every_served_version import BODIES
from tests.kafka.plugin import KafkaFactory

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.codec import encode_request
from doorkeeper.wire.messages import newest_stable_version
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

LINE = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] DEBUG Completed request:(\{.*\}) \(kafka\.request\.logger\)", re.DOTALL
)
SECRET = {
    "resources": [
        {
            "resource_type": 4,
            "resource_name": "1",
            "configs": [
                {"name": "log.cleaner.threads", "value": "1"},
                {"name": "listener.name.x.ssl.keystore.password", "value": "hush-hush"},
                {"name": "unknown.key", "value": "hush-hush"},
                {"name": "sasl.jaas.config", "config_operation": 1, "value": None},
            ],
        },
        {"resource_type": 2, "resource_name": "orders", "configs": [{"name": "retention.ms", "value": "1000000"}]},
        {"resource_type": 99, "resource_name": "?", "configs": [{"name": "a", "value": "hush-hush"}]},
    ],
    "validate_only": True,
}
LOG_SECONDS = 10
SOMETIMES = {"temporaryMemoryBytes", "messageConversionsTime"}
"""Fields that Kafka leaves out where they are 0, as they always are here."""


def workload() -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Every API and version that both offer, with something in it."""
    for api_key, (lowest, highest) in registry_for(Door.BROKER, unstable_versions=False).items():
        for version in range(lowest, min(highest, newest_stable_version(api_key)) + 1):
            yield api_key, version, SECRET if api_key in (33, 44) else BODIES.get(api_key, {})


def send_everything(address: tuple[str, int]) -> None:
    for number, (api_key, version, body) in enumerate([(19, 7, BODIES[19] | {"topics": [orders()]}), *workload()]):
        frame = encode_request(make_request(api_key, version, body), number, ODD)
        with socket.create_connection(address, timeout=30) as connection, connection.makefile("rwb") as stream:
            stream.write(struct.pack(">i", len(frame)) + frame)
            stream.flush()
            (size,) = struct.unpack(">i", stream.read(4) or b"\0\0\0\0")
            stream.read(size)


def orders() -> dict[str, Any]:
    return {"name": "orders", "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}


def read(path: Path) -> list[dict[str, Any]]:
    """All lines of a log, by one schema: that of Kafka."""
    lines = [LINE.fullmatch(line) for line in path.read_text("utf-8").rstrip("\n").split("\n")]
    assert all(lines)
    parsed = [json.loads(line[1]) for line in lines if line is not None]
    return [one for one in parsed if one["requestHeader"]["clientId"] == ODD]


@pytest.fixture(scope="module")
def kafkas(kafka_cluster: KafkaFactory) -> list[dict[str, Any]]:
    cluster = kafka_cluster("request log", request_log="DEBUG")
    (node,) = cluster.nodes.values()
    send_everything(cluster.broker_addresses[1])
    deadline = time.monotonic() + LOG_SECONDS
    while len(by_request(read(node.request_log))) < sum(1 for _ in workload()) and time.monotonic() < deadline:
        time.sleep(0.1)  # Kafka writes a line after the answer has left
    return read(node.request_log)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder, log = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("log")
    with ServeProcess("--port", "0", "--data", str(folder), "--request-log", str(log)) as serve:
        serve.wait_until_listening()
        send_everything((HOST, serve.ports[Door.BROKER, 1]))
        assert serve.stop() == 0
    return [*read(log / "kafka-request-1-PLAINTEXT.log"), *read(log / "kafka-request-1-CONTROLLER.log")]


def by_request(lines: list[dict[str, Any]]) -> dict[tuple[str, int, bool], dict[str, Any]]:
    found = {}
    for line in lines:
        header = line["requestHeader"]
        found[header["requestApiKeyName"], header["requestApiVersion"], line["isForwarded"]] = line
    return found


def shapes(value: Any, place: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every object of a document: where it stands, and its fields; items of an array stand in one place."""
    if isinstance(value, dict):
        yield place, tuple(value)
        for name, inner in value.items():
            yield from shapes(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from shapes(inner, f"{place}[]")


def test_logs_the_same_requests(ours: list[dict[str, Any]], kafkas: list[dict[str, Any]]) -> None:
    assert by_request(ours).keys() == by_request(kafkas).keys()


def test_lines_have_the_same_fields_in_the_same_order(ours: list[dict[str, Any]], kafkas: list[dict[str, Any]]) -> None:
    mine, theirs = by_request(ours), by_request(kafkas)
    for key, line in theirs.items():
        assert list(mine[key]) == [name for name in line if name not in SOMETIMES], key
        for part in ("requestHeader", "clientInformation"):
            assert list(mine[key][part]) == list(line[part])
        for name in ("isForwarded", "requestHeader", "securityProtocol", "principal", "listener", "throttleTimeMs"):
            assert mine[key][name] == line[name], (key, name)


def test_requests_are_shown_alike(ours: list[dict[str, Any]], kafkas: list[dict[str, Any]]) -> None:
    mine, theirs = by_request(ours), by_request(kafkas)
    different = {
        key: (mine[key]["request"], line["request"])
        for key, line in theirs.items()
        if mine[key]["request"] != line["request"]
    }
    assert different == {}


def test_responses_have_the_same_fields(ours: list[dict[str, Any]], kafkas: list[dict[str, Any]]) -> None:
    """What is in an answer is a matter of values: an array may be empty on one side, then it has nothing to compare."""
    mine, theirs = by_request(ours), by_request(kafkas)
    compared, different = 0, {}
    for key, line in theirs.items():
        wanted, found = set(shapes(line["response"])), set(shapes(mine[key]["response"]))
        common = {place for place, _ in wanted} & {place for place, _ in found}
        compared += len(common)
        gap = {one for one in wanted ^ found if one[0] in common}
        if gap:
            different[key] = gap
    assert different == {}
    assert compared > 2 * len(theirs)


def test_secrets_are_not_shown(ours: list[dict[str, Any]]) -> None:
    assert "hush-hush" not in json.dumps(ours)
