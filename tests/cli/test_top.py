"""`doorkeeper top`: clients from metrics to a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cluster.quotas import ODD, set_quota
from tests.cluster.records import batch, create_topic, produce
from tests.cluster.test_metrics_over_http import Watched, watched

from doorkeeper.cli import root
from doorkeeper.cli.top_clients import Client, parse_tags, read_clients, rows, show_bytes
from doorkeeper.rules.client_id import jmx_sanitize, sanitize


def client(name: str, **values: float) -> Client:
    usual: dict[str, Any] = dict.fromkeys(
        ("requests", "bytes_in", "bytes_out", "throttles", "throttle_time_ms", "connections"), 0.0
    )
    return Client(node="", user="u", client_id=name, **usual | values)


@pytest.mark.parametrize("name", [ODD, "a,b=c", 'q"uo\\te', "plain"])
def test_reads_object_names_whatever_clients_are_called(name: str) -> None:
    for shown in (sanitize(name), jmx_sanitize(name)):
        tags = parse_tags(f"doorkeeper:type=Client,user=alice,client-id={shown},node=1")[2]
        assert tags == {"user": "alice", "client-id": shown, "node": "1"}


def test_other_objects_are_passed_over() -> None:
    assert read_clients({"kafka.server:type=Produce,client-id=a": {"byte-rate": 1.0}, "nonsense": {}}) == []


def test_the_busiest_come_first_by_what_is_asked() -> None:
    now = [client("a", bytes_in=100, requests=5), client("b", bytes_in=300, requests=1, connections=3), client("c")]
    before = {one.key: one for one in (client("a"), client("b", bytes_in=290))}
    assert [row.client.client_id for row in rows(now, before, 2.0, "bytes")] == ["a", "b", "c"]
    assert [row.client.client_id for row in rows(now, before, 2.0, "connections")] == ["b", "a", "c"]
    assert [row.client.client_id for row in rows(now, before, 2.0, "name")] == ["a", "b", "c"]
    assert rows(now, before, 2.0, "bytes")[0].in_per_second == 50.0


def test_a_cluster_that_began_anew_has_no_negative_rates() -> None:
    (row,) = rows([client("a", requests=1)], {("", "u", "a"): client("a", requests=9)}, 1.0, "requests")
    assert row.requests_per_second == 0.0


def test_bytes_are_shown_short() -> None:
    assert [show_bytes(one) for one in (0, 999, 1000, 1_500_000, 2e13)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "20.0 TB",
    ]


def test_shows_who_is_throttled_and_by_which_quota(tmp_path: Path) -> None:
    with watched(tmp_path) as serve:
        cluster = Watched(serve)
        with cluster.connect("admin") as admin:
            create_topic(admin, "topic")
            set_quota(admin, {"client-id": ODD}, producer_byte_rate=100.0)
        with cluster.connect(ODD) as connection:
            produce(connection, "topic", batch(b"x" * 2000))
            port = cluster.url.rpartition(":")[2]
            arguments = ["top", "--metrics-port", port, "--interval", "0.1", "--sort", "throttle"]
            found = CliRunner().invoke(root, [*arguments, "--format", "json"], catch_exceptions=False)
            shown = CliRunner().invoke(root, [*arguments, "--once"], catch_exceptions=False)
        document = json.loads(found.stdout)
        first = document["clients"][0]
        assert document["version"] == 1
        assert (first["client_id"], first["user"], first["connections"]) == (sanitize(ODD), "ANONYMOUS", 1)
        assert first["throttle_time_ms"] > 0
        assert first["quotas"]["Produce"] == {"limit": 100.0, "entity": f"client-id {sanitize(ODD)}"}
        assert "100 B/s in" in shown.stdout


def test_says_when_there_is_no_such_port() -> None:
    found = CliRunner().invoke(root, ["top", "--metrics-port", "1", "--once"])
    assert found.exit_code == 3
    assert "http://127.0.0.1:1/kafka-metrics" in found.stderr
