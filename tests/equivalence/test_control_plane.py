"""A real Kafka and an embedded one, asked the same at either door, at every version, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from tests.equivalence.both import CLOSED, Both
from tests.equivalence.control_plane_cases import CASES, EVERYTHING, Case
from tests.equivalence.data_plane_cases import CASES as DATA_PLANE_CASES
from tests.equivalence.test_transactions import STORIES

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door


def versions(door: Door, case: Case) -> range:
    lowest, highest = registry_for(door, unstable_versions=False)[case.api_key]
    return range(max(lowest, case.since), highest + 1)


def asked() -> list[Any]:
    return [
        pytest.param(case, door, version, id=f"{door}-{api_name(case.api_key)}-v{version}-{number}")
        for number, case in enumerate(CASES)
        for door in case.doors
        for version in versions(door, case)
    ]


@pytest.mark.kafka
@pytest.mark.parametrize(("case", "door", "version"), asked())
def test_answers_alike(both: Both, case: Case, door: Door, version: int) -> None:
    values = case.asked(door, version)
    theirs, ours = (side.answer(case.api_key, version, values, case.differs) for side in both[door])
    if EVERYTHING in case.differs:
        assert ours != CLOSED
    else:
        assert ours == theirs


def test_every_api_and_version_of_either_door_is_compared() -> None:
    compared = {(Door.BROKER, key, version) for key, versions_, _ in DATA_PLANE_CASES for version in versions_}
    compared |= {(Door.BROKER, key, version) for _, key, versions_ in STORIES for version in versions_}
    compared |= {
        (door, case.api_key, version) for case in CASES for door in case.doors for version in versions(door, case)
    }
    served = {
        (door, key, version)
        for door in Door
        for key, (lowest, highest) in registry_for(door, unstable_versions=False).items()
        for version in range(lowest, highest + 1)
    }
    assert {(str(door), api_name(key), version) for door, key, version in served - compared} == set()


def test_every_difference_has_its_reason() -> None:
    assert all(bool(case.differs) is bool(case.because) for case in CASES)
