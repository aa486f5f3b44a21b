"""Every identifier of every version of every API that is served, at both doors, over sockets.

One unit over its limit it is refused with the right code, in an answer that can be read at that version; at its limit
the API gives what it gives in a cluster without limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from tests.cluster.coordinators import have_coordinators
from tests.cluster.running import RunningCluster
from tests.door.requests import PLACE, Case, codes_in, messages_in, request_with
from tests.door.sockets import Client, ClosedByServerError

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.door.judged import Keeper, judged_fields
from doorkeeper.door.shapes import ITEMS, is_refused_alone
from doorkeeper.rules.fields import identifier_version
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

SWITCH = "resource.identifier.limit.enable"
QUIET = {
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
NO_ROOM = {(35, 1), (35, 2)}
"""DescribeLogDirs before version 3: a code per directory of the broker only."""


class Doors(NamedTuple):
    """The same door of two clusters, which have been asked the same."""

    limited: Client
    unlimited: Client


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Door, Doors]]:
    with ExitStack() as held:
        clusters = [
            held.enter_context(RunningCluster(tmp_path_factory.mktemp(value), overrides={SWITCH: value, **QUIET}))
            for value in ("true", "false")
        ]
        for cluster in clusters:
            have_coordinators(cluster)
        yield {
            door: Doors(*(held.enter_context(Client(cluster.address(door))) for cluster in clusters)) for door in Door
        }


def served() -> list[Any]:
    return [
        pytest.param(door, api_key, id=f"{door}-{api_name(api_key)}")
        for door in Door
        for api_key in registry_for(door, unstable_versions=True)
    ]


def cases(door: Door, api_key: int) -> Iterator[Case]:
    lowest, highest = registry_for(door, unstable_versions=True)[api_key]
    for version in range(lowest, highest + 1):
        yield from (Case(version, field) for field in judged_fields(api_key, version, Keeper.EMBEDDED))


def expected_code(case: Case) -> int:
    first = identifier_version(case.field.api_key)
    is_new = first is not None and case.version >= first and case.field.kind is not Kind.MEMBER_ID
    return 134 if is_new else 42


def ask(client: Client, case: Case, length: int) -> Any:
    header, body = request_with(case, "x" * length)
    try:
        return client.ask(body, header.client_id)
    except ClosedByServerError:
        return None


@pytest.mark.parametrize(("door", "api_key"), served())
class TestEveryIdentifier:
    def test_one_unit_over_is_refused_with_the_right_code(
        self, doors: dict[Door, Doors], door: Door, api_key: int
    ) -> None:
        for case in cases(door, api_key):
            answer = ask(doors[door].limited, case, case.limit + 1)
            if (api_key, case.version) in NO_ROOM:
                assert answer is None, case
            elif is_refused_alone(case.field, case.version):
                item = getattr(answer, ITEMS[api_key].response)[PLACE]
                assert set(codes_in(item)) == {expected_code(case)}, case
                assert all(f"{case.limit + 1} UTF-16" in str(text) for text in messages_in(item)), case
            else:
                assert set(codes_in(answer)) == {expected_code(case)}, case
                assert all(f"{case.limit + 1} UTF-16" in str(text) for text in messages_in(answer)), case

    def test_neighbours_of_a_refused_item_are_served(self, doors: dict[Door, Doors], door: Door, api_key: int) -> None:
        for case in cases(door, api_key):
            if is_refused_alone(case.field, case.version):
                row = ITEMS[api_key].response
                with_one_refused = getattr(ask(doors[door].limited, case, case.limit + 1), row)
                with_none_refused = getattr(ask(doors[door].limited, case, case.limit), row)
                for place in (PLACE - 1, PLACE + 1):
                    expected = list(codes_in(with_none_refused[place]))
                    assert list(codes_in(with_one_refused[place])) == expected, case

    def test_exactly_the_limit_gives_what_it_gives_without_limits(
        self, doors: dict[Door, Doors], door: Door, api_key: int
    ) -> None:
        for case in cases(door, api_key):
            limited, unlimited = (ask(client, case, case.limit) for client in doors[door])
            assert type(limited) is type(unlimited), case
            if limited is not None:
                assert list(codes_in(limited)) == list(codes_in(unlimited)), case

    def test_one_unit_over_passes_where_limits_are_off(
        self, doors: dict[Door, Doors], door: Door, api_key: int
    ) -> None:
        for case in cases(door, api_key):
            over, within = (ask(doors[door].unlimited, case, case.limit + more) for more in (1, 0))
            assert type(over) is type(within), case
            if over is not None:
                assert 134 not in set(codes_in(over)), case
                assert list(codes_in(over)) == list(codes_in(within)), case
