"""Lines of a request log, made to order."""

from __future__ import annotations

import json
from typing import Any

TIME = "2026-11-15 10:00:00,000"
SUFFIX = " (kafka.request.logger)"


def document(
    api_key: int = 3,
    version: int = 12,
    request: Any = None,
    *,
    client_id: str = "app",
    name: str = "METADATA",
    principal: str = "User:alice",
    forwarded: bool = False,
    software: tuple[str, str] = ("apache-kafka-java", "4.3.1"),
    address: str = "10.0.0.7",
    listener: str = "PLAINTEXT",
) -> dict[str, Any]:
    """The JSON of a completed request, in the order of Kafka's RequestConvertToJson."""
    return {
        "isForwarded": forwarded,
        "requestHeader": {
            "requestApiKey": api_key,
            "requestApiVersion": version,
            "correlationId": 7,
            "clientId": client_id,
            "requestApiKeyName": name,
        },
        "request": {} if request is None else request,
        "response": {"throttleTimeMs": 0, "errorCode": 0},
        "connection": f"127.0.0.1:9092-{address}:51234-0-3",
        "totalTimeMs": 1.5,
        "securityProtocol": "PLAINTEXT",
        "principal": principal,
        "listener": listener,
        "clientInformation": {"softwareName": software[0], "softwareVersion": software[1]},
    }


def to_json(one: dict[str, Any]) -> str:
    """As Jackson writes it: no spaces, non-ASCII raw."""
    return json.dumps(one, separators=(",", ":"), ensure_ascii=False)


def line(*args: Any, time: str = TIME, **fields: Any) -> bytes:
    """A line by Kafka's own Log4j pattern, without its end."""
    text = f"[{time}] DEBUG Completed request:{to_json(document(*args, **fields))}{SUFFIX}"
    return text.encode("utf-8", "surrogateescape")


def heartbeat(group: str, **fields: Any) -> bytes:
    """A classic heartbeat, whose group id is judged and whose member id is the broker's."""
    request = {"groupId": group, "generationId": 1, "memberId": "app-" + "m" * 60, "groupInstanceId": None}
    return line(12, 4, request, name="HEARTBEAT", **fields)


def consumer_heartbeat(member: str, **fields: Any) -> bytes:
    """A heartbeat of the new protocol, whose member id is the client's own."""
    request = {"groupId": "g", "memberId": member, "memberEpoch": 0, "instanceId": None, "rackId": None}
    return line(68, 1, request, name="CONSUMER_GROUP_HEARTBEAT", **fields)


def change(resource_type: int, name: str, *configs: tuple[str, int, str | None], **fields: Any) -> bytes:
    """An IncrementalAlterConfigs of one resource."""
    entries = [{"name": key, "configOperation": operation, "value": value} for key, operation, value in configs]
    resources = [{"resourceType": resource_type, "resourceName": name, "configs": entries}]
    request = {"resources": resources, "validateOnly": False}
    return line(44, 1, request, name="INCREMENTAL_ALTER_CONFIGS", **fields)
