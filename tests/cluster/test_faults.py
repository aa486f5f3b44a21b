"""What goes wrong around a running node, and what its clients are told."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Operation, make_request

from doorkeeper.cluster import segment
from doorkeeper.cluster.principals import read_principal, write_principal
from doorkeeper.errors import RemoteProtocolError, StorageError
from doorkeeper.wire.codec import encode_request
from doorkeeper.wire.registry import Door

GOOD = Change(wire.GROUP, "readers", (Operation("consumer.session.timeout.ms", "50000"),))
ENVELOPE, FETCH, FETCH_SNAPSHOT, DESCRIBE_CLIENT_QUOTAS = 58, 1, 59, 48
METADATA_TOPIC_ID = UUID(int=1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path) as running:
        yield running


def answer_of(cluster: RunningCluster, door: Door) -> tuple[int, str | None]:
    with cluster.connect(door) as connection:
        (outcome,) = wire.incremental_alter_configs(connection, [GOOD])
    return outcome.code, outcome.message


@pytest.mark.parametrize("door", list(Door))
def test_full_disk_refuses_writes_clearly_while_reads_go_on(
    cluster: RunningCluster, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = cluster.node().controller
    assert controller is not None

    def full(_descriptor: int, _data: bytes | memoryview) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(segment, "write_all", full)
        told = "The storage of this node fails: No space left on device"  # and not where its files lie
        assert answer_of(cluster, door) == (ErrorCode.kafka_storage_error, told)
        with cluster.connect(door) as connection:
            assert wire.describe_configs(connection, wire.BROKER, "1").error_code is ErrorCode.none
    assert answer_of(cluster, door) == (0, None)


def test_garbage_closes_its_own_connection_and_no_other(cluster: RunningCluster) -> None:
    for door in Door:
        with cluster.connect(door) as good:
            with socket.create_connection(cluster.address(door)) as garbage:
                garbage.settimeout(10)
                garbage.sendall(b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n")
                assert garbage.recv(100) == b""
            assert wire.api_versions(good)


@pytest.mark.parametrize("door", list(Door))
def test_request_of_ten_thousand_resources_has_a_verdict_for_each(cluster: RunningCluster, door: Door) -> None:
    session = "consumer.session.timeout.ms"
    changes = [
        Change(wire.GROUP, f"{door}-{number}", (Operation(session, "46000" if number % 2 else "x"),))
        for number in range(10_000)
    ]
    with cluster.connect(door) as connection:
        outcomes = wire.incremental_alter_configs(connection, changes)
    assert [(one.resource_name, one.code) for one in outcomes] == [
        (f"{door}-{number}", 0 if number % 2 else 40) for number in range(10_000)
    ]
    with cluster.connect() as connection:
        stored = {one for one in wire.list_config_resources(connection, wire.GROUP) if one.startswith(f"{door}-")}
    assert stored == {f"{door}-{number}" for number in range(1, 10_000, 2)}


def test_fault_in_a_handler_is_told_as_unknown_server_error_without_its_text(
    cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = cluster.node().controller
    assert controller is not None

    async def broken(_decide: Any) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(controller, "decide", broken)
    with cluster.connect(Door.CONTROLLER) as connection:
        (outcome,) = wire.incremental_alter_configs(connection, [GOOD])
    assert (outcome.code, outcome.message) == (-1, None)


def envelope(cluster: RunningCluster, data: bytes, principal: bytes | None = None, address: bytes = bytes(4)) -> Any:
    sent = write_principal("User:alice") if principal is None else principal
    request = make_request(ENVELOPE, 0, request_data=data, request_principal=sent, client_host_address=address)
    with cluster.connect(Door.CONTROLLER) as connection:
        return connection.call(request)


def change_frame() -> bytes:
    resource = {
        "resource_type": wire.GROUP,
        "resource_name": "readers",
        "configs": [{"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "50000"}],
    }
    body = make_request(wire.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
    return encode_request(body, 7, "client")


def test_envelope_carries_a_change_and_its_answer(cluster: RunningCluster) -> None:
    response = envelope(cluster, change_frame())
    assert response.error_code is ErrorCode.none
    assert struct.unpack(">i", response.response_data[:4]) == (7,)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"principal": b""}, ErrorCode.principal_deserialization_failure),
        ({"principal": b"\0\1\1\1\0\0"}, ErrorCode.principal_deserialization_failure),
        ({"address": b"abc"}, ErrorCode.invalid_request),
        ({"data": b"short"}, ErrorCode.unsupported_version),
        (
            {"data": encode_request(make_request(DESCRIBE_CLIENT_QUOTAS, 1, components=[], strict=False), 1, None)},
            ErrorCode.invalid_request,
        ),
        ({"data": change_frame()[:-3]}, ErrorCode.unsupported_version),
    ],
    ids=["no principal", "unknown principal", "address", "no request", "not forwardable", "cut off"],
)
def test_bad_envelope_is_told_why(cluster: RunningCluster, changed: dict[str, Any], code: ErrorCode) -> None:
    arguments: dict[str, Any] = {"data": change_frame()} | changed
    assert envelope(cluster, **arguments).error_code is code


def test_principals_survive_the_wire() -> None:
    for principal in ("User:ANONYMOUS", "User:CN=a,O=é", "Group:a:b"):
        assert read_principal(write_principal(principal)) == principal


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\5ab", b"\0\0\0\0", b"\0\0\2\xff\2a\0\0"])
def test_bytes_that_are_no_principal_are_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        read_principal(data)


def fetch(cluster: RunningCluster, **changed: Any) -> Any:
    partition = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": 0,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1_000_000,
    } | {key: value for key, value in changed.items() if key != "cluster_id"}
    request = make_request(
        FETCH,
        17,
        max_wait=timedelta(0),
        min_bytes=0,
        topics=[{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}],
        forgotten_topics_data=[],
        **({"cluster_id": changed["cluster_id"]} if "cluster_id" in changed else {}),
    )
    with cluster.connect(Door.CONTROLLER) as connection:
        return connection.call(request)


def test_metadata_log_is_fetched_from_its_start(cluster: RunningCluster) -> None:
    partition = fetch(cluster).responses[0].partitions[0]
    assert partition.error_code is ErrorCode.none
    assert partition.high_watermark > 0
    assert partition.records


def test_follower_that_is_ahead_is_told_where_the_log_ends(cluster: RunningCluster) -> None:
    partition = fetch(cluster, fetch_offset=10_000).responses[0].partitions[0]
    assert partition.diverging_epoch.end_offset == partition.high_watermark


@pytest.mark.parametrize(("epoch", "code"), [(0, ErrorCode.fenced_leader_epoch), (99, ErrorCode.unknown_leader_epoch)])
def test_follower_of_another_epoch_is_told(cluster: RunningCluster, epoch: int, code: ErrorCode) -> None:
    assert fetch(cluster, current_leader_epoch=epoch).responses[0].partitions[0].error_code is code


def test_follower_of_another_cluster_is_refused(cluster: RunningCluster) -> None:
    assert fetch(cluster, cluster_id="another").error_code is ErrorCode.inconsistent_cluster_id


def test_snapshot_that_does_not_exist_is_told(cluster: RunningCluster) -> None:
    partition = {
        "partition": 0,
        "current_leader_epoch": -1,
        "snapshot_id": {"end_offset": 5, "epoch": 1},
        "position": 0,
    }
    request = make_request(FETCH_SNAPSHOT, 1, topics=[{"name": "__cluster_metadata", "partitions": [partition]}])
    with cluster.connect(Door.CONTROLLER) as connection:
        answered = connection.call(request).topics[0].partitions[0]
    assert answered.error_code is ErrorCode.snapshot_not_found


def test_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    with RunningCluster(tmp_path):
        pass
    with (
        pytest.raises(StorageError, match="belongs to node 1, and this is node 2"),
        RunningCluster(
            tmp_path,
            overrides={"node.id": "2", "controller.quorum.voters": "2@127.0.0.1:0"},
        ),
    ):
        pass
