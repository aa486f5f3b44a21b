"""An audit in a plain Python loop, with the rulebook and nothing of the pipeline: what Spark must find, too."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from doorkeeper.rules.client_id import is_plain
from doorkeeper.rules.config_change import (
    BrokerContext,
    BrokerDoor,
    ConfigEntry,
    Context,
    ResourceChange,
    judge_changes,
)
from doorkeeper.rules.fields import Doors, Existing, Field, load_apis, load_fields
from doorkeeper.rules.names import LIMITS
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind

LINE = re.compile(r"(?:\[(?P<time>[^\]]+)\] \w+ Completed request:)?(?P<json>\{\"isForwarded\".*\})(?: \([^)]*\))?")
RULEBOOK = Rulebook.of_release("5.0")


class Finding(NamedTuple):
    """What both audits say of one thing that one client did."""

    rule: str
    kind: str
    value: str
    api: str
    client_id: str
    principal: str


def audit(*paths: Path) -> Counter[Finding]:
    """Every finding, and how often; only of logs that hold nothing broken."""
    found: Counter[Finding] = Counter()
    forwarded: Counter[Finding] = Counter()
    for path in paths:
        for line in path.read_bytes().decode("utf-8", "surrogateescape").split("\n"):
            match = LINE.fullmatch(line)
            if match is not None:
                document = json.loads(match["json"])
                (forwarded if document["isForwarded"] else found).update(findings(document))
    return found + Counter({one: count for one, count in forwarded.items() if one not in found})


def findings(document: dict[str, Any]) -> list[Finding]:
    header = document["requestHeader"]
    client_id = header["clientId"]

    def finding(rule: str, kind: Kind, value: str) -> Finding:
        shown = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return Finding(rule, kind.value, shown, header["requestApiKeyName"], client_id, document["principal"])

    made = [finding(rule, kind, value) for rule, kind, value in identifiers(header, document["request"])]
    if not is_plain(client_id):
        made.append(finding("CLIENT_ID_NOT_PLAIN", Kind.CLIENT_ID, client_id))
    if header["requestApiVersion"] < load_apis()[header["requestApiKey"]].first_version:
        made.append(finding("API_VERSION_REMOVED", Kind.CLIENT_ID, client_id))
    if header["requestApiKeyName"] == "INCREMENTAL_ALTER_CONFIGS":
        made += [finding(rule, Kind.CONFIG_CHANGE, value) for rule, value in changes(document["request"])]
    return made


def identifiers(header: dict[str, Any], request: dict[str, Any]) -> list[tuple[str, Kind, str]]:
    made = []
    for field in load_fields():
        if field.api_key != header["requestApiKey"] or field.kind is None or field.kind not in LIMITS:
            continue
        if field.doors is not Doors.ALL or field.existing is not Existing.NEVER or field.selector is not None:
            continue
        values = [header["clientId"]] if field.in_header else strings(field, request)
        for value in values:
            violation = RULEBOOK.check(field.kind, value)
            if violation is not None and violation.rule is LIMITS[field.kind].rule:
                made.append((violation.rule.value, field.kind, value))
            if any("\udc80" <= character <= "\udcff" for character in value):
                made.append(("IDENTIFIER_NOT_UTF8", field.kind, value))
    return made


def strings(field: Field, request: dict[str, Any]) -> list[str]:
    values: list[Any] = [request]
    for step in field.kafka_path.split("."):
        name = step.removesuffix("[]")
        inner = [value[name] for value in values if isinstance(value, dict) and value.get(name) is not None]
        values = [one for value in inner for one in value] if step.endswith("[]") else inner
    return [value for value in values if isinstance(value, str)]


def changes(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Changes of one resource with one key, judged with nothing known of any broker."""
    made = []
    for resource in request["resources"]:
        (config,) = resource["configs"]
        entry = ConfigEntry(config["name"], config["configOperation"], config["value"])
        change = ResourceChange(resource["resourceType"], resource["resourceName"], (entry,))
        context = Context(brokers={1: BrokerContext()}, door=BrokerDoor(1))
        (verdict,) = judge_changes([change], context)
        if verdict.rule is not None:
            kind = {2: "topic", 4: "broker"}[change.type]
            made.append((verdict.rule.value, f"{kind} {change.name}: {entry.name}={entry.value}"))
    return made
