"""ApiVersions, version 0 to 4: how a client learns what it may ask (KIP-35, KIP-511, KIP-584).

Its answer is the one that must be readable by a client which knows nothing yet: the response header stays at version 0,
and a request of an unknown version is answered at version 0 with UNSUPPORTED_VERSION and the versions to use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.messages import API_VERSIONS, message_classes
from doorkeeper.wire.registry import Door, Registry, Served, VersionRange
from doorkeeper.wire.schema import shape_of

SERVED: Final = Served(API_VERSIONS, 0, 4, frozenset(Door))
UNKNOWN_EPOCH: Final = -1
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@dataclass(frozen=True, slots=True)
class Features:
    """What a node can do and what the cluster has agreed on (KIP-584)."""

    supported: Mapping[str, VersionRange] = field(default_factory=lambda: MappingProxyType({}))
    finalized: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    finalized_epoch: int = UNKNOWN_EPOCH


def is_valid_software(text: str) -> bool:
    """Whether a client software name or version is one that Kafka accepts (ApiVersionsRequest.java)."""
    return _SOFTWARE.fullmatch(text) is not None


def check_request(request: Any) -> ErrorCode:
    """INVALID_REQUEST for a version 3+ request whose software name or version is not acceptable, else NONE."""
    named = (getattr(request, "client_software_name", None), getattr(request, "client_software_version", None))
    lawful = all(text is None or is_valid_software(text) for text in named)
    return ErrorCode.NONE if lawful else ErrorCode.INVALID_REQUEST


def api_versions_response(version: int, registry: Registry, features: Features) -> Any:
    """The answer to a lawful request of a known version."""
    response = message_classes(API_VERSIONS, version).response
    entry = _nested(response, "api_keys")
    keys = tuple(entry(api_key=key, min_version=low, max_version=high) for key, (low, high) in registry.advertised())
    return _response(version, ErrorCode.NONE, keys, **_features(version, response, features))


def answer(version: int, request: Any, registry: Registry, features: Features) -> Any:
    """The answer to a request of a known version, lawful or not."""
    code = check_request(request)
    return (
        api_versions_response(version, registry, features) if code is ErrorCode.NONE else error_response(version, code)
    )


def common_version(ours: VersionRange, theirs: VersionRange | None) -> int | None:
    """The highest version that both sides speak."""
    if theirs is None:
        return None
    version = min(ours.highest, theirs.highest)
    return version if version >= max(ours.lowest, theirs.lowest) else None


def error_response(version: int, code: ErrorCode) -> Any:
    """The answer to a request that is refused; lists nothing."""
    return _response(version, code, ())


def unsupported_version_response(registry: Registry) -> Any:
    """The answer, at version 0, to a request of a version not served: UNSUPPORTED_VERSION and the range (KIP-511)."""
    entry = _nested(message_classes(API_VERSIONS, 0).response, "api_keys")
    lowest, highest = registry.get(API_VERSIONS) or (SERVED.lowest, SERVED.highest)
    return _response(
        0, ErrorCode.UNSUPPORTED_VERSION, (entry(api_key=API_VERSIONS, min_version=lowest, max_version=highest),)
    )


def _response(version: int, code: ErrorCode, keys: tuple[Any, ...], **features: Any) -> Any:
    response = message_classes(API_VERSIONS, version).response
    throttle = {"throttle_time": timedelta(0)} if version >= 1 else {}
    return response(error_code=code, api_keys=keys, **throttle, **features)


def _features(version: int, response: type[Any], features: Features) -> dict[str, Any]:
    if version < 3:
        return {}
    supported = _nested(response, "supported_features")
    finalized = _nested(response, "finalized_features")
    return {
        "supported_features": tuple(
            supported(name=name, min_version=low, max_version=high)
            for name, (low, high) in features.supported.items()
            # Older clients can't read a lowest level of 0 (KAFKA-17492).
            if version >= 4 or low > 0
        ),
        "finalized_features": tuple(
            finalized(name=name, max_version_level=level, min_version_level=level)
            for name, level in features.finalized.items()
            if level != 0
        ),
        "finalized_features_epoch": features.finalized_epoch,
    }


def _nested(entity: type[Any], name: str) -> type[Any]:
    """The class of the elements of an array field."""
    (nested,) = (shape_of(one).entity for one in fields(entity) if one.name == name)
    assert nested is not None
    return nested
