"""A real Kafka and an embedded one, asked the same about records and groups, at every version, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from tests.equivalence.both import Both
from tests.equivalence.data_plane_cases import CASES

from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    ("api_key", "version", "values"),
    [
        pytest.param(api_key, version, values, id=f"{api_name(api_key)}-v{version}-{number}")
        for number, (api_key, versions, values) in enumerate(CASES)
        for version in versions
    ],
)
def test_answers_alike(both: Both, api_key: int, version: int, values: dict[str, Any]) -> None:
    theirs, ours = (side.answer(api_key, version, values) for side in both[Door.BROKER])
    assert ours == theirs
