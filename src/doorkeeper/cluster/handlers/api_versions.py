"""ApiVersions (18): what this door serves, and the features of node and cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.features import SUPPORTED_FEATURES, finalized_features
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.wire import api_versions
from doorkeeper.wire.registry import Registry, VersionRange

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = api_versions.SERVED
_SUPPORTED: Final = {name: VersionRange(int(one.lowest), int(one.highest)) for name, one in SUPPORTED_FEATURES.items()}


def at_broker(broker: BrokerRole, call: Call) -> Any:
    return _answer(call, broker.registry, broker.image)


def at_controller(controller: ControllerRole, call: Call) -> Any:
    return _answer(call, controller.registry, controller.image)


def _answer(call: Call, registry: Registry, image: MetadataImage) -> Any:
    known = image.features.metadata_version is not None
    features = api_versions.Features(
        supported=_SUPPORTED,
        finalized=finalized_features(image) if known else {},
        finalized_epoch=image.provenance.offset if known else api_versions.UNKNOWN_EPOCH,
    )
    return api_versions.answer(call.version, call.body, registry, features)
