"""The identifiers in a logged request: the same ones that the door finds in the request itself."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from doorkeeper.audit.requests.identifiers import body_fields, find_identifiers
from doorkeeper.door.judged import Keeper, judged_fields
from doorkeeper.rules.fields import Existing, load_apis
from doorkeeper.rules.names import GOVERNED
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.consumer_protocol import Subscription, write_subscription

LONG = "n" * 250
ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, ALTER_CLIENT_QUOTAS = 33, 44, 49


def found(api_key: int, request: Any) -> list[tuple[str, str]]:
    return [(one.kind.value, one.value) for one in find_identifiers(api_key, request)]


def test_judges_every_field_that_the_gateway_judges_and_does_not_serve_always() -> None:
    for api in load_apis().values():
        for version in range(api.first_version, api.last_version + 1):
            gateway = {
                field.kafka_path
                for field in judged_fields(api.key, version, Keeper.GATEWAY)
                if not field.in_header and field.existing is not Existing.ALWAYS
            }
            assert gateway <= {field.kafka_path for field in body_fields(api.key) if field.kind in GOVERNED}


@pytest.mark.parametrize(
    ("api_key", "request_", "expected"),
    [
        (
            12,
            {"groupId": LONG, "memberId": "m" * 99, "groupInstanceId": "i"},
            [("group_id", LONG), ("group_instance_id", "i")],
        ),
        (
            0,
            {"transactionalId": None, "topicData": [{"name": "a"}, {"name": "b"}]},
            [("topic_name", "a"), ("topic_name", "b")],
        ),
        (10, {"key": LONG, "keyType": 0}, []),
        (15, {"groups": [LONG]}, []),
        (3, {"topics": [{"name": "t"}], "allowAutoTopicCreation": True}, [("topic_name", "t")]),
        (3, {"topics": [{"name": "t"}], "allowAutoTopicCreation": False}, []),
        (3, {"topics": None}, []),
        (3, "", []),
        (3, {"topics": [None, {"name": 5}, "x"], "allowAutoTopicCreation": True}, []),
    ],
)
def test_finds_what_clients_choose_and_nothing_that_only_looks_up(
    api_key: int, request_: Any, expected: list[tuple[str, str]]
) -> None:
    assert found(api_key, request_) == expected


@pytest.mark.parametrize(
    ("api_key", "resource", "served"),
    [
        (INCREMENTAL_ALTER_CONFIGS, {"configs": [{"name": "k", "configOperation": 1, "value": None}]}, True),
        (INCREMENTAL_ALTER_CONFIGS, {"configs": [{"name": "k", "configOperation": 0, "value": "v"}]}, False),
        (ALTER_CONFIGS, {"configs": []}, True),
        (ALTER_CONFIGS, {"configs": [{"name": "k", "value": "v"}]}, False),
    ],
)
def test_a_name_that_is_only_cleaned_up_is_served(api_key: int, resource: dict[str, Any], served: bool) -> None:
    request = {"resources": [{"resourceType": 32, "resourceName": LONG, **resource}]}
    assert found(api_key, request) == ([] if served else [("resource_name", LONG)])


def test_a_quota_entity_is_judged_by_its_type() -> None:
    entity = [{"entityType": "client-id", "entityName": LONG}, {"entityType": "user", "entityName": LONG}]
    request = {"entries": [{"entity": entity, "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}]}]}
    rows = [one.limit.kind for one in find_identifiers(ALTER_CLIENT_QUOTAS, request)]
    assert rows == [Kind.CLIENT_ID, Kind.RESOURCE_NAME]


def test_reads_the_rack_and_topics_in_a_subscription() -> None:
    metadata = base64.b64encode(write_subscription(Subscription(topics=("t",), rack_id=LONG), 3)).decode()
    request = {"groupId": "g", "protocolType": "consumer", "protocols": [{"name": "range", "metadata": metadata}]}
    assert found(11, request) == [("group_id", "g"), ("rack_id", LONG), ("topic_name", "t")]


@pytest.mark.parametrize("metadata", ["", "AAE", "!!", base64.b64encode(b"\x00\x03\x00").decode(), None, 7])
def test_passes_over_bytes_that_are_no_subscription(metadata: object) -> None:
    request = {"groupId": "g", "protocolType": "consumer", "protocols": [{"name": "range", "metadata": metadata}]}
    assert found(11, request) == [("group_id", "g")]


def test_passes_over_another_protocols_bytes() -> None:
    metadata = base64.b64encode(write_subscription(Subscription(topics=("t",), rack_id=LONG), 3)).decode()
    request = {"groupId": "g", "protocolType": "connect", "protocols": [{"name": "x", "metadata": metadata}]}
    assert found(11, request) == [("group_id", "g")]
