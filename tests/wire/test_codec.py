"""Requests and responses survive the wire; broken ones are the peer's fault, unwritable ones ours."""

from __future__ import annotations

import io
import tracemalloc
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.produce.v11.request import PartitionProduceData, ProduceRequest, TopicProduceData
from kio.serial import entity_reader, entity_writer
from tests.wire.samples import sample
from tests.wire.strategies import ALL_CLASSES, ALL_VERSIONS, any_message

from doorkeeper.errors import LocalProtocolError, RemoteProtocolError
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.codec import (
    MAX_HEADER_TAGS,
    RequestHeader,
    decode_body,
    decode_request,
    decode_response,
    encode_body,
    encode_parts,
    encode_request,
    encode_response,
    read_correlation_id,
    read_request_header,
)
from doorkeeper.wire.defaults import build
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.messages import API_VERSIONS, message_classes

ODD_CLIENT_ID = 'a b/c:d*é"\n😀'


def written_by_kio(message: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(message))(out, message)
    return out.getvalue()


def metadata_request(*names: str) -> MetadataRequest:
    topics = tuple(MetadataRequestTopic(topic_id=None, name=name) for name in names)  # type: ignore[arg-type]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=False)


class TestBodies:
    @settings(max_examples=300, deadline=None)
    @given(message=any_message())
    def test_writes_the_bytes_that_kio_writes_and_reads_them_back(self, message: Any) -> None:
        encoded = encode_body(message)
        assert encoded == written_by_kio(message)
        assert decode_body(type(message), encoded, 0) == message

    def test_writes_and_reads_a_sample_of_every_class(self) -> None:
        for entity in ALL_CLASSES:
            message = sample(entity)
            encoded = encode_body(message)
            assert encoded == written_by_kio(message), entity
            assert decode_body(entity, encoded, 0) == entity_reader(entity)(encoded, 0)[0], entity

    def test_reads_from_a_view_and_from_an_offset(self) -> None:
        message = metadata_request("one", "two")
        encoded = b"lead" + encode_body(message)
        assert decode_body(MetadataRequest, memoryview(encoded), 4) == message

    def test_leaves_records_uncopied_in_parts(self) -> None:
        records = memoryview(bytes(10_000))
        partition = PartitionProduceData(index=0, records=records)  # type: ignore[arg-type]
        topics = (TopicProduceData(name="t", partition_data=(partition,)),)  # type: ignore[arg-type]
        request = ProduceRequest(acks=1, timeout=timedelta(0), topic_data=topics)  # type: ignore[arg-type]
        parts: list[Frame] = encode_parts(request)
        assert any(part is records for part in parts)

    @pytest.mark.parametrize("topics", [({"name": "no entity"},), 7])
    def test_refuses_to_write_a_wrong_type(self, topics: Any) -> None:
        with pytest.raises(LocalProtocolError, match="MetadataRequest can't be written"):
            encode_body(build(MetadataRequest, {"topics": topics}))

    def test_refuses_to_write_null_where_the_schema_has_none(self) -> None:
        entity = message_classes(19, 7).request
        with pytest.raises(LocalProtocolError):
            encode_body(build(entity, {"topics": None}))

    def test_refuses_to_write_a_lone_surrogate(self) -> None:
        with pytest.raises(LocalProtocolError, match="surrogates not allowed"):
            encode_body(metadata_request("\ud800"))

    def test_refuses_to_write_a_number_for_bytes(self) -> None:
        entity = message_classes(36, 2).request
        with pytest.raises(LocalProtocolError):
            encode_body(build(entity, {"auth_bytes": 7}))

    def test_writes_an_old_string_of_32767_bytes_and_refuses_one_more(self) -> None:
        entity = message_classes(12, 0).request
        longest = build(entity, {"group_id": "g" * 32767})
        assert decode_body(entity, encode_body(longest), 0) == longest
        with pytest.raises(LocalProtocolError, match="HeartbeatRequest can't be written"):
            encode_body(build(entity, {"group_id": "g" * 32768}))


