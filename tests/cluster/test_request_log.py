"""The request log of a running cluster."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.processes import ServeProcess
from tests.cluster.quotas import ODD, set_quota
from tests.cluster.records import ask, batch, create_topic, fetch, produce
from tests.cluster.running import HOST
from tests.kafka.requests import Connection

from doorkeeper.cluster.exchange import Exchange
from doorkeeper.cluster.messages import make_request, make_response
from doorkeeper.cluster.request_log import RequestLog, loggable
from doorkeeper.net.line_log import LineLog
from doorkeeper.net.rotated_file import Rotation
from doorkeeper.net.service import Peer
from doorkeeper.wire.codec import decode_request, encode_request
from doorkeeper.wire.registry import Door

METADATA, PRODUCE = 3, 0
START = "DEBUG Completed request:"


def completed(line: str) -> dict[str, Any]:
    date, rest = line.split("] ", 1)
    datetime.strptime(date, "[%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    assert rest.startswith(START)
    assert rest.endswith(" (kafka.request.logger)")
    parsed: dict[str, Any] = json.loads(rest.removeprefix(START).removesuffix(" (kafka.request.logger)"))
    return parsed


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [completed(line) for line in path.read_text("utf-8").rstrip("\n").split("\n") if line]


def exchange(api_key: int, version: int, values: dict[str, Any], client_id: str | None = ODD) -> Exchange:
    frame = encode_request(make_request(api_key, version, values), 1, client_id)
    peer = Peer("127.0.0.1", 1, "PLAINTEXT", lambda _: None, connection_id="a-b-0-1")
    return Exchange(decode_request(frame), frame, peer, 0)


def test_logs_what_clients_do_under_any_name(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ServeProcess("--port", "0", "--data", str(tmp_path / "data"), "--request-log", str(log)) as serve:
        serve.wait_until_listening()
        address = (HOST, serve.ports[Door.BROKER, 1])
        with Connection(address, ODD) as connection, Connection(address, None) as nameless:
            ask(connection, 18, 3, client_software_name="my-client", client_software_version="1.2")
            create_topic(connection, "topic")
            set_quota(connection, {"client-id": ODD}, producer_byte_rate=100.0)
            produce(connection, "topic", batch(b"x" * 2000))
            ask(nameless, METADATA, 9, topics=[])
            fetch(connection, "topic")
        assert serve.stop() == 0
    lines = lines_of(log / "kafka-request-1-PLAINTEXT.log")
    named = {one["requestHeader"]["requestApiKeyName"]: one for one in lines}
    assert list(named) == ["API_VERSIONS", "CREATE_TOPICS", "ALTER_CLIENT_QUOTAS", "PRODUCE", "METADATA", "FETCH"]
    assert {one["requestHeader"]["clientId"] for one in lines} == {ODD, ""}
    assert named["PRODUCE"]["clientInformation"] == {"softwareName": "my-client", "softwareVersion": "1.2"}
    assert named["PRODUCE"]["throttleTimeMs"] == named["PRODUCE"]["response"]["throttleTimeMs"] > 0
    assert named["PRODUCE"]["request"]["topicData"][0]["partitionData"][0]["recordsSizeInBytes"] > 2000
    assert named["FETCH"]["response"]["responses"][0]["partitions"][0]["recordsSizeInBytes"] > 2000
    assert named["METADATA"]["clientInformation"]["softwareName"] == "unknown"
    assert named["CREATE_TOPICS"]["connection"].startswith(f"{HOST}:{address[1]}-{HOST}:")
    forwarded = [one for one in lines_of(log / "kafka-request-1-CONTROLLER.log") if one["isForwarded"]]
    assert [one["requestHeader"]["requestApiKeyName"] for one in forwarded] == ["CREATE_TOPICS", "ALTER_CLIENT_QUOTAS"]
    assert {one["requestHeader"]["clientId"] for one in forwarded} == {ODD}


def test_logs_one_listener_only_if_told_so(tmp_path: Path) -> None:
    arguments = ("--request-log", str(tmp_path / "log"), "--request-log-listener", "CONTROLLER")
    with ServeProcess("--port", "0", "--data", str(tmp_path / "data"), *arguments) as serve:
        serve.wait_until_listening()
        assert serve.stop() == 0
    assert [one.name for one in (tmp_path / "log").iterdir()] == ["kafka-request-1-CONTROLLER.log"]


def test_a_listener_that_is_not_there_is_refused(tmp_path: Path) -> None:
    arguments = ("--request-log", str(tmp_path / "log"), "--request-log-listener", "PLAIN")
    with ServeProcess("--port", "0", "--data", str(tmp_path / "data"), *arguments) as serve:
        _, errors = serve.process.communicate(timeout=30)
    assert serve.process.returncode == 3
    assert "can't log requests of PLAIN: the listeners are CONTROLLER, PLAINTEXT" in errors
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("sample", ["0", "1.5", "much"])
def test_a_share_that_is_none_is_refused(tmp_path: Path, sample: str) -> None:
    with ServeProcess("--data", str(tmp_path), "--request-log", str(tmp_path), "--request-log-sample", sample) as serve:
        serve.process.communicate(timeout=30)
        assert serve.process.returncode == 2


def test_takes_the_share_that_is_asked_for(tmp_path: Path) -> None:
    draws = iter([0.0, 0.24, 0.25, 0.9, 0.1])
    lines = LineLog(tmp_path / "log")
    log = RequestLog(lines, "PLAINTEXT", "PLAINTEXT", sample=0.25, draw=lambda: next(draws))
    for number in range(5):
        log(exchange(METADATA, 9, {"topics": []}, str(number)), None)
    lines.close()
    assert [one["requestHeader"]["clientId"] for one in lines_of(tmp_path / "log")] == ["0", "1", "4"]


def test_old_files_are_gzipped_and_hold_whole_lines(tmp_path: Path) -> None:
    lines = LineLog(tmp_path / "log", Rotation(max_bytes=2000))
    log = RequestLog(lines, "PLAINTEXT", "PLAINTEXT")
    for number in range(10):
        log(exchange(METADATA, 9, {"topics": []}, f"{number}\n"), None)
        lines.flush()
    lines.close()
    packed = sorted(tmp_path.glob("log.*.gz"))
    assert packed
    found = [line for one in packed for line in gzip.decompress(one.read_bytes()).decode().rstrip("\n").split("\n")]
    found += (tmp_path / "log").read_text("utf-8").rstrip("\n").split("\n")
    assert [completed(line)["requestHeader"]["clientId"] for line in found] == [f"{number}\n" for number in range(10)]


def test_a_request_without_an_answer_has_an_empty_one(tmp_path: Path) -> None:
    lines = LineLog(tmp_path / "log")
    log = RequestLog(lines, "PLAINTEXT", "PLAINTEXT")
    shown = json.loads(log.show(exchange(PRODUCE, 9, {"acks": 0, "topic_data": []}), None))
    assert shown["response"] == ""
    answer = make_response(METADATA, 9, {"topics": []})
    assert json.loads(log.show(exchange(METADATA, 9, {"topics": []}), answer))["response"]["topics"] == []
    lines.close()


def test_what_cannot_be_shown_harms_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = LineLog(tmp_path / "log")
    RequestLog(lines, "PLAINTEXT", "PLAINTEXT")(exchange(METADATA, 9, {"topics": []}), object())
    lines.close()
    assert "METADATA can't be shown" in caplog.text
    assert (tmp_path / "log").read_text() == ""


def test_salted_passwords_are_withheld() -> None:
    values = {
        "upsertions": [{"name": "alice", "mechanism": 1, "iterations": 4096, "salt": b"s", "salted_password": b"p"}]
    }
    body = loggable(51, make_request(51, 0, values))
    assert (body.upsertions[0].salted_password, body.upsertions[0].salt) == (b"", b"s")


def test_times_add_up(tmp_path: Path) -> None:
    lines = LineLog(tmp_path / "log")
    waited = exchange(METADATA, 9, {"topics": []})
    waited.total_ns, waited.local_ns = 5_000_000, 1_250_000
    shown = json.loads(RequestLog(lines, "PLAINTEXT", "PLAINTEXT").show(waited, None))
    assert (shown["totalTimeMs"], shown["localTimeMs"], shown["remoteTimeMs"]) == (5.0, 1.25, 3.75)
    lines.close()
