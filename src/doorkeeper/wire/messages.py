"""Which class stands for which API and version: kio's, ours, and the versions that KIP-1233 adds.

An API's *newest* version is the highest that Kafka 4.3.1 knows; where the proposals add one (the same fields, a new
error code) it is made at first use. Whether a version is offered to anybody is `registry`'s business.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kio.index import KioIndexError, load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

from doorkeeper.errors import LocalProtocolError
from doorkeeper.wire.broker_registration import (
    BROKER_REGISTRATION,
    BrokerRegistrationRequestV5,
    BrokerRegistrationRequestV6,
    BrokerRegistrationResponseV5,
    BrokerRegistrationResponseV6,
)
from doorkeeper.wire.cloning import at_version
from doorkeeper.wire.memory import remembered

PRODUCE: Final = 0
FETCH: Final = 1
METADATA: Final = 3
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
INIT_PRODUCER_ID: Final = 22
SASL_AUTHENTICATE: Final = 36

_OURS: Final[dict[tuple[int, int], tuple[type[Any], type[Any]]]] = {
    (BROKER_REGISTRATION, 5): (BrokerRegistrationRequestV5, BrokerRegistrationResponseV5),
    (BROKER_REGISTRATION, 6): (BrokerRegistrationRequestV6, BrokerRegistrationResponseV6),
}
_UNSTABLE: Final = {INIT_PRODUCER_ID: 6}
"""First version that Kafka 4.3.1 knows and does not offer (`latestVersionUnstable` in its schema)."""


class MessageClasses(NamedTuple):
    """The two halves of one version of one API."""

    request: type[Any]
    response: type[Any]


API_KEYS: Final = frozenset(api_key_map)
"""Every API of Kafka 4.3.1."""


def api_name(api_key: int) -> str:
    """Kafka's name of an API, as its request log spells it; `UNKNOWN(999)` for a number it does not use."""
    name = api_key_map.get(api_key)
    return f"UNKNOWN({api_key})" if name is None else name.upper()


def api_class_name(api_key: int) -> str:
    """Kafka's name of an API in metrics: `ListOffsets`."""
    name = api_key_map.get(api_key)
    return f"Unknown{api_key}" if name is None else name.title().replace("_", "")


def oldest_version(api_key: int) -> int:
    """The lowest version that Kafka 4.3.1 has a schema for."""
    return min(_kafka_versions(api_key))


def newest_version(api_key: int) -> int:
    """The highest version that Kafka 4.3.1 has a schema for, unstable ones included."""
    return max(_kafka_versions(api_key))


def newest_stable_version(api_key: int) -> int:
    """The highest version that Kafka 4.3.1 offers by default."""
    unstable = _UNSTABLE.get(api_key)
    return newest_version(api_key) if unstable is None else unstable - 1


def bumped_version(api_key: int) -> int:
    """The version that can carry KIP-1233's code: one more than Kafka's newest, 6 for BrokerRegistration."""
    return 6 if api_key == BROKER_REGISTRATION else newest_version(api_key) + 1


@remembered
def message_classes(api_key: int, version: int) -> MessageClasses:
    """The dataclasses of a request and of its response.

    :raises LocalProtocolError: when neither Kafka 4.3.1 nor we know that version of that API.
    """
    ours = _OURS.get((api_key, version))
    if ours is not None:
        return MessageClasses(*ours)
    try:
        return MessageClasses(load_request_schema(api_key, version), load_response_schema(api_key, version))
    except KioIndexError:
        pass
    if is_known(api_key, version):
        newest = message_classes(api_key, version - 1)
        return MessageClasses(at_version(newest.request, version), at_version(newest.response, version))
    raise LocalProtocolError(f"there is no version {version} of {api_name(api_key)}")


def is_known(api_key: int, version: int) -> bool:
    """Whether `message_classes` has an answer; imports none of kio's modules, of which there are hundreds."""
    name = api_key_map.get(api_key)
    if name is None:
        return False
    if version in schema_name_map[name] or (api_key, version) in _OURS:
        return True
    return api_key != API_VERSIONS and version == newest_version(api_key) + 1


@remembered
def is_flexible(api_key: int, version: int) -> bool:
    """Whether the request is led by a version 2 header, and its body has tagged fields (KIP-482)."""
    header_version: int = message_classes(api_key, version).request.__header_schema__.__version__
    return header_version >= 2


def _kafka_versions(api_key: int) -> list[int]:
    name = api_key_map.get(api_key)
    if name is None:
        raise LocalProtocolError(f"there is no API with key {api_key}")
    return [version for version, kinds in schema_name_map[name].items() if EntityType.request in kinds]
