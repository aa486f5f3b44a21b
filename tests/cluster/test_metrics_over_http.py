"""`serve --metrics-port`: what a cluster tells of itself, under names that nothing can spoil."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from tests.cluster.processes import ServeProcess
from tests.cluster.quotas import ODD, set_quota
from tests.cluster.records import ask, batch, create_topic, fetch, produce
from tests.cluster.running import HOST
from tests.kafka.requests import Connection

from doorkeeper.rules.client_id import ClientIdForm, QuotaType, quota_metric_name, sanitize
from doorkeeper.wire.registry import Door


class Watched:
    """A cluster with a metrics port."""

    def __init__(self, serve: ServeProcess) -> None:
        self.serve = serve.wait_until_listening()
        assert serve.process.stdout is not None
        line = serve.process.stdout.readline().split()
        assert line[:2] == ["listening", "metrics"]
        self.url = f"http://{line[2]}"

    def connect(self, client_id: str) -> Connection:
        return Connection((HOST, self.serve.ports[Door.BROKER, 1]), client_id)

    def read(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return str(answer.read().decode())

    def objects(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = json.loads(self.read("/kafka-metrics"))
        return found


def watched(folder: Any, *arguments: str) -> ServeProcess:
    return ServeProcess("--port", "0", "--metrics-port", "0", "--data", str(folder), *arguments)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("data")) as serve:
        running = Watched(serve)
        with running.connect("admin") as admin:
            create_topic(admin, "topic")
        yield running


def use(cluster: Watched, client_id: str) -> None:
    with cluster.connect(client_id) as connection:
        assert produce(connection, "topic", batch(b"x" * 1000)).error_code == 0
        fetch(connection, "topic")


ASCII = [f"x{chr(code)}y" for code in range(0x20, 0x7F)]
NAMES = [ODD, *ASCII, "\x00", "\u2028", "%2A", "*", "<other>", "e\u0301", "é"]


def test_every_client_is_found_under_the_name_that_the_rulebook_gives(cluster: Watched) -> None:
    for name in NAMES:
        use(cluster, name)
    objects = cluster.objects()
    for name in NAMES:
        for kind in (QuotaType.PRODUCE, QuotaType.FETCH):
            assert objects[quota_metric_name(kind, client_id=name)]["byte-rate"] > 0
        assert objects[quota_metric_name(QuotaType.REQUEST, client_id=name)]["request-time"] > 0
        assert objects[f"doorkeeper:type=Client,user=ANONYMOUS,client-id={sanitize(name)}"]["bytes-in"] > 1000
    families = {one.name: one for one in openmetrics.text_string_to_metric_families(cluster.read("/metrics"))}  # type: ignore[no-untyped-call]
    labels = [sample.labels["client_id"] for sample in families["kafka_server_produce_byte_rate"].samples]
    assert {sanitize(name) for name in NAMES} <= set(labels)
    assert len(labels) == len(set(labels)), "no clash"


def test_tells_of_requests_connections_logs_and_groups(cluster: Watched) -> None:
    with cluster.connect("asking") as connection:
        ask(connection, 18, 3, client_software_name="my-client", client_software_version="1.2")
        ask(connection, 3, 9, topics=None)
        produce(connection, "topic", batch(b"x"))
        objects = cluster.objects()
        text = cluster.read("/metrics")
    assert objects["kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Metadata,version=9"]["Count"] >= 1
    assert objects["kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"]["Count"] >= 1
    assert objects["kafka.log:type=Log,name=Size,topic=topic,partition=0"]["Value"] > 0
    software = "clientSoftwareName=my-client,clientSoftwareVersion=1.2,listener=PLAINTEXT,networkProcessor=0"
    assert objects[f"kafka.server:type=socket-server-metrics,{software}"]["connections"] == 1
    counted = objects["kafka.server:type=socket-server-metrics,listener=PLAINTEXT,networkProcessor=0"]
    assert counted["connection-count"] >= 1
    assert objects["kafka.server:type=group-coordinator-metrics,protocol=consumer"]["group-count"] == 0
    assert objects["doorkeeper:type=ClientSeries"]["limit"] == 10_000
    assert 'kafka_log_log_size{topic="topic",partition="0"}' in text
    assert "doorkeeper_client_series_limit 10000.0" in text


def test_tells_which_quota_binds_and_for_how_long_it_throttled(cluster: Watched) -> None:
    name = f"bound {ODD}"
    with cluster.connect("admin") as admin:
        set_quota(admin, {"client-id": name}, producer_byte_rate=50.0)
    with cluster.connect(name) as connection:
        produce(connection, "topic", batch(b"x" * 2000))
        objects = cluster.objects()
    client = objects[f"doorkeeper:type=Client,user=ANONYMOUS,client-id={sanitize(name)}"]
    assert client["Produce-quota"] == 50.0
    assert client["Produce-quota-entity"] == f"client-id {sanitize(name)}"
    assert client["throttle-time-ms"] > 0
    assert client["connections"] == 1
    assert objects[quota_metric_name(QuotaType.PRODUCE, client_id=name)]["throttle-time"] > 0


def test_tells_what_the_doors_found(cluster: Watched) -> None:
    with cluster.connect("judged") as connection:
        ask(connection, 10, 3, key="g" * 300, key_type=0)
        objects = cluster.objects()
    name = "doorkeeper:type=Verdicts,identifier=group_id,request=FindCoordinator,mode=evaluate"
    assert objects[name]["Count"] == 1
    assert "doorkeeper_verdicts_total{" in cluster.read("/metrics")


def test_client_ids_can_be_quoted_as_later_kafkas_do(tmp_path: Any) -> None:
    with watched(tmp_path, "--override", "metric.client.id.form=quoted") as serve:
        cluster = Watched(serve)
        with cluster.connect(ODD) as connection:
            ask(connection, 3, 9, topics=[])
        objects = cluster.objects()
        assert quota_metric_name(QuotaType.REQUEST, client_id=ODD, form=ClientIdForm.QUOTED) in objects
        found = list(openmetrics.text_string_to_metric_families(cluster.read("/metrics")))  # type: ignore[no-untyped-call]
        assert any(sample.labels.get("client_id", "").startswith('"a b/c') for one in found for sample in one.samples)
        assert serve.stop() == 0


def test_another_form_is_refused(tmp_path: Any) -> None:
    with ServeProcess("--port", "0", "--data", str(tmp_path), "--override", "metric.client.id.form=raw") as serve:
        _, errors = serve.process.communicate(timeout=30)
        assert serve.process.returncode != 0
        assert "metric.client.id.form is url-encoded or quoted, not raw" in errors


def test_several_brokers_of_one_process_are_told_apart(tmp_path: Any) -> None:
    with watched(tmp_path, "--brokers", "2", "--format", "json") as serve:
        assert serve.process.stdout is not None
        told = json.loads(serve.process.stdout.readline())
        url = f"http://{told['metrics']['host']}:{told['metrics']['port']}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            families = list(openmetrics.text_string_to_metric_families(answer.read().decode()))  # type: ignore[no-untyped-call]
        counted = next(one for one in families if one.name == "kafka_server_socket_server_metrics_connection_count")
        assert {sample.labels["node"] for sample in counted.samples} == {"1", "2"}
