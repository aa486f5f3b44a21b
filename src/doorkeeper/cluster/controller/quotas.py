"""Changes to client quotas (KIP-546, KIP-599, KIP-612). From ClientQuotaControlManager.

A client id is any string (KIP-190); it is stored as it is. Where Kafka's own code forgets what it checked (the same
entity or key twice), the item is refused whole and nothing of it is stored.
"""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import Decision, Failure, RecordBatch
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.quotas import QuotaEntityKey, quota_entity_key
from doorkeeper.rules.config_schema import ConfigType, Schema, load_quota_schema
from doorkeeper.rules.javatext import INT_MAX, LONG_MAX, SHORT_MAX
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ClientQuotaRecord, QuotaEntity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)
FRACTION_TOLERANCE: Final = 1e-6  # what Kafka still takes for a whole number

_LARGEST: Final = {
    ConfigType.SHORT: (float(SHORT_MAX), "a SHORT"),
    ConfigType.INT: (float(INT_MAX), "an INT"),
    ConfigType.LONG: (float(LONG_MAX), "a LONG"),
}


@dataclass(frozen=True, slots=True)
class EntityData:
    entity_type: str
    entity_name: str | None
    """None: the default of its type."""


@dataclass(frozen=True, slots=True)
class OpData:
    key: str
    value: float
    remove: bool


@dataclass(frozen=True, slots=True)
class QuotaEntry:
    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]


@dataclass(frozen=True, slots=True)
class AlterClientQuotasRequest:
    entries: tuple[QuotaEntry, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class QuotaResult:
    error_code: int
    error_message: str | None
    entity: tuple[EntityData, ...]


@dataclass(frozen=True, slots=True)
class AlterClientQuotasResponse:
    entries: tuple[QuotaResult, ...]


def is_ip_literal(text: str) -> bool:
    """Whether a text is an IP address; a name is for a resolver, and resolving is I/O."""
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def decide_alter_client_quotas(
    image: MetadataImage,
    request: AlterClientQuotasRequest,
    *,
    is_resolvable: Callable[[str], bool] = is_ip_literal,
) -> Decision[AlterClientQuotasResponse]:
    """Change the quotas of each entity, or say why not. `is_resolvable` answers for names of ip entities."""
    batch = RecordBatch()
    times = Counter(_key_of(entry) for entry in request.entries)
    results = []
    for entry in request.entries:
        failure = _check_entity(entry, times[_key_of(entry)] > 1)
        if failure is None:
            schema = _schema_of(entry, is_resolvable)
            failure = schema if isinstance(schema, Failure) else _check_ops(entry, schema)
        if failure is None:
            failure = batch.add(_records_of(image, entry))
        code, message = (ErrorCode.none, None) if failure is None else (failure.code, failure.message)
        results.append(QuotaResult(code, message, entry.entity))
    return Decision(
        batch.records(validate_only=request.validate_only),
        AlterClientQuotasResponse(tuple(results)),
    )


def _key_of(entry: QuotaEntry) -> QuotaEntityKey:
    return quota_entity_key((part.entity_type, part.entity_name) for part in entry.entity)


def _check_entity(entry: QuotaEntry, repeated: bool) -> Failure | None:
    if repeated:
        return _invalid(f"Ignoring duplicate entity {_show(entry)}")
    if not entry.entity:
        return _invalid("Invalid empty client quota entity")
    seen = set()
    for part in entry.entity:
        if part.entity_type in seen:
            return _invalid(f"Invalid client quota entity, duplicate entity entry {part.entity_type}")
        seen.add(part.entity_type)
        if part.entity_type not in ENTITY_TYPES:
            return _invalid(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            return _invalid(f"Empty {part.entity_type} not supported")
    return None


def _schema_of(entry: QuotaEntry, is_resolvable: Callable[[str], bool]) -> Schema | Failure:
    names: Mapping[str, str | None] = {part.entity_type: part.entity_name for part in entry.entity}
    if IP not in names:
        return load_quota_schema("client")
    if len(names) > 1:
        return _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    address = names[IP]
    if address is not None and not is_ip_literal(address) and not is_resolvable(address):
        return _invalid(f"{address} is not a valid IP or resolvable host.")
    return load_quota_schema("ip")


def _check_ops(entry: QuotaEntry, schema: Schema) -> Failure | None:
    seen = set()
    for op in entry.ops:
        if op.key in seen:
            return _invalid(f"Duplicate quota key {op.key} not updating quota for this entity {_show(entry)}")
        seen.add(op.key)
    for op in entry.ops:
        failure = None if op.remove else _check_value(schema, op.key, op.value)
        if failure is not None:
            return failure
    return None


def _check_value(schema: Schema, key: str, value: float) -> Failure | None:
    definition = schema.get(key)
    if definition is None:
        return _invalid(f"Invalid configuration key {key}")
    if not value > 0.0:
        return _invalid(f"Quota {key} must be greater than 0")
    if definition.type is ConfigType.DOUBLE:
        # Kafka takes infinity here and then can't be asked for it by every client.
        return _invalid(f"Quota {key} must be a finite number") if math.isinf(value) else None
    largest, kind = _LARGEST[definition.type]
    if value > largest:
        return _invalid(f"Proposed value for {key} is too large for {kind}.")
    if math.fmod(value, 1.0) > FRACTION_TOLERANCE:
        return _invalid(f"{key} cannot be a fractional value.")
    return None


def _records_of(image: MetadataImage, entry: QuotaEntry) -> list[VersionedRecord]:
    key = _key_of(entry)
    current = image.client_quotas.entities.get(key, {})
    entity = tuple(QuotaEntity(entity_type=kind, entity_name=name) for kind, name in key)
    records = []
    for op in entry.ops:
        if op.remove and op.key in current:
            records.append(ClientQuotaRecord(entity=entity, key=op.key, remove=True))
        elif not op.remove and current.get(op.key) != op.value:
            records.append(ClientQuotaRecord(entity=entity, key=op.key, value=op.value))
    return [VersionedRecord(record, 0) for record in records]


def _show(entry: QuotaEntry) -> str:
    parts = ", ".join(
        f"{part.entity_type}={'null' if part.entity_name is None else part.entity_name}" for part in entry.entity
    )
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_request, message)
