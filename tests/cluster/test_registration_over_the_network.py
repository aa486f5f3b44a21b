"""Brokers that join, stay away and come back, over the controller's door with Kafka's own requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from kio.schema.broker_registration.v4.request import BrokerRegistrationRequest, Feature, Listener
from kio.schema.errors import ErrorCode
from tests.cluster.running import RunningCluster, free_ports
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Operation, make_request

from doorkeeper.cluster.metadata_files import MetadataFiles
from doorkeeper.cluster.server_config import read_node_config
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record
from doorkeeper.wire.metadata.types import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from doorkeeper.wire.registry import Door

HEARTBEAT = 63
FEATURES = tuple(
    Feature(name=name, min_supported_version=low, max_supported_version=high)  # type: ignore[arg-type]
    for name, low, high in (
        ("metadata.version", 7, 1000),
        ("kraft.version", 0, 1),
        ("transaction.version", 0, 2),
        ("group.version", 0, 1),
        ("eligible.leader.replicas.version", 0, 1),
        ("share.version", 0, 1),
        ("streams.version", 0, 1),
    )
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path / "data") as running:
        yield running


def register_with_kio(cluster: RunningCluster, broker_id: int, incarnation: UUID, **changed: Any) -> Any:
    """A version 4 registration, made with kio's own class."""
    controller = cluster.node().controller
    assert controller is not None
    fields: dict[str, Any] = {
        "broker_id": broker_id,
        "cluster_id": controller.cluster_id,
        "incarnation_id": incarnation,
        "listeners": (Listener(name="PLAINTEXT", host="h", port=1, security_protocol=0),),  # type: ignore[arg-type]
        "features": FEATURES,
        "rack": None,
        "log_dirs": (UUID(int=broker_id << 64),),
    }
    with cluster.connect(Door.CONTROLLER) as connection:
        return connection.call(BrokerRegistrationRequest(**(fields | changed)))


def written_records(folder: Path) -> list[VersionedRecord]:
    return [
        read_metadata_record(record.value)
        for _, batch in MetadataFiles(folder).poll()
        if not batch.header.is_control
        for record in batch.records
    ]


def register_records(folder: Path) -> list[VersionedRecord]:
    return [one for one in written_records(folder) if isinstance(one.message, RegisterBrokerRecord)]


def test_version_4_registration_by_kios_class_is_welcome_and_judged_by_the_request_alone(
    cluster: RunningCluster,
) -> None:
    answer = register_with_kio(cluster, 7, uuid4())
    assert answer.error_code is ErrorCode.none
    assert answer.broker_epoch > 0
    with cluster.connect(Door.CONTROLLER) as connection:
        # 1 is less than half of the default 8, which nobody has said that broker 7 has.
        lax, strict, invalid = wire.incremental_alter_configs(
            connection,
            [
                Change(wire.BROKER, "7", (Operation("num.io.threads", "1"),)),
                Change(wire.BROKER, "1", (Operation("num.io.threads", "1"),)),
                Change(wire.BROKER, "", (Operation("num.io.threads", "none"),)),
            ],
        )
    assert (lax.code, strict.code, invalid.code) == (0, ErrorCode.invalid_request, ErrorCode.invalid_request)


def test_another_incarnation_under_the_same_id_is_refused_while_the_first_has_a_session(
    cluster: RunningCluster,
) -> None:
    assert register_with_kio(cluster, 1, uuid4()).error_code is ErrorCode.duplicate_broker_registration


def test_another_cluster_is_refused(cluster: RunningCluster) -> None:
    answer = register_with_kio(cluster, 7, uuid4(), cluster_id="another")
    assert answer.error_code is ErrorCode.inconsistent_cluster_id


def test_stale_epoch_is_told_in_the_heartbeat(cluster: RunningCluster) -> None:
    with cluster.connect(Door.CONTROLLER) as connection:
        request = make_request(
            HEARTBEAT, 1, broker_id=1, broker_epoch=0, current_metadata_offset=0, want_fence=False, want_shut_down=False
        )
        assert connection.call(request).error_code is ErrorCode.stale_broker_epoch


def test_broker_that_is_silent_is_fenced_after_its_session(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides={"broker.session.timeout.ms": "100"}) as cluster:
        controller = cluster.node().controller
        assert controller is not None
        registered = register_with_kio(cluster, 7, uuid4())
        with cluster.connect(Door.CONTROLLER) as connection:
            request = make_request(
                HEARTBEAT,
                1,
                broker_id=7,
                broker_epoch=registered.broker_epoch,
                current_metadata_offset=registered.broker_epoch,
                want_fence=False,
                want_shut_down=False,
            )
            assert connection.call(request).is_fenced is False
        cluster.wait_until(lambda: controller.image.cluster.brokers[7].fenced)


