"""Metadata records as JSON values, for people and scripts: Kafka's camelCase names, secrets masked."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final
from uuid import UUID

from doorkeeper.rules.redaction import HIDDEN, shown
from doorkeeper.wire.metadata.control import read_control_record
from doorkeeper.wire.metadata.schema import Struct, specs_of
from doorkeeper.wire.metadata.serde import UnknownRecord, VersionedRecord, read_metadata_record
from doorkeeper.wire.metadata.types import ConfigRecord, RegisterBrokerRecord, UserScramCredentialRecord
from doorkeeper.wire.records import Batch
from doorkeeper.wire.uuids import format_uuid

BROKER: Final = 4
"""ConfigResource.Type.BROKER: static configs are broker configs."""
_SCRAM_SECRETS: Final = ("salt", "storedKey", "serverKey")


def batch_to_json(batch: Batch) -> Iterator[dict[str, Any]]:
    """One JSON object for each record of a batch."""
    for record in batch.records:
        if batch.header.is_control:
            versioned = VersionedRecord(*read_control_record(record.key, record.value))
        else:
            versioned = read_metadata_record(record.value)
        yield {
            "offset": record.offset,
            "epoch": batch.header.leader_epoch,
            "timestamp": record.timestamp,
            **record_to_json(versioned),
        }


def record_to_json(record: VersionedRecord) -> dict[str, Any]:
    """Type, version and fields of one record."""
    message = record.message
    if isinstance(message, UnknownRecord):
        content: dict[str, Any] = {"apiKey": message.api_key, "bytes": len(message.payload)}
        return {"type": "UnknownRecord", "version": record.version, "fields": content}
    content = _struct_to_json(message, record.version)
    match message:
        case UserScramCredentialRecord():
            content.update(dict.fromkeys(_SCRAM_SECRETS, HIDDEN))
        case ConfigRecord():
            content["value"] = shown(message.resource_type, message.name, message.value)
        case RegisterBrokerRecord():
            for config in content.get("staticConfigs", ()):
                config["value"] = shown(BROKER, config["name"], config["value"])
    return {"type": type(message).__name__, "version": record.version, "fields": content}


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _struct_to_json(struct: Struct, version: int) -> dict[str, Any]:
    """The fields that this version has; as in Kafka's own JSON, a tagged field that holds its default is left out."""
    specs = specs_of(type(struct))
    content: dict[str, Any] = {}
    for field in fields(struct):
        spec = specs.get(field.name)
        if spec is None or spec.since > version:
            continue
        value = getattr(struct, field.name)
        if spec.tag is None or value != field.default:
            content[camel_case(field.name)] = _value_to_json(value, version)
    if struct.unknown_tags:
        content["unknownTaggedFields"] = [{"tag": tag, "bytes": len(data)} for tag, data in struct.unknown_tags]
    return content


def _value_to_json(value: Any, version: int) -> Any:
    match value:
        case Struct():
            return _struct_to_json(value, version)
        case tuple():
            return [_value_to_json(one, version) for one in value]
        case UUID():
            return format_uuid(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value
