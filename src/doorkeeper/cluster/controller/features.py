"""Finalized features, and what may become of them. From FeatureControlManager, QuorumFeatures and Feature.

One rule is ours: from our own metadata.version down to a level that Kafka calls its newest nothing is lost but the
brokers' static configs in the log, and those stay in the controller's memory. So that step is allowed, safe or unsafe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.controller_node import CLUSTER_DEFAULT, ControllerNode, cluster_configs
from doorkeeper.cluster.controller.decision import Decision, Failure
from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.features import KRAFT_VERSION
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import VersionRange
from doorkeeper.rules.config_levels import load_levels
from doorkeeper.wire.metadata.levels import FEATURE_NAME, MINIMUM_METADATA_VERSION, MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ConfigRecord, FeatureLevelRecord

ELR_VERSION: Final = "eligible.leader.replicas.version"
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
MAX_INT16: Final = 32767
WENT_WELL: Final = "NONE"
"""What Kafka says of an update that it made, in the place of a message."""

_DISABLED: Final = VersionRange(0, 0)

_BOOTSTRAP: Final[Mapping[str, Mapping[int, MetadataVersion]]] = {
    "transaction.version": {1: MetadataVersion.IBP_4_0_IV2, 2: MetadataVersion.IBP_4_0_IV2},
    "group.version": {1: MetadataVersion.IBP_4_0_IV0},
    ELR_VERSION: {1: MetadataVersion.IBP_4_1_IV0},
    "share.version": {1: MetadataVersion.IBP_4_2_IV0},
    "streams.version": {1: MetadataVersion.IBP_4_2_IV1},
}
"""From which metadata.version on a new cluster has a level (FeatureVersion.bootstrapMetadataVersion)."""

_DEPENDENCIES: Final[Mapping[tuple[str, int], Mapping[str, int]]] = {
    (ELR_VERSION, 1): {FEATURE_NAME: MetadataVersion.IBP_4_0_IV1},
}

_CHANGES_METADATA: Final = frozenset(
    {
        MetadataVersion.IBP_3_3_IV3,
        MetadataVersion.IBP_3_4_IV0,
        MetadataVersion.IBP_3_5_IV2,
        MetadataVersion.IBP_3_6_IV1,
        MetadataVersion.IBP_3_6_IV2,
        MetadataVersion.IBP_3_7_IV0,
        MetadataVersion.IBP_3_7_IV2,
        MetadataVersion.IBP_4_0_IV1,
        MetadataVersion.IBP_4_3_IV0,
    }
)
"""Levels below which a record or a field does not exist (MetadataVersion.didMetadataChange); ours is not among them."""


def _supported_features() -> dict[str, VersionRange]:
    ranges = {name: VersionRange(row["min"], row["max"]) for name, row in load_levels().features.items()}
    return ranges | {FEATURE_NAME: VersionRange(MINIMUM_METADATA_VERSION, MetadataVersion.DOORKEEPER)}


SUPPORTED_FEATURES: Final[Mapping[str, VersionRange]] = _supported_features()
"""What every node of this release supports."""


class UpgradeType(IntEnum):
    """FeatureUpdate.UpgradeType."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdateKey:
    feature: str
    max_version_level: int
    upgrade_type: int = UpgradeType.UPGRADE
    allow_downgrade: bool = False
    """Version 0's way to say SAFE_DOWNGRADE."""


@dataclass(frozen=True, slots=True)
class UpdateFeaturesRequest:
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class UpdatableFeatureResult:
    feature: str
    error_code: int = ErrorCode.none
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateFeaturesResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = None
    results: tuple[UpdatableFeatureResult, ...] = ()
    """Versions 0 and 1, and only if all went well."""
    static_configs: Mapping[int, Mapping[str, str | None]] | None = None
    """What left the log when our own metadata.version was left: for the caller's memory."""


def finalized_features(image: MetadataImage) -> dict[str, int]:
    """Every finalized level by feature, `metadata.version` first."""
    return {FEATURE_NAME: int(image.features.require_metadata_version()), **image.features.finalized}


