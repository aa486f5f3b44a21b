"""Every API, every version, every identifier: one unit over its limit is refused, at the limit it is not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.door.requests import PLACE, VERSIONS, Case, cases, codes_in, filled, header, messages_in, request_with

from doorkeeper.door.in_place import may_breach
from doorkeeper.door.judge import LAWFUL, Named, judge_request
from doorkeeper.door.judged import Keeper, item_array
from doorkeeper.door.refusal import Close, Partial, Whole, refuse
from doorkeeper.door.shapes import ITEMS, is_refused_alone
from doorkeeper.rules.fields import Doors, identifier_version
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.answers import error_response, refused_element
from doorkeeper.wire.codec import decode_request, decode_response, encode_request, encode_response, read_request_header
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import API_KEYS, message_classes

ENFORCED = Rulebook.of_release("5.0")
CLOSED = {(35, 1), (35, 2)}
"""DescribeLogDirs before version 3: a code per directory of the broker only."""


def nothing_exists(named: Named) -> bool:
    return False


def expected_code(case: Case) -> int:
    if case.field.kind is Kind.MEMBER_ID:
        return 42
    first = identifier_version(case.field.api_key)
    return 134 if first is not None and case.version >= first else 42


def read_back(api_key: int, version: int, response: Any) -> Any:
    return decode_response(api_key, version, encode_response(api_key, version, 7, response))


def over_the_wire(body: Any, client_id: str | None) -> Any:
    return decode_request(encode_request(body, 7, client_id))


@pytest.mark.parametrize("api_key", sorted(API_KEYS))
class TestEveryIdentifier:
    def test_one_unit_over_is_refused_with_the_right_code_in_the_right_place(self, api_key: int) -> None:
        for case in cases(api_key):
            asked, body = request_with(case, "x" * (case.limit + 1))
            request = over_the_wire(body, asked.client_id)
            verdict = judge_request(request, request.body, ENFORCED, Keeper.EMBEDDED, nothing_exists)
            assert [breach.field for breach in verdict.refused] == [case.field], case
            refusal = refuse(request, request.body, verdict.refused)
            if is_refused_alone(case.field, case.version):
                self._expect_partial(case, request.body, refusal)
            elif (api_key, case.version) in CLOSED:
                assert isinstance(refusal, Close), case
            else:
                assert isinstance(refusal, Whole), case
                response = read_back(api_key, case.version, refusal.response)
                assert set(codes_in(response)) == {expected_code(case)}, case
                assert set(messages_in(response)) <= {verdict.refused[0].violation.message}, case

    @staticmethod
    def _expect_partial(case: Case, body: Any, refusal: Any) -> None:
        assert isinstance(refusal, Partial), case
        api_key, version, row = case.field.api_key, case.version, ITEMS[case.field.api_key]
        asked = getattr(body, row.request)
        assert getattr(refusal.remaining, row.request) == asked[:PLACE] + asked[PLACE + 1 :], case
        encode_request(refusal.remaining, 7, "client")
        upstream = _accepted(api_key, version, refusal)
        merged = read_back(api_key, version, refusal.merge(read_back(api_key, version, upstream)))
        items = getattr(merged, row.response)
        assert [set(codes_in(item)) for item in items] == [{0}, {expected_code(case)}, {0}], case
        accepted = getattr(read_back(api_key, version, upstream), row.response)
        assert [items[0], items[2]] == list(accepted), case
        assert all(text for text in messages_in(items[PLACE])), case
        for name, origin in row.copied:
            if isinstance(getattr(items[PLACE], name, None), str):
                source = asked[PLACE] if origin == "" else getattr(asked[PLACE], origin)
                assert getattr(items[PLACE], name) == source, case

    @pytest.mark.parametrize("keeper", list(Keeper))
    def test_exactly_the_limit_is_let_in(self, api_key: int, keeper: Keeper) -> None:
        for case in cases(api_key):
            asked, body = request_with(case, "x" * case.limit)
            assert judge_request(asked, body, ENFORCED, keeper, nothing_exists) is LAWFUL, case

    def test_is_seen_in_the_bytes_too(self, api_key: int) -> None:
        for case in cases(api_key):
            for length in (case.limit, case.limit + 1):
                asked, body = request_with(case, "x" * length)
                frame = memoryview(encode_request(body, 7, asked.client_id))
                suspected = may_breach(read_request_header(frame), frame, Keeper.EMBEDDED)
                # The key of a share partition is longer than its group.
                assert suspected is (length > case.limit or bool(case.field.part)), (case, length)

    def test_gateway_passes_member_ids_that_brokers_make(self, api_key: int) -> None:
        for case in cases(api_key):
            asked, body = request_with(case, "x" * (case.limit + 1))
            verdict = judge_request(asked, body, ENFORCED, Keeper.GATEWAY, nothing_exists)
            assert (verdict is LAWFUL) is (case.field.doors is Doors.EMBEDDED), case


def _accepted(api_key: int, version: int, refusal: Partial) -> Any:
    """A response without errors to what remains: the mirror of the request, where the API has none for the whole."""
    if api_key not in (13, 24):
        return error_response(api_key, version, refusal.remaining, 0)
    row, response = ITEMS[api_key], message_classes(api_key, version).response
    items = tuple(refused_element(row, response, item, 0, None) for item in getattr(refusal.remaining, row.request))
    return build(response, {row.response: items})


class TestTheTest:
    def test_lawful_requests_are_lawful_at_every_version(self) -> None:
        for api_key, version in VERSIONS:
            assert judge_request(header(api_key, version), filled(api_key, version), ENFORCED) is LAWFUL

    def test_covers_every_array_of_items(self) -> None:
        met = {
            key
            for key in API_KEYS
            for case in cases(key)
            if item_array(case.field) and is_refused_alone(case.field, case.version)
        }
        assert met == set(ITEMS)
