"""Every request of every version can be read, and every answer given in every version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from typing import Any, get_args, get_type_hints
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller import (
    acls,
    cluster_description,
    config_changes,
    config_resources,
    create_partitions,
    create_topics,
    delete_topics,
    describe,
    describe_quotas,
    described_configs,
    features,
    heartbeat,
    producer_ids,
    quotas,
    registration,
    scram,
)
from doorkeeper.cluster.controller.reshape import required_fields, reshape
from doorkeeper.wire.messages import bumped_version, is_known, message_classes, oldest_version

REQUESTS: dict[int, type[Any]] = {
    19: create_topics.CreateTopicsRequest,
    20: delete_topics.DeleteTopicsRequest,
    29: acls.AclFilter,
    30: acls.CreateAclsRequest,
    31: acls.DeleteAclsRequest,
    32: describe.DescribeConfigsRequest,
    37: create_partitions.CreatePartitionsRequest,
    48: describe_quotas.DescribeClientQuotasRequest,
    49: quotas.AlterClientQuotasRequest,
    50: scram.DescribeUserScramCredentialsRequest,
    51: scram.AlterUserScramCredentialsRequest,
    55: cluster_description.DescribeQuorumRequest,
    57: features.UpdateFeaturesRequest,
    60: cluster_description.DescribeClusterRequest,
    62: registration.BrokerRegistrationRequest,
    63: heartbeat.BrokerHeartbeatRequest,
    67: producer_ids.AllocateProducerIdsRequest,
    70: registration.ControllerRegistrationRequest,
}

RESPONSES: dict[int, object] = {
    19: create_topics.CreateTopicsResponse(
        (
            create_topics.CreatableTopicResult(
                "t", UUID(int=1), configs=(create_topics.CreatableTopicConfigs("a", None, False, 5, False),)
            ),
        )
    ),
    20: delete_topics.DeleteTopicsResponse((delete_topics.DeletableTopicResult("t", UUID(int=1)),)),
    29: acls.DescribeAclsResponse(
        resources=(acls.DescribeAclsResource(2, "t", 3, (acls.AclDescription("User:a", "*", 3, 3),)),)
    ),
    30: acls.CreateAclsResponse((acls.AclCreationResult(),)),
    31: acls.DeleteAclsResponse(
        (acls.DeleteAclsFilterResult(matching_acls=(acls.DeleteAclsMatchingAcl(2, "t", 3, "User:a", "*", 3, 3),)),)
    ),
    32: describe.DescribeConfigsResponse(
        (
            describe.DescribeConfigsResult(
                0,
                None,
                2,
                "t",
                (
                    described_configs.DescribeConfigsResourceResult(
                        "a", "b", False, 5, False, (described_configs.DescribeConfigsSynonym("a", "b", 5),), 2
                    ),
                ),
            ),
        )
    ),
    33: config_changes.AlterConfigsResponse((config_changes.AlterConfigsResourceResponse(0, None, 2, "t"),)),
    37: create_partitions.CreatePartitionsResponse((create_partitions.CreatePartitionsTopicResult("t"),)),
    44: config_changes.AlterConfigsResponse((config_changes.AlterConfigsResourceResponse(42, "no", 2, "t"),)),
    48: describe_quotas.DescribeClientQuotasResponse(
        entries=(
            describe_quotas.DescribedQuotas(
                (quotas.EntityData("user", None),), (describe_quotas.ValueData("producer_byte_rate", 1.0),)
            ),
        )
    ),
    49: quotas.AlterClientQuotasResponse((quotas.QuotaResult(0, None, (quotas.EntityData("user", "a"),)),)),
    50: scram.DescribeUserScramCredentialsResponse(
        (scram.DescribeUserScramCredentialsResult("a", credential_infos=(scram.CredentialInfo(1, 4096),)),)
    ),
    51: scram.AlterUserScramCredentialsResponse((scram.AlterUserScramCredentialsResult("a"),)),
    55: cluster_description.DescribeQuorumResponse(
        topics=(
            cluster_description.QuorumTopic(
                "t",
                (
                    cluster_description.QuorumPartition(
                        0, current_voters=(cluster_description.ReplicaState(1, UUID(int=2), 3),)
                    ),
                ),
            ),
        ),
        nodes=(cluster_description.QuorumNode(1, (cluster_description.QuorumListener("C", "h", 1),)),),
    ),
    57: features.UpdateFeaturesResponse(results=(features.UpdatableFeatureResult("group.version"),)),
    60: cluster_description.DescribeClusterResponse(
        "c", brokers=(cluster_description.DescribeClusterBroker(1, "h", 2),)
    ),
    62: registration.BrokerRegistrationResponse(broker_epoch=5),
    63: heartbeat.BrokerHeartbeatResponse(is_caught_up=True),
    64: heartbeat.UnregisterBrokerResponse(),
    67: producer_ids.AllocateProducerIdsResponse(),
    70: registration.ControllerRegistrationResponse(),
    74: config_resources.ListConfigResourcesResponse(config_resources=(config_resources.ListedConfigResource("t", 2),)),
}


def versions(api_key: int) -> list[int]:
    return [one for one in range(oldest_version(api_key), bumped_version(api_key) + 1) if is_known(api_key, one)]


def every(api_keys: Iterator[int]) -> list[tuple[int, int]]:
    return [(api_key, version) for api_key in api_keys for version in versions(api_key)]


@pytest.mark.parametrize(("api_key", "version"), every(iter(RESPONSES)))
def test_gives_each_answer_in_each_version(api_key: int, version: int) -> None:
    response = message_classes(api_key, version).response
    throttle = {"throttle_time": timedelta(0)} if "throttle_time" in {one.name for one in fields(response)} else {}
    answer = reshape(RESPONSES[api_key], response, **throttle)
    for found in walk(answer):
        for one in fields(found):
            assert not isinstance(getattr(found, one.name), list)
            if one.metadata.get("kafka_type") == "error_code":
                assert getattr(found, one.name) in (0, 42)


def walk(message: Any) -> Iterator[Any]:
    assert is_dataclass(message)
    yield message
    for one in fields(message):
        value = getattr(message, one.name)
        for item in value if isinstance(value, tuple) else (value,):
            if is_dataclass(item):
                yield from walk(item)


@pytest.mark.parametrize(("api_key", "version"), every(iter(REQUESTS)))
def test_reads_each_request_of_each_version(api_key: int, version: int) -> None:
    """Whatever our class requires, and it has no default for, every version has."""
    assert_covered(message_classes(api_key, version).request, REQUESTS[api_key])


def assert_covered(source: type[Any], target: type[Any]) -> None:
    theirs, ours = get_type_hints(source), get_type_hints(target)
    missing = required_fields(target) - theirs.keys()
    assert not missing, f"{source.__name__} has no {missing}"
    for name in theirs.keys() & ours.keys():
        nested_source, nested_target = nested(theirs[name]), nested(ours[name])
        if nested_target is not None:
            assert nested_source is not None
            assert_covered(nested_source, nested_target)


def nested(hint: Any) -> type[Any] | None:
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return hint
    return next((found for part in get_args(hint) if (found := nested(part)) is not None), None)


@dataclass(frozen=True)
class Inner:
    name: str
    extra: int = 7


@dataclass(frozen=True)
class Outer:
    inner: Inner | None
    items: tuple[Inner, ...]
    error_code: ErrorCode = ErrorCode.none


@dataclass(frozen=True)
class Other:
    @dataclass(frozen=True)
    class Part:
        name: str

    inner: Part | None
    items: tuple[Part, ...]
    error_code: int = 42
    unknown: str = "left out"


def test_copies_by_name_takes_defaults_and_leaves_the_rest() -> None:
    source = Other(None, (Other.Part("a"), Other.Part("b")))
    assert reshape(source, Outer) == Outer(None, (Inner("a"), Inner("b")), ErrorCode.invalid_request)
    assert reshape(Other(Other.Part("c"), ()), Outer) == Outer(Inner("c"), (), ErrorCode.invalid_request)


def test_what_is_given_comes_first_and_what_is_missing_is_an_error() -> None:
    assert reshape(Other.Part("a"), Inner, extra=9) == Inner("a", 9)
    with pytest.raises(TypeError):
        reshape(Other(None, ()), Inner)
