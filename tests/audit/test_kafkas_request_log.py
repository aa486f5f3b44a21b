"""The request log of a real Kafka 4.3.1: the planted offenders are found, and nothing else; in our own log the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cluster.processes import ServeProcess
from tests.cluster.running import HOST
from tests.kafka.requests import (
    BROKER,
    SET,
    TOPIC,
    Change,
    Connection,
    Operation,
    incremental_alter_configs,
    make_request,
)

from doorkeeper.audit.finding import find
from doorkeeper.audit.judging import Judge, judge_batch, judge_rows
from doorkeeper.audit.merging import merge, only_once
from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.requests.reader import read_range
from doorkeeper.audit.schemas import FINDING_KEY
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    from tests.kafka.plugin import KafkaFactory

LONG, LAWFUL = "n" * 250, "n" * 249
ODD = 'é \u2028"\\'
SECONDS = 30
JUDGE = Judge(Rulebook.of_release("5.0"))

REFUSED = {
    ("CLIENT_ID_TOO_LONG", LONG),
    ("GROUP_ID_TOO_LONG", LONG),
    ("TRANSACTIONAL_ID_TOO_LONG", LONG),
    ("MEMBER_ID_TOO_LONG", "m" * 37),
    ("CONFIG_VALUE_INVALID", "broker 1: num.io.threads=0"),
    ("CONFIG_VALUE_INVALID", "topic orders: retention.ms=x"),
    ("CONFIG_KEY_NEEDS_LISTENER", "broker 1: ssl.keystore.password=[hidden]"),
}
TOLD = {("CLIENT_ID_NOT_PLAIN", ODD)}
NOT_JUDGED = {"broker 1: num.io.threads=500", "broker 1: some.plugin.key=[hidden]"}


def heartbeat(group: str) -> Any:
    return make_request(12, 4, group_id=group, generation_id=1, member_id="app-" + "m" * 60, group_instance_id=None)


def new_heartbeat(member: str) -> Any:
    return make_request(68, 1, group_id="g", member_id=member, member_epoch=5, topic_partitions=None)


def init_producer(transactional_id: str) -> Any:
    from datetime import timedelta

    timeout = timedelta(seconds=60)
    return make_request(22, 4, transactional_id=transactional_id, transaction_timeout=timeout)


def alter(connection: Connection, kind: int, name: str, key: str, value: str) -> None:
    incremental_alter_configs(connection, [Change(kind, name, (Operation(key, value, SET),))])


def plant(address: tuple[str, int]) -> None:
    """Lawful and unlawful names, each at its limit and one beyond."""
    for client_id in (LONG, LAWFUL, ODD):
        with Connection(address, client_id) as connection:
            connection.call(heartbeat("lawful"))
    with Connection(address, "plain.client-1") as connection:
        for request in (
            *map(heartbeat, (LONG, LAWFUL)),
            *map(new_heartbeat, ("m" * 37, "m" * 36)),
            *map(init_producer, (LONG, LAWFUL)),
        ):
            connection.call(request)
        alter(connection, BROKER, "1", "num.io.threads", "0")
        alter(connection, BROKER, "1", "num.io.threads", "500")
        alter(connection, BROKER, "1", "ssl.keystore.password", "never shown anywhere")
        alter(connection, BROKER, "1", "some.plugin.key", "never shown anywhere")
        alter(connection, TOPIC, "orders", "retention.ms", "x")
        alter(connection, TOPIC, "orders", "flush.ms", "1000")
        connection.call(heartbeat("the last one"))


def read(path: Path, *, strict: bool = False) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(sightings and totals, what is judged of them)."""
    batches = list(read_range(ByteRange(str(path), 0, path.stat().st_size), ReadOptions(strict=strict)))
    rows = [row for batch in batches for row in batch.to_pylist()]
    sightings = [batch.filter([row["entry"] == "sighting" for row in batch.to_pylist()]) for batch in batches]
    return rows, [row for batch in sightings for row in judge_batch(batch, JUDGE).to_pylist()]


