"""Reading identifiers in the bytes of a request."""

from __future__ import annotations

import struct
from dataclasses import replace
from uuid import UUID

import pytest
from tests.door.requests import filled

from doorkeeper.door.in_place import Identifier, may_breach, peek_identifiers
from doorkeeper.door.judged import Keeper
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.codec import RequestHeader, encode_request, read_request_header

PRODUCE, HEARTBEAT = 0, 12
LONG = "n" * 250


def sent(body: object, client_id: str | None = "client") -> tuple[RequestHeader, memoryview]:
    frame = memoryview(encode_request(body, 7, client_id))
    return read_request_header(frame), frame


class TestPeekIdentifiers:
    def test_names_each_by_its_path(self) -> None:
        body = replace(filled(HEARTBEAT, 4), group_id="g", member_id="m", group_instance_id=None)
        assert peek_identifiers(*sent(body), Keeper.EMBEDDED) == [
            Identifier("group_id", "g"),
            Identifier("member_id", "m"),
        ]
        assert peek_identifiers(*sent(body), Keeper.GATEWAY) == [Identifier("group_id", "g")]

    def test_finds_none_where_there_is_none(self) -> None:
        assert peek_identifiers(*sent(filled(18, 4)), Keeper.EMBEDDED) == []

    def test_refuses_a_request_that_is_cut_off_wherever(self) -> None:
        header, frame = sent(filled(HEARTBEAT, 4))
        for end in range(header.body_offset, len(frame) - 1):
            with pytest.raises(RemoteProtocolError):
                peek_identifiers(header, frame[:end], Keeper.EMBEDDED)

    def test_reads_bytes_that_are_no_utf8_as_java_does(self) -> None:
        header, frame = sent(replace(filled(HEARTBEAT, 4), group_id="groupname"))
        spoilt = bytes(frame).replace(b"groupname", b"\xff\xff\xffupname")
        assert "\ufffd\ufffd\ufffdupname" in [
            one.value for one in peek_identifiers(header, memoryview(spoilt), Keeper.EMBEDDED)
        ]


class TestMayBreach:
    @pytest.mark.parametrize(("transactional_id", "suspected"), [(None, False), ("t" * 249, False), (LONG, True)])
    @pytest.mark.parametrize("version", [3, 8, 9, 13, 14])
    def test_judges_a_produce_request_by_its_first_bytes(
        self, version: int, transactional_id: str | None, suspected: bool
    ) -> None:
        header, frame = sent(replace(filled(PRODUCE, version), transactional_id=transactional_id))
        start = frame[: header.body_offset + 2]
        assert may_breach(header, start, Keeper.GATEWAY) is suspected

    def test_suspects_a_request_whose_identifiers_have_not_come(self) -> None:
        header, frame = sent(filled(HEARTBEAT, 4))
        assert may_breach(header, frame, Keeper.GATEWAY) is False
        assert may_breach(header, frame[: header.body_offset], Keeper.GATEWAY) is True

    def test_suspects_malformed_bytes(self) -> None:
        header, frame = sent(filled(HEARTBEAT, 0))
        spoilt = bytearray(frame)
        struct.pack_into(">h", spoilt, header.body_offset, -2)
        assert may_breach(header, memoryview(spoilt), Keeper.GATEWAY) is True

    @pytest.mark.parametrize(
        ("client_id", "suspected"),
        [(None, False), ("c" * 249, False), (LONG, True), ("é" * 124, False), ("é" * 125, True)],
    )
    def test_suspects_long_client_ids(self, client_id: str | None, suspected: bool) -> None:
        assert may_breach(*sent(filled(18, 4), client_id), Keeper.GATEWAY) is suspected

    def test_skips_unknown_tagged_fields(self) -> None:
        body = replace(filled(42, 2), groups_names=("a", LONG))
        header, frame = sent(body)
        with_tag = bytes(frame[:-1]) + b"\x01\x63\x02ab"
        assert may_breach(header, memoryview(with_tag), Keeper.EMBEDDED) is True

    def test_knows_no_request_that_the_field_map_does_not_know(self) -> None:
        header, frame = sent(filled(18, 4))
        with pytest.raises(LookupError):
            may_breach(header._replace(api_version=5), frame, Keeper.GATEWAY)


class TestFetch:
    @pytest.mark.parametrize("tagged", [(), (1,), (0, 2), (0, 1, 2)])
    @pytest.mark.parametrize(("rack_id", "suspected"), [("r" * 249, False), (LONG, True)])
    def test_rack_is_found_behind_partitions_with_and_without_tagged_fields(
        self, tagged: tuple[int, ...], rack_id: str, suspected: bool
    ) -> None:
        body = replace(filled(1, 17), rack_id=rack_id)
        directory = UUID(int=7)
        topics = tuple(
            replace(
                topic,
                partitions=tuple(
                    replace(one, replica_directory_id=directory if place in tagged else None)
                    for place, one in enumerate(topic.partitions)
                ),
            )
            for topic in body.topics
        )
        request = sent(replace(body, topics=topics))
        assert may_breach(*request, Keeper.GATEWAY) is suspected
        assert peek_identifiers(*request, Keeper.GATEWAY) == [Identifier("rack_id", rack_id)]
