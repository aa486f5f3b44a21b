"""Requests from plain values, and what no request can carry."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.fake_cluster import FakeCluster

from doorkeeper.client import Admin, NewTopic, ResourceIdentifierTooLargeError
from doorkeeper.client.errors import InvalidRequestError
from doorkeeper.client.messages import MAX_STRING_BYTES, build, require_fits, require_string_fits
from doorkeeper.wire.codec import encode_body
from doorkeeper.wire.messages import message_classes

CREATE_TOPICS, DESCRIBE_CONFIGS, METADATA = 19, 32, 3


def _create(name: str) -> object:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    values = {"topics": [topic], "timeout": timedelta(seconds=1), "validate_only": False}
    return build(message_classes(CREATE_TOPICS, 7).request, values)


def test_an_older_version_takes_the_fields_that_it_has() -> None:
    values = {
        "resources": [{"resource_type": 2, "resource_name": "t", "configuration_keys": None}],
        "include_synonyms": True,
        "include_documentation": True,
    }
    for version in (1, 4):
        body = build(message_classes(DESCRIBE_CONFIGS, version).request, values)
        assert body.resources[0].resource_name == "t"
        assert hasattr(body, "include_documentation") is (version >= 3)
        assert encode_body(body)


def test_flags_are_off_unless_said_or_on_by_kafkas_default() -> None:
    body = build(message_classes(METADATA, 13).request, {"topics": None})
    assert body.topics is None
    assert not body.include_topic_authorized_operations
    assert body.allow_auto_topic_creation


def test_a_missing_field_is_a_fault_of_ours() -> None:
    with pytest.raises(TypeError, match="needs 'topics'"):
        build(message_classes(CREATE_TOPICS, 7).request, {"timeout": timedelta(0)})


def test_a_string_of_32767_bytes_fits_and_can_be_written() -> None:
    body = _create("x" * MAX_STRING_BYTES)
    require_fits(body)
    assert len(encode_body(body)) > MAX_STRING_BYTES


def test_a_string_of_32768_bytes_is_refused_by_field_length_and_limit() -> None:
    with pytest.raises(ResourceIdentifierTooLargeError) as caught:
        require_fits(_create("x" * (MAX_STRING_BYTES + 1)))
    assert "topics[0].name" in caught.value.message
    assert "32768 bytes" in caught.value.message
    assert "at most 32767" in caught.value.message
    assert len(caught.value.message) < 300


def test_bytes_are_counted_not_characters() -> None:
    require_string_fits("name", "é" * 16383)
    with pytest.raises(ResourceIdentifierTooLargeError):
        require_string_fits("name", "é" * 16384)


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidRequestError, match=r"topics\[0\].name .* lone surrogate at position 1"):
        require_fits(_create("a\ud800"))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_whatever_fits_can_be_written(name: str) -> None:
    body = _create(name)
    require_fits(body)
    assert encode_body(body)


def test_nothing_is_sent_when_a_name_does_not_fit() -> None:
    async def ask() -> None:
        async with FakeCluster() as cluster, Admin(cluster.bootstrap) as admin:
            cluster.on(CREATE_TOPICS, lambda request: None)
            with pytest.raises(ResourceIdentifierTooLargeError):
                await admin.create_topics([NewTopic("x" * 40_000)])
            assert not cluster.nodes[1].asked_of(CREATE_TOPICS)

    asyncio.run(ask())


def test_a_client_id_that_no_header_can_carry_is_refused_at_once() -> None:
    Admin("localhost:1", client_id="x" * MAX_STRING_BYTES)
    with pytest.raises(ResourceIdentifierTooLargeError, match="client_id"):
        Admin("localhost:1", client_id="x" * (MAX_STRING_BYTES + 1))
