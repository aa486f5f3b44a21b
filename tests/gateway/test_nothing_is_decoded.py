"""Nothing is decoded that need not be: counted, and shown with bytes that nobody could decode."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.door.requests import filled
from tests.gateway.rig import Rig, framed_request, framed_response
from tests.gateway.test_passage import LONG, OFFERED, TALKED, lawful_request
from tests.wire.samples import sample

from doorkeeper.gateway.modes import parse_modes
from doorkeeper.gateway.plans import CONFIG_CHANGES, make_plan
from doorkeeper.wire import codec
from doorkeeper.wire.framing import frame
from doorkeeper.wire.messages import FETCH, PRODUCE, is_flexible, message_classes, newest_stable_version

HEARTBEAT, OFFSET_COMMIT, CONSUMER_GROUP_HEARTBEAT = 12, 8, 68
HOT = (PRODUCE, FETCH, HEARTBEAT, OFFSET_COMMIT, CONSUMER_GROUP_HEARTBEAT)
NO_RECORDS = b"these are no records \xff\xff\xff\xff"


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a message of each class is built."""
    counts: Counter[str] = Counter()
    read = codec.decode_body

    def counting(entity: type[Any], *rest: Any) -> Any:
        counts[entity.__name__] += 1
        return read(entity, *rest)

    monkeypatch.setattr(codec, "decode_body", counting)
    return counts


@pytest.mark.parametrize("mode", ["off", "evaluate", "enforce"])
@pytest.mark.parametrize("api_key", HOT)
def test_the_identifiers_of_hot_requests_are_read_in_place(decoded: Counter[str], api_key: int, mode: str) -> None:
    rig = Rig(mode)
    version = newest_stable_version(api_key)
    rig.ask(lawful_request(api_key, version), 1)
    rig.answer(sample(message_classes(api_key, version).response), 1)
    assert rig.take_upstream()
    assert rig.take_client()
    assert not decoded


def test_the_count_would_show_it(decoded: Counter[str]) -> None:
    rig = Rig("enforce")
    rig.ask(replace(filled(HEARTBEAT, 4), group_id=LONG), 1)
    assert decoded == {"HeartbeatRequest": 1}


@pytest.mark.parametrize("version", range(3, 14))
def test_records_of_a_produce_request_are_never_parsed(decoded: Counter[str], version: int) -> None:
    body = lawful_request(PRODUCE, version)
    partition = replace(body.topic_data[0].partition_data[0], records=NO_RECORDS)
    topics = (replace(body.topic_data[0], partition_data=(partition,)),)
    sent = framed_request(replace(body, topic_data=topics), 1)
    rig = Rig("enforce")
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    assert not decoded


@pytest.mark.parametrize("version", range(4, 19))
def test_records_of_a_fetch_response_are_never_parsed(decoded: Counter[str], version: int) -> None:
    response = sample(message_classes(FETCH, version).response)
    partition = replace(response.responses[0].partitions[0], records=NO_RECORDS)
    response = replace(response, responses=(replace(response.responses[0], partitions=(partition,)),))
    if version >= 16:
        response = replace(response, node_endpoints=())
    rig = Rig("enforce")
    rig.ask(filled(FETCH, version), 1)
    sent = framed_response(response, 1)
    rig.responses.feed(sent)
    assert rig.take_client() == sent
    assert not decoded


@pytest.mark.parametrize(("api_key", "version"), [one for one in OFFERED if one[0] not in TALKED])
def test_with_all_rules_off_nothing_but_the_header_is_read(api_key: int, version: int) -> None:
    """Of Produce also the transactional id's length and acks, which say whether an answer comes."""
    garbage = b"\xff" * 40
    if api_key == PRODUCE:
        garbage = (b"\0" if is_flexible(api_key, version) else b"\xff\xff") + b"\0\1" + garbage
    lead = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7" + b"\0\2me"
    sent = frame(lead, b"\0" if is_flexible(api_key, version) else b"", garbage)
    rig = Rig("off")
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    assert [one[0] for one in rig.pending] == [7]


def test_with_all_rules_off_no_request_has_a_walk_or_a_second_look() -> None:
    off = parse_modes(["off"])
    for api_key, version in OFFERED:
        plan = make_plan(api_key, version, off)
        assert (plan.walk is None) == (api_key != PRODUCE)
        assert plan.examined == (api_key in TALKED)


def test_a_config_change_is_looked_into_only_while_it_is_judged() -> None:
    for api_key in CONFIG_CHANGES:
        assert make_plan(api_key, 1, parse_modes(["off", "config_change=evaluate"])).examined
        assert not make_plan(api_key, 1, parse_modes(["enforce", "config_change=off"])).examined
