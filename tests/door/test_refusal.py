"""Refusals of chosen APIs, spelt out: what is answered, in which order, and when the connection is closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.door.requests import filled, header

from doorkeeper.door.judge import RequestVerdict, judge_request
from doorkeeper.door.refusal import Close, Partial, Refusal, Whole, refuse
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.wire.api_versions import error_response as api_versions_error
from doorkeeper.wire.codec import decode_response, encode_response
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import message_classes

ENFORCED = Rulebook.of_release("5.0")
LONG = "n" * 250


def judged(api_key: int, version: int, body: Any, client_id: str = "client") -> RequestVerdict:
    return judge_request(header(api_key, version, client_id), body, ENFORCED, exists=lambda named: False)


def refused(api_key: int, version: int, body: Any, client_id: str = "client") -> Refusal:
    verdict = judged(api_key, version, body, client_id)
    return refuse(header(api_key, version, client_id), body, verdict.refused)


def whole(refusal: Refusal) -> Any:
    assert isinstance(refusal, Whole)
    return refusal.response


def partial(refusal: Refusal) -> Partial:
    assert isinstance(refusal, Partial)
    return refusal


def acls(*hosts: str) -> Any:
    body = filled(30, 3)
    return replace(body, creations=tuple(replace(body.creations[0], host=host) for host in hosts))


def described(*groups: str) -> Any:
    return replace(filled(15, 5), groups=groups)


def group_answers(*groups: str) -> Any:
    response = message_classes(15, 5).response
    element = type(whole(refused(15, 5, described(LONG))).groups[0])
    return build(response, {"groups": tuple(build(element, {"group_id": name}) for name in groups)})


class TestCodes:
    @pytest.mark.parametrize(("version", "code"), [(0, 42), (4, 42), (5, 134)])
    def test_are_new_from_the_added_version_on(self, version: int, code: int) -> None:
        assert whole(refused(12, version, replace(filled(12, version), group_id=LONG))).error_code == code

    @pytest.mark.parametrize("version", [4, 5])
    def test_of_member_ids_are_old_at_every_version(self, version: int) -> None:
        assert whole(refused(12, version, replace(filled(12, version), member_id="m" * 37))).error_code == 42

    @pytest.mark.parametrize("version", range(5))
    def test_of_client_ids_are_understood_by_any_client_that_asks_for_versions(self, version: int) -> None:
        response = whole(refused(18, version, filled(18, version), client_id=LONG))
        assert response == api_versions_error(version, response.error_code)
        assert decode_response(18, version, encode_response(18, version, 1, response)).error_code == 42


class TestWholeRefusals:
    def test_name_identifier_length_and_limit(self) -> None:
        response = whole(refused(68, 1, replace(filled(68, 1), group_id=LONG)))
        assert response.error_message.startswith("Group ID is too long: 250 UTF-16 code units, the limit is 249: 'nnn")

    def test_go_before_items(self) -> None:
        body = replace(filled(13, 5), group_id=LONG)
        body = replace(body, members=(replace(body.members[0], group_instance_id=LONG),))
        response = whole(refused(13, 6, build_at(13, 6, body)))
        assert (response.error_code, response.members) == (134, ())

    def test_answer_every_partition_of_a_produce_request(self) -> None:
        response = whole(refused(0, 9, replace(filled(0, 9), transactional_id=LONG)))
        codes = [one.error_code for topic in response.responses for one in topic.partition_responses]
        assert codes == [42] * 9

    def test_are_made_of_items_when_none_is_left(self) -> None:
        response = whole(refused(30, 3, acls(LONG, LONG)))
        assert [one.error_code for one in response.results] == [42, 42]

    def test_stand_in_for_an_item_without_room(self) -> None:
        body = filled(24, 5)
        empty = replace(body.transactions[0], transactional_id=LONG, topics=())
        response = whole(refused(24, 5, replace(body, transactions=(empty, *body.transactions))))
        assert response.error_code == 42


class TestPartialRefusals:
    def test_keep_the_callers_order(self) -> None:
        refusal = partial(refused(15, 5, described("b", LONG, "a", LONG + "2", "c")))
        assert refusal.remaining.groups == ("b", "a", "c")
        merged = refusal.merge(group_answers("c", "a", "b"))
        assert [one.group_id for one in merged.groups] == ["b", LONG, "a", LONG + "2", "c"]
        assert [one.error_code for one in merged.groups] == [0, 42, 0, 42, 0]

    def test_keep_answers_that_repeat_no_name_by_place(self) -> None:
        refusal = partial(refused(30, 3, acls("10.0.0.1", LONG, "10.0.0.2")))
        response = message_classes(30, 3).response
        element = type(whole(refused(30, 3, acls(LONG))).results[0])
        upstream = build(response, {"results": (build(element, {}), build(element, {"error_message": "second"}))})
        merged = refusal.merge(upstream)
        assert [one.error_code for one in merged.results] == [0, 42, 0]
        assert merged.results[2].error_message == "second"

    def test_keep_what_the_response_says_besides(self) -> None:
        refusal = partial(refused(15, 5, described("a", LONG)))
        upstream = group_answers("a")
        assert refusal.merge(upstream).throttle_time == upstream.throttle_time
        assert refusal.remaining.include_authorized_operations is False

    def test_answer_the_same_item_twice_when_asked_twice(self) -> None:
        refusal = partial(refused(15, 5, described("a", LONG, "a")))
        assert [one.group_id for one in refusal.merge(group_answers("a", "a")).groups] == ["a", LONG, "a"]

    def test_survive_an_answer_to_less_and_to_more_than_was_asked(self) -> None:
        refusal = partial(refused(15, 5, described("a", LONG, "b")))
        assert [one.group_id for one in refusal.merge(group_answers("b", "z")).groups] == [LONG, "b", "z"]
        assert [one.group_id for one in refusal.merge(group_answers()).groups] == [LONG]

    def test_find_quota_entities_by_all_their_parts(self) -> None:
        body = filled(49, 1)
        first, _, third = body.entries
        long = replace(first, entity=(replace(first.entity[0], entity_name=LONG),))
        refusal = partial(refused(49, 1, replace(body, entries=(long, first, third))))
        assert refusal.remaining.entries == (first, third)

    def test_give_each_item_its_own_code(self) -> None:
        body = filled(13, 5)
        first, second, third = body.members
        members = (replace(first, member_id="m" * 37), replace(second, group_instance_id=LONG), third)
        refusal = partial(refused(13, 6, build_at(13, 6, replace(body, members=members))))
        assert [told.code for told in refusal.told.values()] == [42, 134]


def build_at(api_key: int, version: int, body: Any) -> Any:
    """The same request at another version with the same fields."""
    return message_classes(api_key, version).request(**{name: getattr(body, name) for name in body.__slots__})


class TestClosing:
    def test_is_all_that_is_left_when_the_producer_wants_no_response(self) -> None:
        refusal = refused(0, 9, replace(filled(0, 9), acks=0, transactional_id=LONG))
        assert isinstance(refusal, Close)
        assert "PRODUCE version 9" in refusal.reason
        assert "Transactional ID is too long: 250" in refusal.reason

    @pytest.mark.parametrize(("version", "closes"), [(12, True), (13, False)])
    @pytest.mark.parametrize("topics", [None, ()])
    def test_meets_metadata_without_topics_before_version_13(self, version: int, closes: bool, topics: Any) -> None:
        body = replace(filled(3, version), topics=topics)
        assert isinstance(refused(3, version, body, client_id=LONG), Close if closes else Whole)

    def test_meets_a_commit_of_nothing(self) -> None:
        assert isinstance(refused(8, 9, replace(filled(8, 9), group_id=LONG, topics=())), Close)

    @pytest.mark.parametrize(("version", "closes"), [(2, True), (3, False)])
    def test_meets_old_descriptions_of_log_directories(self, version: int, closes: bool) -> None:
        assert isinstance(refused(35, version, filled(35, version), client_id=LONG), Close if closes else Whole)
