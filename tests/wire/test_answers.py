"""Every refusal has a shape that its API and version can carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from kio.serial.errors import DecodeError
from tests.wire.samples import sample
from tests.wire.strategies import ALL_VERSIONS

from doorkeeper.errors import LocalProtocolError, RemoteProtocolError
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.verdict import RuleId, Violation
from doorkeeper.wire.answers import code_for, error_response, fault_code, mirrors_of
from doorkeeper.wire.broker_registration import BROKER_REGISTRATION
from doorkeeper.wire.codec import decode_body, decode_response, encode_body, encode_response
from doorkeeper.wire.codes import wire_code
from doorkeeper.wire.defaults import build
from doorkeeper.wire.error_shapes import ERROR_CODE_FIELDS, MIRRORS
from doorkeeper.wire.messages import PRODUCE, bumped_version, is_known, message_classes

NO_ROOM = {(35, 1), (35, 2)}
"""DescribeLogDirs before version 3 has a code per directory of the broker only: nothing in the request to mirror."""
KEYS = sorted({key for key, _ in ALL_VERSIONS})
BUMPED = [(key, bumped_version(key)) for key in KEYS if is_known(key, bumped_version(key))]
VERSIONS = [*ALL_VERSIONS, *BUMPED]


def lawful_request(api_key: int, version: int) -> Any:
    values = {"acks": 1} if api_key == PRODUCE else {}
    return sample(message_classes(api_key, version).request, **values)


def codes_in(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for element in value:
            yield from codes_in(element)
    elif is_dataclass(value):
        for one in fields(value):
            inner = getattr(value, one.name)
            if one.name in ERROR_CODE_FIELDS:
                yield inner
            else:
                yield from codes_in(inner)


class TestErrorResponses:
    @pytest.mark.parametrize("code", [ErrorCode.INVALID_REQUEST, ErrorCode.RESOURCE_IDENTIFIER_TOO_LARGE])
    def test_carry_the_code_in_every_place_for_one_at_every_api_and_version(self, code: ErrorCode) -> None:
        without = set()
        for api_key, version in VERSIONS:
            response = error_response(api_key, version, lawful_request(api_key, version), code, "why")
            if response is None:
                without.add((api_key, version))
                continue
            read = decode_response(api_key, version, encode_response(api_key, version, 1, response))
            assert set(codes_in(read)) == {code}, (api_key, version)
        assert without == NO_ROOM

    def test_survive_any_lawful_request_without_elements(self) -> None:
        for api_key, version in VERSIONS:
            request = build(message_classes(api_key, version).request, {})
            response = error_response(api_key, version, request, 42)
            if response is not None:
                encode_response(api_key, version, 1, response)

    def test_put_the_message_where_there_is_a_field_for_it(self) -> None:
        response = error_response(44, 1, lawful_request(44, 1), 42, "why not")
        assert response is not None
        assert [one.error_message for one in response.responses] == ["why not"]
        top_level = error_response(48, 1, lawful_request(48, 1), 42, "why not")
        assert top_level is not None
        assert top_level.error_message == "why not"

    def test_name_the_resources_of_the_request_in_its_order(self) -> None:
        request_class = message_classes(44, 1).request
        resource = type(sample(request_class).resources[0])
        resources = tuple(build(resource, {"resource_type": 2, "resource_name": name}) for name in ("b", "a", "b"))
        response = error_response(44, 1, build(request_class, {"resources": resources}), 42)
        assert response is not None
        assert [(one.resource_type, one.resource_name) for one in response.responses] == [(2, "b"), (2, "a"), (2, "b")]

    def test_name_topics_and_partitions_of_a_produce_request(self) -> None:
        response = error_response(PRODUCE, 11, lawful_request(PRODUCE, 11), 42, "why")
        assert response is not None
        ((topic,),) = (response.responses,)
        assert (topic.name, topic.partition_responses[0].index) == ("", 0)
        assert topic.partition_responses[0].base_offset == -1
        assert topic.partition_responses[0].error_message == "why"

    @pytest.mark.parametrize(("version", "mirrored"), [(12, True), (13, False)])
    def test_repeat_the_partitions_of_a_fetch_up_to_version_12(self, version: int, mirrored: bool) -> None:
        response = error_response(1, version, lawful_request(1, version), 42)
        assert response is not None
        assert response.error_code == 42
        assert bool(response.responses) is mirrored

    def test_name_a_user_once_that_is_both_deleted_and_changed(self) -> None:
        request = lawful_request(51, 0)
        response = error_response(51, 0, request, 42)
        assert response is not None
        assert [one.user for one in response.results] == [""]

    def test_find_topics_inside_log_directories(self) -> None:
        response = error_response(34, 2, lawful_request(34, 2), 42)
        assert response is not None
        assert response.results[0].partitions[0].partition_index == 1

    def test_repeat_the_quota_entity(self) -> None:
        request_class = message_classes(49, 1).request
        entry = type(sample(request_class).entries[0])
        entity = type(sample(entry).entity[0])(entity_type="client-id", entity_name=None)
        response = error_response(49, 1, build(request_class, {"entries": (build(entry, {"entity": (entity,)}),)}), 42)
        assert response is not None
        (named,) = response.entries[0].entity
        assert (named.entity_type, named.entity_name) == ("client-id", None)
        assert encode_body(response)

    def test_have_no_room_where_produce_wants_no_response(self) -> None:
        assert error_response(PRODUCE, 11, sample(message_classes(PRODUCE, 11).request, acks=0), 42) is None

    @pytest.mark.parametrize(("version", "has_room"), [(12, False), (13, True)])
    def test_have_room_in_metadata_without_topics_from_version_13(self, version: int, has_room: bool) -> None:
        request = build(message_classes(3, version).request, {"topics": None})
        assert (error_response(3, version, request, 42) is not None) is has_room

    def test_have_no_room_for_topics_without_partitions(self) -> None:
        request_class = message_classes(2, 7).request
        topic = type(sample(request_class).topics[0])
        request = build(request_class, {"topics": (build(topic, {"name": "t"}),)})
        assert error_response(2, 7, request, 42) is None

    def test_write_an_empty_name_where_the_request_gave_an_id_alone(self) -> None:
        request_class = message_classes(3, 12).request
        topic = type(sample(request_class).topics[0])
        response = error_response(3, 12, build(request_class, {"topics": (build(topic, {"name": None}),)}), 42)
        assert response is not None
        assert response.topics[0].name == ""

    def test_every_row_counts_at_some_version(self) -> None:
        for api_key, rows in MIRRORS.items():
            used = {row for key, version in VERSIONS if key == api_key for row in mirrors_of(api_key, version)}
            assert used == set(rows), api_key


class TestCodes:
    LATE = Violation(
        RuleId.GROUP_ID_TOO_LONG, "too long", ErrorCode.RESOURCE_IDENTIFIER_TOO_LARGE, ErrorCode.INVALID_REQUEST
    )

    @pytest.mark.parametrize(("version", "code"), [(4, 42), (5, 134)])
    def test_the_new_code_is_told_from_the_added_version_on(self, version: int, code: int) -> None:
        assert code_for(self.LATE, 12, version) == code

    @pytest.mark.parametrize(("version", "code"), [(4, 42), (5, 42), (6, 134)])
    def test_broker_registration_tells_it_from_version_6_on(self, version: int, code: int) -> None:
        assert code_for(self.LATE, BROKER_REGISTRATION, version) == code

    def test_every_decode_error_of_kio_is_the_peers_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        entity = message_classes(12, 0).request
        for kind in DecodeError.__subclasses__():
            monkeypatch.setattr("doorkeeper.wire.codec._reader", lambda _, kind=kind: _raising(kind))
            with pytest.raises(RemoteProtocolError) as caught:
                decode_body(entity, encode_body(sample(entity)), 0)
            assert fault_code(caught.value) == ErrorCode.INVALID_REQUEST

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (RemoteProtocolError("r"), ErrorCode.INVALID_REQUEST),
            (RemoteProtocolError("r", ErrorCode.UNSUPPORTED_VERSION), ErrorCode.UNSUPPORTED_VERSION),
            (LocalProtocolError("r"), ErrorCode.UNKNOWN_SERVER_ERROR),
            (ZeroDivisionError(), ErrorCode.UNKNOWN_SERVER_ERROR),
        ],
    )
    def test_faults_are_told_by_whose_they_are(self, error: Exception, code: ErrorCode) -> None:
        assert fault_code(error) == code

    def test_a_number_that_is_nobodys_code_is_refused(self) -> None:
        with pytest.raises(ValueError, match="9999"):
            wire_code(9999)


def _raising(kind: type[Exception]) -> Any:
    def read(frame: bytes, offset: int) -> None:
        raise kind("broken")

    return read
