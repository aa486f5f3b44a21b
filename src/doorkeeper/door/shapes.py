"""How a refusal is shaped: whole, item by item, or by closing the connection. Data, and what follows from it.

Where an error goes when the *whole* request is refused stands in `wire.error_shapes`, one row per API; here stands
which APIs answer item by item. There only the items breached are refused, in their places, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from doorkeeper.door.judged import item_array
from doorkeeper.rules.fields import Field
from doorkeeper.wire.answers import element_class, mirrors_of
from doorkeeper.wire.error_shapes import ERROR_CODE_FIELDS, ITSELF, MIRRORS, Mirror
from doorkeeper.wire.messages import PRODUCE, message_classes

ERROR_MESSAGE: Final = "error_message"


def _whole_row(api_key: int) -> Mirror:
    """An API that has no code for the whole names its items in `wire.error_shapes` already."""
    return MIRRORS[api_key][0]


ITEMS: Final[Mapping[int, Mirror]] = MappingProxyType(
    {
        9: _whole_row(9),  # OffsetFetch: groups, from version 8 on
        10: _whole_row(10),  # FindCoordinator: coordinator_keys, from version 4 on
        # LeaveGroup: members, from version 3 on
        13: Mirror("members", "members", (("member_id", "member_id"), ("group_instance_id", "group_instance_id"))),
        15: _whole_row(15),  # DescribeGroups: groups
        # AddPartitionsToTxn: transactions, from version 4 on
        24: Mirror(
            "results_by_transaction",
            "transactions",
            (("transactional_id", "transactional_id"),),
            Mirror(
                "topic_results",
                "topics",
                (("name", "name"),),
                Mirror("results_by_partition", "partitions", (("partition_index", ITSELF),)),
            ),
        ),
        30: _whole_row(30),  # CreateAcls: creations, answered by place
        31: _whole_row(31),  # DeleteAcls: filters, answered by place
        32: _whole_row(32),  # DescribeConfigs: resources
        33: _whole_row(33),  # AlterConfigs: resources
        42: _whole_row(42),  # DeleteGroups: groups_names
        44: _whole_row(44),  # IncrementalAlterConfigs: resources
        49: _whole_row(49),  # AlterClientQuotas: entries
        65: _whole_row(65),  # DescribeTransactions: transactional_ids
        69: _whole_row(69),  # ConsumerGroupDescribe: group_ids
        77: _whole_row(77),  # ShareGroupDescribe: group_ids
        89: _whole_row(89),  # StreamsGroupDescribe: group_ids
        90: _whole_row(90),  # DescribeShareGroupOffsets: groups
    }
)
"""API key to the array of the request whose elements hold identifiers, and the array of the response for it."""

ANSWERED_AS_ONE: Final[Mapping[int, str]] = MappingProxyType({14: "assignments", 48: "components"})
"""SyncGroup and DescribeClientQuotas: identifiers stand in an array, but the response has one code for all."""


class Shape(NamedTuple):
    """How one version of one API is refused; paths are those of the response."""

    codes: tuple[str, ...]
    """Where the code goes when the whole request is refused; empty when there is no place at all."""
    messages: tuple[str, ...]
    """Where the message goes."""
    items: Mirror | None
    """The items that are refused one by one."""
    item_codes: tuple[str, ...]
    """Where the code of one item goes."""
    closes: str
    """When the connection is closed instead; empty for never."""


@cache
def item_row(api_key: int, version: int) -> Mirror | None:
    """The row of `ITEMS`, where the version has these arrays."""
    row = ITEMS.get(api_key)
    if row is None:
        return None
    request, response = message_classes(api_key, version)
    present = row.request in _names(request) and row.response in _names(response)
    return row if present else None


def is_refused_alone(field: Field, version: int) -> bool:
    """Whether a breach of this field is refused in its item's place only."""
    row = item_row(field.api_key, version)
    return row is not None and item_array(field) == row.request


@cache
def shape_of_api(api_key: int, version: int) -> Shape:
    """How this version of an API is refused."""
    response = message_classes(api_key, version).response
    rows = mirrors_of(api_key, version)
    codes = [*_own(response, ERROR_CODE_FIELDS, "")]
    messages = [*_own(response, {ERROR_MESSAGE}, "")] if codes else []
    at_root = bool(codes)
    for row in rows:
        codes += _places(row, response, ERROR_CODE_FIELDS, "")
        messages += _places(row, response, {ERROR_MESSAGE}, "")
    items = item_row(api_key, version)
    item_codes = () if items is None else tuple(_places(items, response, ERROR_CODE_FIELDS, ""))
    return Shape(tuple(codes), tuple(messages), items, item_codes, _closes(api_key, at_root, rows))


def _closes(api_key: int, at_root: bool, rows: tuple[Mirror, ...]) -> str:
    if api_key == PRODUCE:
        return "acks=0, or no partition is named"
    if at_root:
        return ""
    if not rows:
        return "always"
    inner = _innermost(rows[0])
    return (
        f"{inner.request.replace('+', ' and ')} is empty or null"
        if inner is rows[0]
        else f"no element in {_request_path(rows[0])}"
    )


def _innermost(row: Mirror) -> Mirror:
    return row if row.inner is None else _innermost(row.inner)


def _request_path(row: Mirror) -> str:
    own = row.request.replace(".", "[].") + "[]"
    return own.removesuffix("[]") if row.inner is None else f"{own}.{_request_path(row.inner)}"


def _places(row: Mirror, entity: type[Any], wanted: frozenset[str] | set[str], prefix: str) -> list[str]:
    element = element_class(entity, row.response)
    path = f"{prefix}{row.response}[]."
    inner = [] if row.inner is None else _places(row.inner, element, wanted, path)
    return [*_own(element, wanted, path), *inner]


def _own(entity: type[Any], wanted: frozenset[str] | set[str], prefix: str) -> list[str]:
    return [prefix + one.name for one in fields(entity) if one.name in wanted]


def _names(entity: type[Any]) -> set[str]:
    return {one.name for one in fields(entity)}
