"""Every field of every response that looks like an address is in the table, or there is a reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from tests.wire.strategies import ALL_VERSIONS

from doorkeeper.gateway.address_table import ADDRESSES, NO_ADDRESSES, Place, address_row
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.schema import shape_of, tag_of

SUSPECT = ("host", "port", "address", "endpoint", "listener")
KINDS = {"string", "int32", "uint16", "bytes"}


def suspects(entity: type[Any], prefix: str = "") -> Iterator[str]:
    """The paths of all fields whose name and type an address might have."""
    for field in fields(entity):
        shape = shape_of(field)
        path = prefix + field.name
        if shape.entity is not None:
            yield from suspects(shape.entity, f"{path}.")
        elif shape.kafka_type in KINDS and any(word in field.name.split("_") for word in SUSPECT):
            yield path


def is_address(api_key: int, version: int, path: str) -> bool:
    row = address_row(api_key, version)
    if row is None:
        return False
    prefix = f"{row.array}." if row.array else ""
    return path in (f"{prefix}host", f"{prefix}port")


@pytest.mark.parametrize(("api_key", "version"), ALL_VERSIONS)
def test_every_address_of_every_response_is_in_the_table(api_key: int, version: int) -> None:
    for path in suspects(message_classes(api_key, version).response):
        excused = any(path.endswith(end) for end in NO_ADDRESSES) or path == "endpoint_information_epoch"
        assert is_address(api_key, version, path) is not excused, path


@pytest.mark.parametrize(("api_key", "version"), ALL_VERSIONS)
def test_every_row_names_fields_that_there_are(api_key: int, version: int) -> None:
    row = address_row(api_key, version)
    if row is None:
        return
    entity = message_classes(api_key, version).response
    paths = set(every_path(entity))
    prefix = f"{row.array}." if row.array else ""
    assert {f"{prefix}host", f"{prefix}port", row.node_id} <= paths
    if row.place in (Place.LAST, Place.LAST_TAG):
        (last,) = [one for one in fields(entity) if one.name == row.array]
        assert (tag_of(last) == 0) == (row.place is Place.LAST_TAG)


def every_path(entity: type[Any], prefix: str = "") -> Iterator[str]:
    for field in fields(entity):
        shape = shape_of(field)
        yield prefix + field.name
        if shape.entity is not None:
            yield from every_path(shape.entity, f"{prefix}{field.name}.")


def test_rows_of_an_api_do_not_overlap() -> None:
    for rows in ADDRESSES.values():
        ranges = [set(range(row.first_version, min(row.last_version, 100) + 1)) for row in rows]
        assert sum(map(len, ranges)) == len(set().union(*ranges))