def is_elr_enabled(image: MetadataImage) -> bool:
    """Whether eligible leader replicas (KIP-966) are on."""
    return image.features.finalized.get(ELR_VERSION, 0) > 0


def default_level(feature: str, level: MetadataVersion) -> int:
    """The level that a feature has in a new cluster of this metadata.version (Feature.defaultLevel)."""
    return max((number for number, since in _BOOTSTRAP[feature].items() if since <= level), default=0)


def bootstrap_records(level: MetadataVersion, node: ControllerNode) -> tuple[VersionedRecord, ...]:
    """What a new cluster's log begins with: its metadata.version, the other features, and what ELR needs."""
    records = [_feature_record(FEATURE_NAME, level)]
    for feature in sorted(_BOOTSTRAP):
        default = default_level(feature, level)
        if default:
            records.append(_feature_record(feature, default))
    if default_level(ELR_VERSION, level):
        records.append(_min_insync_replicas_record(CLUSTER_DEFAULT, str(node.integer(MIN_INSYNC_REPLICAS))))
    return tuple(records)


def decide_update_features(
    image: MetadataImage,
    request: UpdateFeaturesRequest,
    node: ControllerNode,
    *,
    supported: Mapping[str, VersionRange] = SUPPORTED_FEATURES,
    kraft_version: int = 1,
) -> Decision[UpdateFeaturesResponse]:
    """All updates or none; the answer names the first that may not be."""
    updates = {one.feature: one for one in request.feature_updates}
    proposed = finalized_features(image) | {one.feature: one.max_version_level for one in updates.values()}
    finalized = finalized_features(image) | {KRAFT_VERSION: kraft_version}
    records: list[VersionedRecord] = []
    for update in updates.values():
        failure = _check_update(image, update, node, supported, finalized.get(update.feature, 0), proposed)
        if failure is not None:
            message = f"The update failed for all features since the following feature had an error: {failure.message}"
            return Decision((), UpdateFeaturesResponse(failure.code, message))
        if update.feature != KRAFT_VERSION:
            records.append(_feature_record(update.feature, update.max_version_level))
    results = tuple(UpdatableFeatureResult(one.feature, error_message=WENT_WELL) for one in request.feature_updates)
    if request.validate_only:
        return Decision((), UpdateFeaturesResponse(results=results))
    lost = _static_configs_lost(image, updates.get(FEATURE_NAME))
    if ELR_VERSION in updates and updates[ELR_VERSION].max_version_level > 0:
        records = [*_elr_safety_records(image, node), *records]
    if lost is not None:
        records += _records_without_static_configs(image, MetadataVersion(updates[FEATURE_NAME].max_version_level))
    return Decision(tuple(records), UpdateFeaturesResponse(results=results, static_configs=lost))


def _check_update(
    image: MetadataImage,
    update: FeatureUpdateKey,
    node: ControllerNode,
    supported: Mapping[str, VersionRange],
    current: int,
    proposed: Mapping[str, int],
) -> Failure | None:
    feature, level = update.feature, update.max_version_level
    reason = (
        _reason_of_type(update)
        or _reason_not_supported(image, feature, level, node, supported)
        or _reason_of_direction(level, current, _upgrade_type(update))
    )
    if reason is None and feature == FEATURE_NAME:
        return _check_metadata_version(MetadataVersion(current), level, _upgrade_type(update))
    if reason is None and feature == KRAFT_VERSION and level != current:
        reason = "The version of this feature can't be changed: the quorum of an embedded cluster is fixed."
    reason = reason or _reason_of_dependencies(feature, level, proposed)
    return None if reason is None else _invalid(f"Invalid update version {level} for feature {feature}. {reason}")


def _upgrade_type(update: FeatureUpdateKey) -> int:
    return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type


def _reason_of_type(update: FeatureUpdateKey) -> str | None:
    if _upgrade_type(update) not in set(UpgradeType):
        return "The controller does not support the given upgrade type."
    return "A feature version cannot be less than 0." if update.max_version_level < 0 else None


