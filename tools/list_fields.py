"""Walk kio's request schemas and list their string and bytes fields, to be held against `rules/facts/fields.csv`.

`python tools/list_fields.py` prints what a new kio brings that the field map does not classify; with `--all`,
every string field, with `--bytes`, every bytes field.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import sys
import types
import typing
from typing import TYPE_CHECKING

from kio.index import load_payload_module
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

from doorkeeper.rules.fields import load_fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

STRING = "string"
BYTES_LIKE = frozenset({"bytes", "records"})

Versions = dict[tuple[int, str], set[int]]
"""(api key, field path in kio's names) -> the versions that have it."""


def request_versions() -> Iterator[tuple[int, int, type]]:
    """Yield (api key, version, request class) for every request schema that kio knows."""
    for api_key, schema in api_key_map.items():
        for version, by_type in schema_name_map[schema].items():
            if EntityType.request in by_type:
                module = load_payload_module(api_key, version, EntityType.request)
                yield api_key, version, request_class(module)


def request_class(module: types.ModuleType) -> type:
    """Find the one top-level request of a schema module."""
    found = [
        value
        for value in vars(module).values()
        if dataclasses.is_dataclass(value) and getattr(value, "__type__", None) is EntityType.request
    ]
    (only,) = found
    assert isinstance(only, type)
    return only


def leaves(entity: type, prefix: str = "") -> Iterator[tuple[str, str, object]]:
    """Yield (field path, Kafka type, Python type) of every field under `entity` that is no struct."""
    hints = typing.get_type_hints(entity)
    for field in dataclasses.fields(entity):
        inner, is_array = _inner_type(hints[field.name])
        path = f"{prefix}{field.name}{'[]' if is_array else ''}"
        if dataclasses.is_dataclass(inner):
            assert isinstance(inner, type)
            yield from leaves(inner, f"{path}.")
        else:
            yield path, field.metadata["kafka_type"], inner


def _inner_type(hint: object) -> tuple[object, bool]:
    """Strip `X | None` and `tuple[X, ...]` from a kio annotation; say whether there was a tuple."""
    is_array = False
    while True:
        origin = typing.get_origin(hint)
        if origin in (types.UnionType, typing.Union):
            (hint,) = [argument for argument in typing.get_args(hint) if argument is not types.NoneType]
        elif origin is tuple:
            hint, is_array = typing.get_args(hint)[0], True
        else:
            return hint, is_array


def typed_fields(kafka_types: AbstractSet[str]) -> Versions:
    """Gather the fields of these Kafka types, in request bodies and (as `header.*`) in the request headers."""
    found: Versions = {}
    for api_key, version, request in request_versions():
        header = request.__header_schema__  # type: ignore[attr-defined]
        for path, kafka_type, _ in (*leaves(request), *leaves(header, "header.")):
            if kafka_type in kafka_types:
                found.setdefault((api_key, path), set()).add(version)
    return found


def main() -> None:
    """Print fields as CSV rows on standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="classified fields too")
    parser.add_argument("--bytes", action="store_true", help="bytes fields in place of strings")
    arguments = parser.parse_args()
    known = {(field.api_key, field.path) for field in load_fields()}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for (api_key, path), versions in typed_fields(BYTES_LIKE if arguments.bytes else {STRING}).items():
        if arguments.all or arguments.bytes or (api_key, path) not in known:
            writer.writerow([api_key, api_key_map[api_key], path, min(versions), max(versions)])


if __name__ == "__main__":
    main()
