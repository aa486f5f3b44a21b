"""Registration: who may join, under which epoch, and what is kept of a broker's static configs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import (
    CLUSTER_ID,
    KAFKAS,
    after,
    broker,
    cluster,
    directory_of,
    messages,
    only,
    topic,
)

from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.features import SUPPORTED_FEATURES
from doorkeeper.cluster.controller.registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    RegisteredFeature,
    RegisteredListener,
    ReportedConfig,
    decide_register_broker,
    decide_register_controller,
)
from doorkeeper.cluster.controller.sessions import HeartbeatTracker
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.config_schema import BROKER, load_schema
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion

LISTENER = RegisteredListener("PLAINTEXT", "localhost", 9092, 0)
FEATURES = tuple(RegisteredFeature(name, int(one.lowest), int(one.highest)) for name, one in SUPPORTED_FEATURES.items())


def features_with(**changes: tuple[int, int]) -> tuple[RegisteredFeature, ...]:
    renamed = {name.replace("_", "."): bounds for name, bounds in changes.items()}
    kept = tuple(one for one in FEATURES if one.name not in renamed)
    return (*kept, *(RegisteredFeature(name, *bounds) for name, bounds in renamed.items()))


def request(**changes: Any) -> BrokerRegistrationRequest:
    values: dict[str, Any] = {
        "broker_id": 1,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": UUID(int=77),
        "listeners": (LISTENER,),
        "features": FEATURES,
        "log_dirs": (directory_of(1),),
    }
    return BrokerRegistrationRequest(**(values | changes))


def decide(
    image: MetadataImage, asked: BrokerRegistrationRequest, tracker: HeartbeatTracker | None = None, now_ms: int = 0
) -> Decision[BrokerRegistrationResponse]:
    return decide_register_broker(
        image,
        asked,
        cluster_id=CLUSTER_ID,
        next_offset=60,
        tracker=tracker or HeartbeatTracker(),
        now_ms=now_ms,
    )


def test_registers_a_new_broker_fenced_under_the_next_offset() -> None:
    decision = decide(cluster(), request(rack="r1"))
    assert decision.response.broker_epoch == 60
    registered = after(cluster(), decision).cluster.brokers[1]
    assert (registered.epoch, registered.fenced, registered.rack) == (60, True, "r1")
    assert registered.listeners["PLAINTEXT"].port == 9092
    assert registered.directories == (directory_of(1),)


def test_decides_the_same_twice() -> None:
    assert decide(cluster(), request()) == decide(cluster(), request())


@pytest.mark.parametrize(
    ("level", "version"),
    [
        (MetadataVersion.DOORKEEPER, 5),
        (KAFKAS, 4),
        (MetadataVersion.IBP_4_2_IV1, 3),
        (MetadataVersion.IBP_3_6_IV0, 2),
        (MetadataVersion.IBP_3_3_IV3, 1),
    ],
)
def test_writes_the_record_version_that_the_metadata_version_knows(level: MetadataVersion, version: int) -> None:
    image = cluster(level=level)
    decision = decide(image, request(static_configs=(ReportedConfig("num.io.threads", "3"),), cordoned_log_dirs=()))
    assert only(decision).version == version
    assert after(image, decision).cluster.brokers[1].epoch == 60


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (
            {"cluster_id": "other"},
            ErrorCode.inconsistent_cluster_id,
            f"Expected cluster ID {CLUSTER_ID}, but got cluster ID other",
        ),
        (
            {"is_migrating_zk_broker": True},
            ErrorCode.broker_id_not_registered,
            "Controller does not support registering ZK brokers.",
        ),
        ({"incarnation_id": None}, ErrorCode.invalid_registration, "No incarnation ID specified in request"),
        ({"log_dirs": ()}, ErrorCode.invalid_registration, "No directories specified in request"),
        ({"log_dirs": (None,)}, ErrorCode.invalid_registration, "Reserved directory ID in request"),
        ({"log_dirs": (UUID(int=99),)}, ErrorCode.invalid_registration, "Reserved directory ID in request"),
        (
            {"log_dirs": (directory_of(1), directory_of(1))},
            ErrorCode.invalid_registration,
            "Duplicate directory ID in request",
        ),
        (
            {"log_dirs": (directory_of(2),)},
            ErrorCode.invalid_registration,
            f"Broker 2 is already registered with directory {directory_of(2)}",
        ),
        ({"listeners": ()}, ErrorCode.invalid_registration, "No listeners specified in request"),
        (
            {"listeners": (LISTENER, LISTENER)},
            ErrorCode.invalid_registration,
            "Duplicate listener PLAINTEXT in request",
        ),
        (
            {"listeners": (RegisteredListener("X", "h", 1, 4),)},
            ErrorCode.invalid_registration,
            "Unknown security protocol 4 in listener X",
        ),
        (
            {"features": FEATURES + FEATURES[:1]},
            ErrorCode.invalid_registration,
            f"Duplicate feature {FEATURES[0].name} in request",
        ),
        (
            {"features": features_with(metadata_version=(7, 30))},
            ErrorCode.unsupported_version,
            (
                "Unable to register because the broker does not support finalized version 1000 of metadata.version. "
                "The broker wants a version between 7 and 30, inclusive."
            ),
        ),
        (
            {"features": features_with(group_version=(0, 0))},
            ErrorCode.unsupported_version,
            (
                "Unable to register because the broker does not support finalized version 1 of group.version. "
                "The broker wants a version between 0 and 0, inclusive."
            ),
        ),
        (
            {"features": tuple(one for one in FEATURES if one.name != "group.version")},
            ErrorCode.unsupported_version,
            (
                "Unable to register because the broker does not support finalized version 1 of group.version. "
                "The broker wants a version between 0 and 0, inclusive."
            ),
        ),
        (
            {"features": tuple(one for one in FEATURES if one.name != "metadata.version")},
            ErrorCode.invalid_registration,
            "Request features do not contain 'metadata.version'",
        ),
        (
            {"features": features_with(new_thing=(1, 2))},
            ErrorCode.unsupported_version,
            (
                "Unable to register because the broker does not support finalized version 0 of new.thing. "
                "The broker wants a version between 1 and 2, inclusive."
            ),
        ),
    ],
)
def test_refuses_with_kafkas_code_and_says_why(changes: dict[str, Any], code: ErrorCode, message: str) -> None:
    decision = decide(cluster(broker(2)), request(**changes))
    assert decision.records == ()
    assert decision.response.broker_epoch == -1
    assert (decision.response.error_code, decision.response.error_message) == (code, message)


def test_takes_the_first_directory_id_that_is_not_reserved_and_a_feature_nobody_uses() -> None:
    decision = decide(cluster(), request(log_dirs=(UUID(int=100),), features=features_with(new_thing=(0, 2))))
    assert decision.response.error_code == ErrorCode.none


def test_needs_no_directories_where_the_level_has_none() -> None:
    assert decide(cluster(level=MetadataVersion.IBP_3_6_IV0), request(log_dirs=())).records


@pytest.mark.parametrize(("now_ms", "refused"), [(1100, True), (1101, False)])
def test_refuses_a_second_broker_of_the_same_id_while_the_first_is_alive(now_ms: int, refused: bool) -> None:
    image = cluster(broker(1), *topic("orders", 1))
    tracker = HeartbeatTracker(100).registered(1, 11, 5).touched(1, 11, 6, 1000)
    decision = decide(image, request(), tracker, now_ms)
    if refused:
        assert decision.response.error_code == ErrorCode.duplicate_broker_registration
        assert decision.records == ()
        return
    image = after(image, decision)
    assert image.cluster.brokers[1].incarnation_id == UUID(int=77)
    assert image.topics.by_name["orders"].partitions[0].leader == -1
    assert isinstance(messages(decision)[-1], types.RegisterBrokerRecord), "the registration is written last"


def test_the_same_incarnation_keeps_its_epoch_and_state_while_it_is_alive() -> None:
    image = cluster(broker(1, in_controlled_shutdown=True), *topic("orders", 1))
    tracker = HeartbeatTracker(100).registered(1, 11, 5).touched(1, 11, 6, 1000)
    decision = decide(image, request(incarnation_id=UUID(int=501), rack="new"), tracker, 1000)
    assert decision.response.broker_epoch == 11
    registered = after(image, decision).cluster.brokers[1]
    assert (registered.rack, registered.fenced, registered.in_controlled_shutdown) == ("new", False, True)
    assert len(decision.records) == 1


STATIC = (
    ReportedConfig("num.io.threads", "3"),
    ReportedConfig("ssl.keystore.password", "hush"),
    ReportedConfig("log.retention.hours", None),
    ReportedConfig("advertised.of.a.plugin", "x"),
)


def test_keeps_only_the_static_configs_that_the_rulebook_reads() -> None:
    decision = decide(cluster(), request(static_configs=STATIC))
    assert decision.response.static_configs == {"num.io.threads": "3"}
    assert set(decision.response.dropped_configs) == {
        "ssl.keystore.password",
        "log.retention.hours",
        "advertised.of.a.plugin",
    }
    assert after(cluster(), decision).cluster.brokers[1].static_configs == {"num.io.threads": "3"}
    assert "hush" not in repr(request(static_configs=STATIC))


def test_never_keeps_a_sensitive_key() -> None:
    everything = tuple(ReportedConfig(name, "1") for name in load_schema(BROKER))
    kept = decide(cluster(), request(static_configs=everything)).response.static_configs
    assert "num.io.threads" in kept
    assert not [name for name in kept if load_schema(BROKER)[name].sensitive]


def test_at_kafkas_level_static_configs_go_to_the_callers_memory_only() -> None:
    image = cluster(level=KAFKAS)
    decision = decide(image, request(static_configs=STATIC))
    assert decision.response.static_configs == {"num.io.threads": "3"}
    assert after(image, decision).cluster.brokers[1].static_configs == {}


def test_registering_again_replaces_the_static_configs() -> None:
    image = after(cluster(), decide(cluster(), request(static_configs=STATIC)))
    image = after(image, decide(image, request(static_configs=(ReportedConfig("num.io.threads", "5"),))))
    assert image.cluster.brokers[1].static_configs == {"num.io.threads": "5"}
    image = after(image, decide(image, request(incarnation_id=UUID(int=78))))
    assert image.cluster.brokers[1].static_configs == {}


def controller_request(**changes: Any) -> ControllerRegistrationRequest:
    values: dict[str, Any] = {
        "controller_id": 100,
        "incarnation_id": UUID(int=5),
        "listeners": (RegisteredListener("CONTROLLER", "localhost", 9093, 0),),
        "features": FEATURES,
    }
    return ControllerRegistrationRequest(**(values | changes))


def test_registers_a_controller() -> None:
    image = after(cluster(), decide_register_controller(cluster(), controller_request()))
    assert image.cluster.controllers[100].listeners["CONTROLLER"].port == 9093


@pytest.mark.parametrize("changes", [{"incarnation_id": None}, {"listeners": ()}])
def test_refuses_a_controller_without_an_incarnation_or_a_listener(changes: dict[str, Any]) -> None:
    decision = decide_register_controller(cluster(), controller_request(**changes))
    assert decision.response.error_code == ErrorCode.invalid_registration


def test_refuses_a_controller_where_the_level_has_no_room_for_it() -> None:
    image = cluster(level=MetadataVersion.IBP_3_6_IV2)
    decision = decide_register_controller(image, controller_request())
    assert decision.response.error_code == ErrorCode.unsupported_version
