"""On random requests the door says what the rulebook says on a plain walk, on messages and on bytes alike."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.door import naive
from tests.door.requests import VERSIONS
from tests.door.strategies import names, requests

from doorkeeper.door.in_place import may_breach, peek_identifiers
from doorkeeper.door.judge import LAWFUL, Named, RequestVerdict, judge_request
from doorkeeper.door.judged import Keeper, body_limits
from doorkeeper.door.refusal import Close, Partial, Whole, refuse
from doorkeeper.rules.names import check_client_id
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.codec import Request, decode_request, encode_request, encode_response, read_request_header
from doorkeeper.wire.messages import API_KEYS, message_classes

FEWER = settings(max_examples=settings().max_examples // 10)  # for each API
KEEPERS = st.sampled_from(Keeper)
by_api = pytest.mark.parametrize("api_key", sorted(API_KEYS))


def exists(named: Named) -> bool | None:
    return known(named.name)


def known(name: str) -> bool | None:
    return (True, False, None)[len(name) % 3]


@st.composite
def frames(draw: st.DrawFn, api_key: int) -> bytes:
    version = draw(st.sampled_from([version for key, version in VERSIONS if key == api_key]))
    body = draw(requests(message_classes(api_key, version).request))
    return encode_request(body, 7, draw(st.none() | names()))


def expected(request: Request, keeper: Keeper) -> tuple[Counter[Any], Counter[Any]]:
    """Breaches and served ones, as the plain walk sees them."""
    refused: Counter[Any] = Counter()
    served: Counter[Any] = Counter()
    if request.client_id is not None and check_client_id(request.client_id) is not None:
        refused["header.client_id", Kind.CLIENT_ID, request.client_id, None] += 1
    embedded = keeper is Keeper.EMBEDDED
    for one in naive.sightings(request.api_key, request.api_version, request.body, embedded=embedded):
        if naive.is_breach(one):
            spared = one.served_if_existing and known(one.identifier) is not False
            (served if spared else refused)[one.path, one.kind, one.identifier, one.item] += 1
    return refused, served


def seen(breaches: Any) -> Counter[Any]:
    return Counter((one.field.path, one.field.kind, one.identifier, one.item) for one in breaches)


@by_api
@FEWER
@given(data=st.data(), keeper=KEEPERS)
def test_door_says_what_a_plain_walk_says(api_key: int, data: st.DataObject, keeper: Keeper) -> None:
    frame = memoryview(data.draw(frames(api_key)))
    request = decode_request(frame)
    verdict = judge_request(request, request.body, naive.RULES, keeper, exists)
    assert (seen(verdict.breaches), seen(verdict.served)) == expected(request, keeper)
    assert verdict.refused == verdict.breaches
    expect_the_same_in_place(request, frame, keeper, verdict)
    if verdict.refused:
        expect_an_answer(request, keeper, verdict)


def expect_the_same_in_place(request: Request, frame: memoryview, keeper: Keeper, verdict: RequestVerdict) -> None:
    """The bytes tell the same identifiers, and are suspected where they hold a long string and nowhere else."""
    limits = body_limits(request.api_key, request.api_version, keeper)
    strings = [(path, text) for path in limits for text in naive.strings_at(request.body, path)]
    assert Counter(peek_identifiers(read_request_header(frame), frame, keeper)) == Counter(strings)
    client_id = request.client_id or ""
    long_client_id = len(client_id) > 249 or (len(client_id) > 124 and not client_id.isascii())
    suspected = may_breach(read_request_header(frame), frame, keeper)
    assert suspected is (long_client_id or any(len(text.encode()) > limits[path] for path, text in strings))
    assert suspected or verdict is LAWFUL


def expect_an_answer(request: Request, keeper: Keeper, verdict: RequestVerdict) -> None:
    """The refusal can be written, and what goes on is lawful."""
    refusal = refuse(request, request.body, verdict.refused)
    if isinstance(refusal, Whole):
        encode_response(request.api_key, request.api_version, 7, refusal.response)
    elif isinstance(refusal, Partial):
        assert judge_request(request, refusal.remaining, naive.RULES, keeper, exists).refused == ()
    else:
        assert isinstance(refusal, Close)
