"""BrokerRegistration versions 5 and 6, which kio does not have, in kio's manner.

Version 5 is Kafka's development branch: a tagged, nullable `CordonedLogDirs`. Version 6 is KAFKA-19931's:
`StaticConfigs`. Responses have the fields of version 4.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.broker_registration.v4.request import BrokerRegistrationRequest as RequestV4
from kio.schema.broker_registration.v4.request import Feature, Listener
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse as ResponseV4
from kio.schema.request_header.v2.header import RequestHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16

from doorkeeper.wire.cloning import at_version

BROKER_REGISTRATION = 62

__all__ = (
    "BROKER_REGISTRATION",
    "BrokerRegistrationRequestV5",
    "BrokerRegistrationRequestV6",
    "BrokerRegistrationResponseV5",
    "BrokerRegistrationResponseV6",
    "Feature",
    "Listener",
    "RequestV4",
    "StaticConfig",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationRequestV5(RequestV4):
    """What a broker says of itself, with the log directories that take no new partitions."""

    __version__: ClassVar[i16] = i16(5)
    cordoned_log_dirs: tuple[uuid.UUID | None, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 0}, default=None
    )
    """Null until the broker knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticConfig:
    """One key of the broker's `server.properties` that judging a config change needs."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(BROKER_REGISTRATION)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationRequestV6(BrokerRegistrationRequestV5):
    """What a broker says of itself, with the static configs that the controller judges changes by."""

    __version__: ClassVar[i16] = i16(6)
    static_configs: tuple[StaticConfig, ...] = ()


BrokerRegistrationResponseV5 = at_version(ResponseV4, 5)
BrokerRegistrationResponseV6 = at_version(ResponseV4, 6)