class TestNullArrays:
    def test_are_read_where_the_schema_has_them(self) -> None:
        assert decode_body(message_classes(3, 1).request, b"\xff\xff\xff\xff", 0).topics is None

    @pytest.mark.parametrize("version", [1, 5])
    def test_are_refused_inside_elements(self, version: int) -> None:
        entity = message_classes(35, version).request
        encoded = encode_body(sample(entity))
        null = {1: b"\xff\xff\xff\xff", 5: b"\0"}[version]
        partitions = {1: b"\0\0\0\1\0\0\0\1", 5: b"\2\0\0\0\1"}[version]
        at = encoded.rindex(partitions)
        with pytest.raises(RemoteProtocolError, match="non-nullable field partitions"):
            decode_body(entity, encoded[:at] + null + encoded[at + len(partitions) :], 0)


class TestMalformedBodies:
    V12 = message_classes(3, 12).request
    V0 = message_classes(3, 0).request

    @pytest.mark.parametrize(
        ("entity", "body", "reason"),
        [
            (V0, b"\x7f\xff\xff\xff", "longer than the message"),
            (V12, b"\xff\xff\xff\xff\x0f", "longer than the message"),
            (V12, b"\xff\xff\xff\xff\xff\x0f", "more than five bytes"),
            (V0, b"\xff\xff\xff\xfe", "negative array length"),
            (V0, b"\xff\xff\xff\xff", "non-nullable field topics was serialized as null"),
            (V0, b"\0\0\0\1\xff\xfe", "negative string length"),
            (V0, b"\0\0\0\1\xff\xff", "null"),
            (V0, b"\0\0\0\1\0\2a", "ends before"),
            (V12, b"", "exhausted"),
            (V0, b"", "ends before"),
        ],
    )
    def test_is_the_peers_fault(self, entity: type[Any], body: bytes, reason: str) -> None:
        with pytest.raises(RemoteProtocolError, match=reason) as caught:
            decode_body(entity, body, 0)
        assert caught.value.error_code_hint == ErrorCode.INVALID_REQUEST
        assert "MetadataRequest version" in caught.value.reason

    @pytest.mark.parametrize(("entity", "body"), [(V0, b"\0\0\0\0"), (V12, b"\1\0\0\0")])
    def test_passes_over_bytes_that_are_left_as_kafka_does(self, entity: type[Any], body: bytes) -> None:
        assert decode_body(entity, body + b"rest", 0) == decode_body(entity, body, 0)

    def test_reads_librdkafkas_question_for_all_topics(self) -> None:
        """Version 13 as librdkafka 2.16 sends it, with a length of four bytes where one would do."""
        body = decode_body(message_classes(3, 13).request, bytes.fromhex("00000000010000"), 0)
        assert body.topics is None

    @pytest.mark.parametrize("claimed", [b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f"])
    def test_reserves_no_memory_for_elements_that_are_not_there(self, claimed: bytes) -> None:
        tracemalloc.start()
        try:
            with pytest.raises(RemoteProtocolError):
                decode_body(self.V12, claimed + bytes(100), 0)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()

    @given(data=st.data())
    def test_refuses_every_prefix_of_a_message(self, data: st.DataObject) -> None:
        encoded = encode_body(metadata_request("some", "names"))
        length = data.draw(st.integers(0, len(encoded) - 1))
        with pytest.raises(RemoteProtocolError):
            decode_body(MetadataRequest, encoded[:length], 0)


class TestUnknownTaggedFields:
    """KIP-482: a reader skips tagged fields that it does not know."""

    PLAIN = encode_body(metadata_request("one"))

    def test_skips_one_at_the_end_of_a_message(self) -> None:
        tagged = self.PLAIN[:-1] + b"\1\x63\4abcd"
        assert decode_body(MetadataRequest, tagged, 0) == metadata_request("one")

    def test_skips_those_inside_elements(self) -> None:
        inner = self.PLAIN.index(b"one") + 3
        assert self.PLAIN[inner] == 0
        tagged = self.PLAIN[:inner] + b"\2\x05\1x\x06\0" + self.PLAIN[inner + 1 :]
        assert decode_body(MetadataRequest, tagged, 0) == metadata_request("one")

    def test_keeps_known_ones_beside_an_unknown_one(self) -> None:
        entity = message_classes(63, 2).request
        message = build(entity, {"cordoned_log_dirs": ()})
        plain = encode_body(message)
        assert plain[-4:] == b"\1\1\1\1"
        tagged = plain[:-4] + b"\2\1\1\1\x63\2zz"
        assert decode_body(entity, tagged, 0) == message

    def test_mends_the_size_of_a_known_one_that_holds_an_unknown_one(self) -> None:
        entity = message_classes(1, 16).response
        message = sample(entity, responses=())
        plain = encode_body(message)
        node = encode_body(message.node_endpoints[0])
        assert plain.endswith(self.node_endpoints(node))
        longer = plain.removesuffix(self.node_endpoints(node)) + self.node_endpoints(node[:-1] + b"\1\x09\1x")
        assert decode_body(entity, longer, 0) == message

    @staticmethod
    def node_endpoints(node: bytes) -> bytes:
        """A section of one tagged field, tag 0: an array of one."""
        return b"\1\0" + bytes((len(node) + 1,)) + b"\2" + node

    def test_refuses_one_that_is_longer_than_the_message(self) -> None:
        with pytest.raises(RemoteProtocolError, match="longer than the message"):
            decode_body(MetadataRequest, self.PLAIN[:-1] + b"\1\x63\x7fabcd", 0)

    def test_refuses_a_known_one_with_a_wrong_size(self) -> None:
        entity = message_classes(63, 2).request
        plain = encode_body(build(entity, {"cordoned_log_dirs": ()}))
        with pytest.raises(RemoteProtocolError, match="does not end where it says"):
            decode_body(entity, plain[:-4] + b"\2\1\2\1\1\x63\0", 0)


class TestRequests:
    @pytest.mark.parametrize("client_id", [None, "", "me", ODD_CLIENT_ID])
    @pytest.mark.parametrize("version", [0, 12])
    def test_carries_any_string_as_client_id(self, client_id: str | None, version: int) -> None:
        body = sample(message_classes(3, version).request)
        encoded = encode_request(body, 77, client_id)
        request = decode_request(encoded)
        assert (request.api_key, request.api_version, request.correlation_id) == (3, version, 77)
        assert request.client_id == client_id
        assert request.body == body
        assert request.frame[request.body_offset :] == encode_body(body)

    def test_reads_the_header_of_every_api_and_version(self) -> None:
        for api_key, version in ALL_VERSIONS:
            body = sample(message_classes(api_key, version).request)
            encoded = encode_request(body, 5, "me")
            header = read_request_header(encoded)
            assert header == RequestHeader(api_key, version, 5, "me", len(encoded) - len(encode_body(body)))

    def test_skips_tagged_fields_of_the_header(self) -> None:
        body = metadata_request("one")
        encoded = encode_request(body, 1, None)
        assert encoded[10] == 0
        tagged = encoded[:10] + b"\1\x07\3abc" + encoded[11:]
        assert decode_request(tagged).body == body

    def test_reads_the_header_of_an_api_versions_request_from_the_future(self) -> None:
        header = read_request_header(b"\0\x12\0\x63\0\0\0\x07\0\2me" + b"\xff garbage")
        assert header == RequestHeader(API_VERSIONS, 99, 7, "me", 12)

    @pytest.mark.parametrize(
        ("frame", "reason", "code"),
        [
            (b"", "no header", None),
            (b"\0\3\0\x0c\0\0\0\1\0", "no header", None),
            (b"\x03\xe7\0\0\0\0\0\1\xff\xff", "Unknown API key 999", ErrorCode.INVALID_REQUEST),
            (b"\0\3\0\x63\0\0\0\1\xff\xff", "METADATA.*unsupported version 99", ErrorCode.UNSUPPORTED_VERSION),
            (b"\0\3\xff\xff\0\0\0\1\xff\xff", "unsupported version -1", ErrorCode.UNSUPPORTED_VERSION),
            (b"\0\3\0\x0c\0\0\0\1\xff\xfe", "negative length -2", None),
            (b"\0\3\0\x0c\0\0\0\1\0\5abc", "inside its client id", None),
            (b"\0\3\0\x0c\0\0\0\1\xff\xff", "inside its header", None),
            (b"\0\3\0\x0c\0\0\0\1\xff\xff\1\1\x10", "inside its header", None),
            (b"\0\3\0\x0c\0\0\0\1\xff\xff" + bytes((MAX_HEADER_TAGS + 1,)), "65 tagged fields", None),
        ],
    )
    def test_refuses_a_broken_header(self, frame: bytes, reason: str, code: int | None) -> None:
        with pytest.raises(RemoteProtocolError, match=reason) as caught:
            read_request_header(frame)
        assert caught.value.error_code_hint == code

    def test_reads_a_client_id_that_is_no_utf_8_as_java_does(self) -> None:
        header = read_request_header(b"\0\3\0\x0c\0\0\0\1\0\6a\xed\xa0\x80\xffb\0")
        assert header.client_id == "a\ufffd\ufffdb"

    def test_does_not_decode_a_version_that_nobody_knows(self) -> None:
        with pytest.raises(RemoteProtocolError, match="unsupported version 99"):
            decode_request(b"\0\x12\0\x63\0\0\0\x07\xff\xff")

    def test_writes_a_client_id_of_32767_bytes_and_refuses_one_more(self) -> None:
        body = metadata_request()
        assert decode_request(encode_request(body, 1, "c" * 32767)).client_id == "c" * 32767
        with pytest.raises(LocalProtocolError, match="client id does not fit"):
            encode_request(body, 1, "c" * 32768)

    def test_refuses_a_client_id_with_a_lone_surrogate(self) -> None:
        with pytest.raises(LocalProtocolError, match="client id does not fit"):
            encode_request(metadata_request(), 1, "\udc00")


class TestResponses:
    def test_carries_a_sample_of_every_api_and_version(self) -> None:
        for api_key, version in ALL_VERSIONS:
            body = sample(message_classes(api_key, version).response)
            encoded = encode_response(api_key, version, 9, body)
            assert read_correlation_id(encoded) == 9
            assert repr(decode_response(api_key, version, encoded)).startswith(type(body).__name__)

    def test_keeps_header_version_0_for_api_versions(self) -> None:
        body = sample(message_classes(API_VERSIONS, 4).response)
        assert encode_response(API_VERSIONS, 4, 1, body) == b"\0\0\0\1" + encode_body(body)

    def test_has_tagged_fields_in_the_header_of_other_flexible_responses(self) -> None:
        body = sample(message_classes(3, 9).response)
        assert encode_response(3, 9, 1, body) == b"\0\0\0\1\0" + encode_body(body)

    def test_carries_the_new_error_code_which_kio_does_not_know(self) -> None:
        body = build(message_classes(12, 4).response, {"error_code": ErrorCode.RESOURCE_IDENTIFIER_TOO_LARGE})
        assert decode_response(12, 4, encode_response(12, 4, 1, body)).error_code == 134

    def test_reads_an_error_code_that_nobody_knows(self) -> None:
        body = build(message_classes(12, 4).response, {"error_code": 999})
        assert decode_response(12, 4, encode_response(12, 4, 1, body)).error_code == 999

    def test_reads_unknown_codes_inside_elements(self) -> None:
        response = message_classes(44, 1).response
        body = sample(response)
        result = type(body.responses[0])
        body = build(response, {"responses": (build(result, {"error_code": 999, "resource_name": "x"}),)})
        assert decode_response(44, 1, encode_response(44, 1, 1, body)).responses[0].error_code == 999

    def test_refuses_to_answer_with_another_version(self) -> None:
        body = sample(message_classes(3, 8).response)
        with pytest.raises(LocalProtocolError, match="no answer to METADATA version 9"):
            encode_response(3, 9, 1, body)

    @pytest.mark.parametrize("frame", [b"", b"\0\0\0"])
    def test_refuses_a_response_without_header(self, frame: bytes) -> None:
        with pytest.raises(RemoteProtocolError, match="no header"):
            decode_response(3, 9, frame)
