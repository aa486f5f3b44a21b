"""The identity log: one line for each new sighting and hour."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.door.requests import filled
from tests.gateway.rig import Rig, framed_request

from doorkeeper.gateway.identity_log import MAX_SHOWN, IdentityLog
from doorkeeper.wire.messages import FETCH, METADATA, PRODUCE, message_classes

HEARTBEAT, FIND_COORDINATOR = 12, 10
HOUR = 3600


class Noted:
    """A connection whose sightings are kept."""

    def __init__(self, max_remembered: int = 100) -> None:
        self.now = 0.0
        self.lines: list[dict[str, Any]] = []
        self.log = IdentityLog(
            lambda line: self.lines.append(json.loads(line)), lambda: self.now, max_remembered=max_remembered
        )
        self.rig = Rig("evaluate", observer=self.log)


def test_writes_who_uses_which_identifiers() -> None:
    noted = Noted()
    noted.rig.client.login = "User:alice"
    noted.rig.ask(replace(filled(HEARTBEAT, 4), group_id="g"), 1, "billing")
    (line,) = noted.lines
    assert (line["client_id"], line["principal"], line["address"]) == ("billing", "User:alice", "10.0.0.1")
    assert (line["version"], line["api"], line["api_version"], line["door"]) == (1, "HEARTBEAT", 4, "broker")
    assert {"kind": "group_id", "field": "group_id", "value": "g"} in line["identifiers"]


def test_writes_the_same_once_per_hour() -> None:
    noted = Noted()
    for _ in range(3):
        noted.rig.ask(filled(HEARTBEAT, 4))
    assert len(noted.lines) == 1
    noted.now = HOUR
    noted.rig.ask(filled(HEARTBEAT, 4))
    assert len(noted.lines) == 2


@pytest.mark.parametrize("change", ["group", "client id", "version", "principal", "software"])
def test_writes_whatever_differs(change: str) -> None:
    noted = Noted()
    noted.rig.ask(filled(HEARTBEAT, 4))
    if change == "principal":
        noted.rig.client.login = "User:bob"
    if change == "software":
        noted.rig.client.software_name = "other"
    body = filled(HEARTBEAT, 3 if change == "version" else 4)
    noted.rig.ask(
        replace(body, group_id="other") if change == "group" else body,
        1,
        "other" if change == "client id" else "client",
    )
    assert len(noted.lines) == 2


def test_another_field_may_say_the_kind() -> None:
    noted = Noted()
    request = message_classes(FIND_COORDINATOR, 4).request
    for key_type in (0, 1):
        noted.rig.ask(request(key_type=key_type, coordinator_keys=("x",)))
    assert [line["identifiers"][0]["kind"] for line in noted.lines] == ["group_id", "transactional_id"]


def test_sees_requests_that_pass_before_they_are_whole() -> None:
    noted = Noted()
    sent = framed_request(replace(filled(PRODUCE, 9), acks=1, transactional_id="t"), 1)
    noted.rig.requests.feed(sent[:60])
    assert noted.lines[0]["identifiers"] == [{"kind": "transactional_id", "field": "transactional_id", "value": "t"}]


def test_a_long_identifier_is_cut_and_its_length_stands_beside_it() -> None:
    noted = Noted()
    noted.rig.ask(replace(filled(HEARTBEAT, 4), group_id="😀" * (MAX_SHOWN + 1)))
    identifier = noted.lines[0]["identifiers"][0]
    assert (len(identifier["value"]), identifier["length"]) == (MAX_SHOWN, 2 * (MAX_SHOWN + 1))


def test_is_bounded() -> None:
    noted = Noted(max_remembered=2)
    for number in range(5):
        noted.rig.ask(replace(filled(HEARTBEAT, 4), group_id=f"g{number}"))
    assert len(noted.lines) == 2
    assert noted.log.overflow == 3


def test_every_api_can_be_noted() -> None:
    noted = Noted()
    for api_key, version in ((FETCH, 18), (METADATA, 0), (PRODUCE, 3)):
        noted.rig.ask(filled(api_key, version))
    assert [line["api"] for line in noted.lines] == ["FETCH", "METADATA", "PRODUCE"]