def _reason_not_supported(
    image: MetadataImage,
    feature: str,
    level: int,
    node: ControllerNode,
    supported: Mapping[str, VersionRange],
) -> str | None:
    cluster = image.cluster
    nodes = [(f"Local controller {node.id}", supported)]
    nodes += [(f"Broker {key}", cluster.brokers[key].supported_features) for key in sorted(cluster.brokers)]
    if image.features.require_metadata_version().has_controller_registration:
        others = sorted(key for key in cluster.controllers if key != node.id)
        nodes += [(f"Controller {key}", cluster.controllers[key].supported_features) for key in others]
    for who, features in nodes:
        allowed = features.get(feature, _DISABLED)
        if not allowed.lowest <= level <= allowed.highest:
            if allowed.highest == 0:
                return f"{who} does not support this feature."
            return f"{who} only supports versions {_show_range(allowed)}"
    return None


def _show_range(allowed: VersionRange) -> str:
    if allowed.lowest == allowed.highest:
        return str(int(allowed.lowest))
    if allowed.highest == MAX_INT16:
        return f"{int(allowed.lowest)}+"
    return f"{int(allowed.lowest)}-{int(allowed.highest)}"


def _reason_of_direction(level: int, current: int, upgrade_type: int) -> str | None:
    if level < current and upgrade_type == UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if level > current and upgrade_type != UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    return None


def _reason_of_dependencies(feature: str, level: int, proposed: Mapping[str, int]) -> str | None:
    for other, needed in _DEPENDENCIES.get((feature, level), {}).items():
        if proposed.get(other, 0) < needed:
            return f"{feature} could not be set to {level} because it depends on {other} level {int(needed)}"
    return None


def _check_metadata_version(current: MetadataVersion, level: int, upgrade_type: int) -> Failure | None:
    if level not in set(MetadataVersion):
        lowest, highest = int(MINIMUM_METADATA_VERSION), int(max(MetadataVersion))
        return _invalid(f"Invalid metadata.version {level}. Valid versions are from {lowest} to {highest}.")
    if not any(level < changing <= current for changing in _CHANGES_METADATA):
        return None
    reason = (
        "Unsafe metadata downgrade is not supported in this version."
        if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE
        else "Refusing to perform the requested downgrade because it might delete metadata information."
    )
    return _invalid(f"Unsupported metadata.version downgrade from {int(current)} to {level}. {reason}")


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_update_version, message)


def _feature_record(name: str, level: int) -> VersionedRecord:
    return VersionedRecord(FeatureLevelRecord(name=name, feature_level=int(level)), 0)


def _min_insync_replicas_record(resource_name: str, value: str | None) -> VersionedRecord:
    record = ConfigRecord(
        resource_type=ConfigResourceType.BROKER, resource_name=resource_name, name=MIN_INSYNC_REPLICAS, value=value
    )
    return VersionedRecord(record, 0)


def _elr_safety_records(image: MetadataImage, node: ControllerNode) -> list[VersionedRecord]:
    """With ELR on, min.insync.replicas is one for the cluster (maybeGenerateElrSafetyRecords)."""
    records = []
    if MIN_INSYNC_REPLICAS not in cluster_configs(image):
        records.append(_min_insync_replicas_record(CLUSTER_DEFAULT, str(node.integer(MIN_INSYNC_REPLICAS))))
    for resource, configs in sorted(image.configs.resources.items()):
        if resource.type == ConfigResourceType.BROKER and resource.name and MIN_INSYNC_REPLICAS in configs:
            records.append(_min_insync_replicas_record(resource.name, None))
    return records


def _static_configs_lost(
    image: MetadataImage, update: FeatureUpdateKey | None
) -> dict[int, Mapping[str, str | None]] | None:
    if update is None or MetadataVersion(update.max_version_level).has_static_configs:
        return None
    if not image.features.require_metadata_version().has_static_configs:
        return None
    return {broker.id: broker.static_configs for broker in image.cluster.brokers.values() if broker.static_configs}


def _records_without_static_configs(image: MetadataImage, level: MetadataVersion) -> list[VersionedRecord]:
    """Registrations as the lower level can hold them, so that the image is what a snapshot of that level says."""
    return [
        replace(broker, static_configs={}).to_record(level, lambda _: None)
        for broker in image.cluster.brokers.values()
        if broker.static_configs
    ]