@pytest.fixture(scope="module")
def log(kafka_cluster: KafkaFactory) -> Path:
    """The log of a node that is broker and controller: what is forwarded shows twice in it."""
    kafka = kafka_cluster("request-log", request_log="TRACE")
    plant(kafka.broker_addresses[1])
    path = kafka.nodes[1].request_log
    with kafka.connect_broker() as connection:
        for _ in range(SECONDS * 100):  # a line is written a little after its answer: asking again gives it time
            if _is_written(path):
                return path
            connection.call(heartbeat("waiting"))
    raise AssertionError("Kafka did not write its request log in time")


@pytest.fixture(scope="module")
def our_logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The logs of our own cluster, of the same requests: one of the broker's listener, one of the controller's."""
    folder = tmp_path_factory.mktemp("ours")
    arguments = ("--port", "0", "--data", str(folder / "data"), "--request-log", str(folder / "log"))
    with ServeProcess(*arguments, "--release", "4.x") as serve:
        serve.wait_until_listening()
        plant((HOST, serve.ports[Door.BROKER, 1]))
        assert serve.stop() == 0
    return sorted((folder / "log").iterdir())


def findings(*paths: Path) -> dict[tuple[Any, ...], int]:
    """What an audit of the logs finds, and how often."""
    options = ReadOptions()
    batches = (batch for path in paths for batch in read_range(ByteRange(str(path), 0, path.stat().st_size), options))
    found = find(judge_rows(only_once(merge(batches).sightings), JUDGE))
    return {tuple(row[name] for name in FINDING_KEY): row["count"] for row in found}


def test_our_own_clusters_log_tells_of_the_planted_offenders_and_nothing_else(our_logs: list[Path]) -> None:
    judged = [row for path in our_logs for row in read(path)[1]]
    for verdict, expected in (("refused", REFUSED), ("notice", TOLD)):
        assert {(row["rule"], row["value"]) for row in judged if row["verdict"] == verdict} == expected
    assert {row["value"] for row in judged if row["verdict"] == "could_not_judge"} == NOT_JUDGED


@pytest.mark.kafka
def test_kafkas_log_and_our_own_of_the_same_requests_tell_the_same(log: Path, our_logs: list[Path]) -> None:
    found = findings(log)
    assert len(found) == len(REFUSED | TOLD)
    assert findings(*our_logs) == found


def _is_written(path: Path) -> bool:
    return any(b"the last one" in line and b"Completed" in line for line in path.read_bytes().split(b"\n"))


@pytest.mark.kafka
def test_the_planted_offenders_are_found_and_nothing_else(log: Path) -> None:
    _, judged = read(log)
    for verdict, expected in (("refused", REFUSED), ("notice", TOLD)):
        assert {(row["rule"], row["value"]) for row in judged if row["verdict"] == verdict} == expected
    assert {row["value"] for row in judged if row["verdict"] == "could_not_judge"} == NOT_JUDGED


@pytest.mark.kafka
def test_every_line_is_accounted_for_and_strict_finds_the_same(log: Path) -> None:
    data = log.read_bytes()
    copy = log.with_name("copy.log")  # the log itself still grows
    copy.write_bytes(data)
    (fast, judged), (strict, judged_strictly) = read(copy), read(copy, strict=True)
    assert judged == judged_strictly
    totals = {
        outcome: sum(row["count"] for row in fast if row["outcome"] == outcome)
        for outcome in ("read", "judged", "malformed", "ignored")
    }
    assert totals["read"] == data.count(b"\n") + (not data.endswith(b"\n"))
    assert totals["read"] == totals["judged"] + totals["malformed"] + totals["ignored"]
    assert totals["malformed"] <= 1  # the line being written
    assert sum(row["count"] for row in strict if row["outcome"] == "judged") == totals["judged"]


@pytest.mark.kafka
def test_says_who_it_was_and_shows_no_secret(log: Path) -> None:
    rows, judged = read(log)
    assert "never shown" not in str(rows) + str(judged)
    (group,) = (row for row in judged if row["rule"] == "GROUP_ID_TOO_LONG")
    who = ("api", "api_version", "client_id", "principal", "address", "listener", "software_name", "door")
    assert [group[name] for name in who] == [
        "HEARTBEAT", 4, "plain.client-1", "User:ANONYMOUS", "127.0.0.1", "PLAINTEXT", "unknown", "broker",
    ]  # fmt: skip
    assert group["first_seen"] is not None