def test_a_loop_that_stood_still_for_an_hour_fences_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunningCluster(tmp_path, overrides={"broker.heartbeat.interval.ms": "100"}) as cluster:
        controller = cluster.node().controller
        assert controller is not None

        def contact() -> int | None:
            return controller.tracker.sessions[1].last_contact_ms

        async def wake_up_late() -> int | None:
            """A timer is the first that runs after a stall; heartbeats have yet to be read."""
            now = controller._steady_ms() + 3_600_000
            monkeypatch.setattr(controller, "_steady_ms", lambda: now)
            controller._end_sessions()
            return contact()

        before = cluster.run(wake_up_late())
        assert before is not None
        cluster.wait_until(lambda: contact() not in (None, before))
        changes = [one.message for one in written_records(tmp_path)]
        assert not [one for one in changes if isinstance(one, BrokerRegistrationChangeRecord) and one.fenced > 0]


def test_static_configs_are_in_a_version_5_record_and_count_after_a_restart(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides={"num.io.threads": "20"}):
        pass
    records = register_records(tmp_path)
    assert {one.version for one in records} == {5}
    message = records[-1].message
    assert isinstance(message, RegisterBrokerRecord)
    configs = {one.name: one.value for one in message.static_configs}
    assert configs["num.io.threads"] == "20"
    assert configs["process.roles"] == "broker,controller"
    assert "offsets.topic.replication.factor" not in configs


def test_at_kafkas_level_the_record_has_version_4_and_static_configs_still_count(tmp_path: Path) -> None:
    overrides = {"metadata.version": "4.3-IV0", "num.io.threads": "20"}
    with (
        RunningCluster(tmp_path, overrides=overrides) as cluster,
        cluster.connect(Door.CONTROLLER) as connection,
    ):
        (outcome,) = wire.incremental_alter_configs(
            connection, [Change(wire.BROKER, "1", (Operation("num.io.threads", "9"),))]
        )
        assert outcome.message is not None
        assert "half the current value 20" in outcome.message
    assert {one.version for one in register_records(tmp_path)} == {4}


def test_controller_restarted_judges_with_the_static_configs_of_a_broker_that_is_away(tmp_path: Path) -> None:
    ports = free_ports(2)
    voters = {"controller.quorum.voters": f"100@127.0.0.1:{ports[0]}", "controller.listener.names": "CONTROLLER"}
    plain = voters | {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}
    controller = read_node_config(
        plain
        | {
            "node.id": "100",
            "process.roles": "controller",
            "listeners": f"CONTROLLER://127.0.0.1:{ports[0]}",
            "log.dirs": str(tmp_path / "controller"),
        }
    )
    broker = read_node_config(
        plain
        | {
            "node.id": "3",
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{ports[1]}",
            "log.dirs": str(tmp_path / "broker"),
            "num.io.threads": "20",
        }
    )
    with RunningCluster(tmp_path, configs=[controller, broker]):
        pass
    with (
        RunningCluster(tmp_path, configs=[controller]) as cluster,
        cluster.connect(Door.CONTROLLER) as connection,
    ):
        low, fair = wire.incremental_alter_configs(
            connection,
            [
                Change(wire.BROKER, "3", (Operation("num.io.threads", "9"),)),
                Change(wire.BROKER, "", (Operation("num.io.threads", "10"),)),
            ],
        )
    assert (low.code, fair.code) == (ErrorCode.invalid_request, ErrorCode.none)


def test_broker_follows_by_snapshot_when_the_log_has_been_trimmed(tmp_path: Path) -> None:
    small = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    with RunningCluster(tmp_path, brokers=2, overrides=small) as cluster:
        with cluster.connect(Door.CONTROLLER) as connection:
            for number in range(60):
                change = Change(wire.GROUP, f"g{number}", (Operation("consumer.session.timeout.ms", "50000"),))
                assert wire.incremental_alter_configs(connection, [change])[0].code == 0
        controller, follower = cluster.node().controller, cluster.node(2).broker
        assert controller is not None
        assert follower is not None
        assert controller.quorum.log.start_offset > 0
    with RunningCluster(tmp_path, brokers=2, overrides=small) as cluster:
        controller, follower = cluster.node().controller, cluster.node(2).broker
        assert controller is not None
        assert follower is not None
        expected = controller.image.configs
        cluster.wait_until(lambda: follower.image.configs == expected)
