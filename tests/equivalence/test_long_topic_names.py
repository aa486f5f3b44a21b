"""Topic names and offset metadata that are too long: judged by the handlers, as a real Kafka's handlers judge them.

Kafka validates the name in some APIs (INVALID_TOPIC_EXCEPTION) and just does not find it in the others
(UNKNOWN_TOPIC_OR_PARTITION); the door has no say in it, whether the limits are on or off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from tests.door.requests import PLACE, Case, codes_in, filled, request_with
from tests.door.sockets import Client, ClosedByServerError
from tests.equivalence.both import Both

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.door.judged import item_array
from doorkeeper.rules.fields import identifiers_of
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

LONG = "t" * 250
OFFSET_COMMIT = 8
OFFSET_METADATA_TOO_LARGE = 12
MAX_METADATA = 4096


def named_topics() -> list[Any]:
    """Every API and door that is served, with its versions that name topics."""
    found = []
    for door in Door:
        for api_key, (lowest, highest) in registry_for(door, unstable_versions=False).items():
            cases = [
                Case(version, field)
                for version in range(lowest, highest + 1)
                for field in identifiers_of(api_key, version)
                if field.kind is Kind.TOPIC_NAME and item_array(field) is not None
            ]
            if cases:
                found.append(pytest.param(door, cases, id=f"{door}-{api_name(api_key)}"))
    return found


def request_about(case: Case, name: str) -> Any:
    """A request that names nothing else, and leaves time for an answer."""
    _, body = request_with(case, name)
    array = item_array(case.field)
    assert array is not None
    timed = {"timeout": timedelta(seconds=5)} if hasattr(body, "timeout") else {}
    return replace(body, **{array: (getattr(body, array)[PLACE],)}, **timed)


def codes_of(response: Any, name: str) -> set[int]:
    """The codes of what the response says about the name; all codes where it does not name it."""
    about = {code for element in elements_about(response, name) for code in codes_in(element)}
    return about or set(codes_in(response))


def elements_about(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, tuple):
        for element in value:
            yield from elements_about(element, name)
    elif is_dataclass(value):
        inner = [getattr(value, one.name) for one in fields(value)]
        if name in inner:
            yield value
        else:
            yield from elements_about(tuple(inner), name)


def ask(address: tuple[str, int], body: Any, name: str) -> set[int] | None:
    with Client(address) as client:
        try:
            return codes_of(client.ask(body), name)
        except ClosedByServerError:
            return None


@pytest.mark.parametrize(("door", "cases"), named_topics())
def test_a_topic_name_of_250_characters_gets_kafkas_code(both: Both, door: Door, cases: list[Case]) -> None:
    for case in cases:
        body = request_about(case, LONG)
        theirs, ours = (ask(side.connection.address, body, LONG) for side in both[door])
        assert ours == theirs, case


@pytest.mark.parametrize(("length", "code"), [(MAX_METADATA, 0), (MAX_METADATA + 1, OFFSET_METADATA_TOO_LARGE)])
def test_offset_metadata_beyond_its_limit_gets_kafkas_code(both: Both, length: int, code: int) -> None:
    lowest, highest = registry_for(Door.BROKER, unstable_versions=False)[OFFSET_COMMIT]
    for version in range(lowest, highest):  # the newest names topics by their ids
        body = filled(OFFSET_COMMIT, version)
        partition = replace(body.topics[0].partitions[0], committed_metadata="😀" * (length // 2) + "x" * (length % 2))
        topic = replace(body.topics[0], name="three", partitions=(partition,))
        changes: dict[str, Any] = {"topics": (topic,), "member_id": "", "generation_id_or_member_epoch": -1}
        changes |= {"group_id": "metadata"} | ({"group_instance_id": None} if version >= 7 else {})
        for side in both[Door.BROKER]:
            assert ask(side.connection.address, replace(body, **changes), "three") == {code}, version
