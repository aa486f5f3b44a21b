"""Features: a new cluster's levels, and what may be changed to what."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import KAFKAS, NODE, OURS, after, broker, cluster, config, messages

from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.features import (
    ELR_VERSION,
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
    UpgradeType,
    bootstrap_records,
    decide_update_features,
    finalized_features,
    is_elr_enabled,
)
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.config_levels import load_levels
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion

UP, SAFE, UNSAFE = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


def update(image: MetadataImage, *updates: FeatureUpdateKey, **changes: Any) -> Decision[UpdateFeaturesResponse]:
    return decide_update_features(image, UpdateFeaturesRequest(updates, **changes), NODE)


def test_a_new_cluster_has_kafkas_default_levels() -> None:
    finalized = finalized_features(cluster())
    facts = load_levels().features
    assert finalized.pop("metadata.version") == 1000
    assert finalized == {
        name: row["default"] for name, row in facts.items() if name not in ("metadata.version", "kraft.version")
    }


@pytest.mark.parametrize(
    ("level", "features"),
    [
        (MetadataVersion.IBP_3_9_IV0, set()),
        (MetadataVersion.IBP_4_0_IV0, {"group.version"}),
        (MetadataVersion.IBP_4_0_IV3, {"group.version", "transaction.version"}),
        (MetadataVersion.IBP_4_1_IV0, {"group.version", "transaction.version", ELR_VERSION}),
    ],
)
def test_an_older_level_has_fewer_features(level: MetadataVersion, features: set[str]) -> None:
    image = cluster(level=level)
    assert set(image.features.finalized) == features
    assert bool(image.configs.of(4, "")) is is_elr_enabled(image)


def test_with_elr_a_new_cluster_fixes_min_insync_replicas() -> None:
    node = ControllerNode(100, {"min.insync.replicas": "2"})
    assert messages(Decision(bootstrap_records(OURS, node), None))[-1] == config(4, "", "min.insync.replicas", "2")


def test_changes_a_feature_level() -> None:
    image = after(cluster(), update(cluster(), FeatureUpdateKey("group.version", 0, SAFE)))
    assert "group.version" not in image.features.finalized
    image = after(image, update(image, FeatureUpdateKey("group.version", 1)))
    assert image.features.finalized["group.version"] == 1


def test_answers_for_each_feature_only_if_all_went_well() -> None:
    good = FeatureUpdateKey("group.version", 0, SAFE)
    response = update(cluster(), good, FeatureUpdateKey("share.version", 1)).response
    assert [(one.feature, one.error_code) for one in response.results] == [("group.version", 0), ("share.version", 0)]
    decision = update(cluster(), good, FeatureUpdateKey("share.version", 9))
    assert decision.records == ()
    assert decision.response.results == ()


PREFIX = "The update failed for all features since the following feature had an error: "


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            FeatureUpdateKey("group.version", 1, 0),
            (
                "Invalid update version 1 for feature group.version. "
                "The controller does not support the given upgrade type."
            ),
        ),
        (
            FeatureUpdateKey("group.version", 1, 4),
            (
                "Invalid update version 1 for feature group.version. "
                "The controller does not support the given upgrade type."
            ),
        ),
        (
            FeatureUpdateKey("group.version", -1),
            "Invalid update version -1 for feature group.version. A feature version cannot be less than 0.",
        ),
        (
            FeatureUpdateKey("group.version", 2),
            "Invalid update version 2 for feature group.version. Local controller 100 only supports versions 0-1",
        ),
        (
            FeatureUpdateKey("nobody.version", 1),
            "Invalid update version 1 for feature nobody.version. Local controller 100 does not support this feature.",
        ),
        (
            FeatureUpdateKey("group.version", 0),
            (
                "Invalid update version 0 for feature group.version. Can't downgrade the version of this feature "
                "without setting the upgrade type to either safe or unsafe downgrade."
            ),
        ),
        (
            FeatureUpdateKey("kraft.version", 0, SAFE),
            (
                "Invalid update version 0 for feature kraft.version. "
                "The version of this feature can't be changed: the quorum of an embedded cluster is fixed."
            ),
        ),
        (
            FeatureUpdateKey("metadata.version", 500, SAFE),
            "Invalid metadata.version 500. Valid versions are from 7 to 1000.",
        ),
        (
            FeatureUpdateKey("metadata.version", 29, SAFE),
            (
                "Unsupported metadata.version downgrade from 1000 to 29. "
                "Refusing to perform the requested downgrade because it might delete metadata information."
            ),
        ),
        (
            FeatureUpdateKey("metadata.version", 29, UNSAFE),
            (
                "Unsupported metadata.version downgrade from 1000 to 29. "
                "Unsafe metadata downgrade is not supported in this version."
            ),
        ),
    ],
)
def test_refuses_and_says_why(key: FeatureUpdateKey, message: str) -> None:
    decision = update(cluster(), key)
    assert decision.records == ()
    assert decision.response.error_code == ErrorCode.invalid_update_version
    assert decision.response.error_message == PREFIX + message


def test_refuses_to_downgrade_to_a_newer_level() -> None:
    response = update(cluster(level=KAFKAS), FeatureUpdateKey("metadata.version", 1000, SAFE)).response
    assert response.error_message is not None
    assert response.error_message.endswith("Can't downgrade to a newer version.")


def test_refuses_a_level_that_a_broker_does_not_support() -> None:
    old = types.SupportedFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)
    image = cluster(broker(3, features=(old,)), level=KAFKAS)
    response = update(image, FeatureUpdateKey("metadata.version", 1000)).response
    assert response.error_message is not None
    assert response.error_message.endswith("Broker 3 only supports versions 7-30")


def test_shows_a_range_without_an_end_as_kafka_does() -> None:
    eager = types.SupportedFeature(name="metadata.version", min_supported_version=31, max_supported_version=32767)
    image = cluster(broker(3, features=(eager,)), level=KAFKAS)
    response = update(image, FeatureUpdateKey("metadata.version", 30)).response
    assert response.error_message is not None
    assert response.error_message.endswith("Broker 3 only supports versions 31+")


def test_asks_no_controllers_where_the_level_does_not_know_them() -> None:
    image = cluster(types.RegisterControllerRecord(controller_id=7), level=MetadataVersion.IBP_3_6_IV2)
    assert update(image, FeatureUpdateKey("metadata.version", 15)).records


def test_refuses_a_level_that_another_controller_does_not_support() -> None:
    alone = types.SupportedFeature(name="metadata.version", min_supported_version=30, max_supported_version=30)
    image = cluster(types.RegisterControllerRecord(controller_id=7, features=(alone,)), level=KAFKAS)
    response = update(image, FeatureUpdateKey("metadata.version", 1000)).response
    assert response.error_message is not None
    assert response.error_message.endswith("Controller 7 only supports versions 30")


def test_refuses_elr_below_the_level_that_it_needs() -> None:
    image = cluster(level=MetadataVersion.IBP_4_0_IV0)
    response = update(image, FeatureUpdateKey(ELR_VERSION, 1)).response
    assert response.error_message is not None
    assert response.error_message.endswith(
        f"{ELR_VERSION} could not be set to 1 because it depends on metadata.version level 23"
    )
    both = (FeatureUpdateKey(ELR_VERSION, 1), FeatureUpdateKey("metadata.version", 23))
    assert is_elr_enabled(after(image, update(image, *both)))


def test_turning_elr_on_makes_min_insync_replicas_one_for_the_cluster() -> None:
    image = cluster(
        config(4, "1", "min.insync.replicas", "1"),
        config(4, "2", "num.io.threads", "4"),
        level=MetadataVersion.IBP_4_0_IV3,
    )
    image = after(image, update(image, FeatureUpdateKey(ELR_VERSION, 1)))
    assert image.configs.of(4, "") == {"min.insync.replicas": "1"}
    assert image.configs.of(4, "1") == {}
    again = update(image, FeatureUpdateKey(ELR_VERSION, 1))
    assert [type(one) for one in messages(again)] == [types.FeatureLevelRecord]


def test_validate_only_stores_nothing() -> None:
    decision = update(cluster(), FeatureUpdateKey("group.version", 0, SAFE), validate_only=True)
    assert decision.records == ()
    assert decision.response.error_code == ErrorCode.none


@pytest.mark.parametrize(
    "key",
    [
        FeatureUpdateKey("metadata.version", 30, SAFE),
        FeatureUpdateKey("metadata.version", 30, UNSAFE),
        FeatureUpdateKey("metadata.version", 30, allow_downgrade=True),
    ],
)
def test_kafkas_level_can_be_picked_and_static_configs_go_to_memory(key: FeatureUpdateKey) -> None:
    static = (types.BrokerStaticConfig(name="num.io.threads", value="3"),)
    image = cluster(broker(1, static_configs=static), broker(2))
    decision = update(image, key)
    assert decision.response.static_configs == {1: {"num.io.threads": "3"}}
    lower = after(image, decision)
    assert lower.features.metadata_version is KAFKAS
    assert lower.cluster.brokers[1].static_configs == {}
    assert not lower.cluster.brokers[1].fenced
    lost: list[str] = []
    list(lower.to_records(lost.append))
    assert lost == [], "a snapshot at the new level loses nothing"


def test_going_up_loses_nothing() -> None:
    image = cluster(broker(1), level=KAFKAS)
    decision = update(image, FeatureUpdateKey("metadata.version", 1000))
    assert decision.response.static_configs is None
    assert after(image, decision).features.metadata_version is OURS


def test_the_same_level_again_is_no_change_of_kraft_version() -> None:
    assert update(cluster(), FeatureUpdateKey("kraft.version", 1)).records == ()
    assert update(cluster(), FeatureUpdateKey("kraft.version", 1)).response.error_code == ErrorCode.none
