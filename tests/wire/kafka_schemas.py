"""Kafka's own request schemas, read out of the kafka-clients jar: the oracle of the field map's names and versions."""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING, Any

from tests.kafka.jars import require_jars
from tools.kafka_jars import KAFKA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_VERSION = range(0)

Schema = dict[str, Any]


def load_request_schemas() -> dict[int, Schema]:
    """Every request schema that has a version, by API key; a named skip (a failure in CI) without the jar."""
    with zipfile.ZipFile(require_jars() / f"kafka-clients-{KAFKA_VERSION}.jar") as jar:
        schemas = [
            _parse(jar.read(name).decode())
            for name in jar.namelist()
            if re.fullmatch(r"common/message/\w+Request\.json", name)
        ]
    return {schema["apiKey"]: schema for schema in schemas if valid_versions(schema)}


def _parse(text: str) -> Schema:
    schema = json.loads(re.sub(r'^\s*//.*$|//[^"\n]*$', "", text, flags=re.MULTILINE))
    assert isinstance(schema, dict)
    return schema


def valid_versions(schema: Schema) -> range:
    """The versions that a schema knows."""
    return _versions(schema["validVersions"], newest=-1)


def _versions(text: str, newest: int) -> range:
    """Read `3`, `3-5`, `3+` (up to the newest) or `none`."""
    if text == "none":
        return NO_VERSION
    first, dash, last = text.removesuffix("+").partition("-")
    if text.endswith("+"):
        return range(int(first), newest + 1)
    return range(int(first), int(last if dash else first) + 1)


def leaves(schema: Schema) -> Iterator[tuple[str, str, range]]:
    """Yield (path in the request log's names, element type, versions) of every field that is no struct."""
    structs = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", [])}
    yield from _leaves(schema["fields"], structs, "", valid_versions(schema))


def _leaves(
    fields: list[Schema], structs: dict[str, list[Schema]], prefix: str, outer: range
) -> Iterator[tuple[str, str, range]]:
    for field in fields:
        own = _versions(field["versions"], newest=outer[-1])
        versions = range(max(own.start, outer.start), min(own.stop, outer.stop))
        if not versions:
            continue
        element = field["type"].removeprefix("[]")
        # Kafka's generated JSON converters lower the first letter and leave the rest.
        path = f"{prefix}{field['name'][0].lower()}{field['name'][1:]}{'[]' if element != field['type'] else ''}"
        inner = field.get("fields") or structs.get(element)
        if inner:
            yield from _leaves(inner, structs, f"{path}.", versions)
        else:
            yield path, element, versions
