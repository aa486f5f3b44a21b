"""ACLs as storage: what may be created, what filters match, what is deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import Ids, after, cluster

from doorkeeper.cluster.controller import acls
from doorkeeper.cluster.controller.acls import (
    AclCreation,
    AclFilter,
    CreateAclsRequest,
    DeleteAclsRequest,
    decide_create_acls,
    decide_delete_acls,
    describe_acls,
)
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.wire.acls import AclOperation, AclPermission, AclResourceType, PatternType

READ_ORDERS = AclCreation(
    resource_type=AclResourceType.TOPIC,
    resource_name="orders",
    principal="User:alice",
    host="*",
    operation=AclOperation.READ,
    permission_type=AclPermission.ALLOW,
)


def created(image: MetadataImage, *creations: AclCreation) -> MetadataImage:
    return after(image, decide_create_acls(image, CreateAclsRequest(creations), new_id=Ids()))


def test_stores_each_acl_once() -> None:
    request = CreateAclsRequest((READ_ORDERS, READ_ORDERS, replace(READ_ORDERS, host="h")))
    decision = decide_create_acls(cluster(), request, new_id=Ids())
    assert [one.error_code for one in decision.response.results] == [0, 0, 0]
    image = after(cluster(), decision)
    assert len(image.acls.acls) == 2
    again = decide_create_acls(image, request, new_id=Ids(1))
    assert again.records == ()
    assert [one.error_code for one in again.response.results] == [0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource_type": 0}, "Invalid resourceType UNKNOWN"),
        ({"resource_type": 1}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 0}, "Invalid patternType UNKNOWN"),
        ({"resource_pattern_type": 1}, "Invalid patternType ANY"),
        ({"resource_pattern_type": 2}, "Invalid patternType MATCH"),
        ({"resource_pattern_type": 5}, "Invalid patternType UNKNOWN"),
        ({"operation": 0}, "Invalid operation UNKNOWN"),
        ({"operation": 1}, "Invalid operation ANY"),
        ({"operation": 16}, "Invalid operation UNKNOWN"),
        ({"permission_type": 0}, "Invalid permissionType UNKNOWN"),
        ({"permission_type": 1}, "Invalid permissionType ANY"),
        ({"permission_type": 4}, "Invalid permissionType UNKNOWN"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        (
            {"resource_type": AclResourceType.CLUSTER},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        (
            {"principal": "alice"},
            (
                "Could not parse principal from `alice` (no colon is present separating the principal type from the "
                "principal name)"
            ),
        ),
        (
            {"principal": ""},
            (
                "Could not parse principal from `` (no colon is present separating the principal type from the "
                "principal name)"
            ),
        ),
    ],
)
def test_refuses_one_and_stores_the_other(changes: dict[str, Any], message: str) -> None:
    request = CreateAclsRequest((replace(READ_ORDERS, **changes), READ_ORDERS))
    decision = decide_create_acls(cluster(), request, new_id=Ids())
    bad, good = decision.response.results
    assert (bad.error_code, bad.error_message) == (ErrorCode.invalid_request, message)
    assert good.error_code == ErrorCode.none
    assert len(decision.records) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type": AclResourceType.CLUSTER, "resource_name": "kafka-cluster"},
        {"resource_type": AclResourceType.USER},
        {"resource_pattern_type": PatternType.PREFIXED},
        {"operation": AclOperation.TWO_PHASE_COMMIT},
        {"permission_type": AclPermission.DENY},
        {"principal": ":"},
    ],
)
def test_takes_the_last_value_of_each_kind(changes: dict[str, Any]) -> None:
    request = CreateAclsRequest((replace(READ_ORDERS, **changes),))
    assert len(decide_create_acls(cluster(), request, new_id=Ids()).records) == 1


PREFIXED = replace(READ_ORDERS, resource_name="ord", resource_pattern_type=PatternType.PREFIXED)
WILDCARD = replace(READ_ORDERS, resource_name="*")
GROUP = replace(
    READ_ORDERS,
    resource_type=AclResourceType.GROUP,
    principal="User:bob",
    host="h",
    operation=AclOperation.DELETE,
    permission_type=AclPermission.DENY,
)
STORED = created(cluster(), READ_ORDERS, PREFIXED, WILDCARD, GROUP)
ALL = AclFilter(pattern_type_filter=PatternType.ANY)


def described(one: AclFilter) -> set[tuple[int, str]]:
    return {(resource.resource_type, resource.resource_name) for resource in describe_acls(STORED, one).resources}


TOPIC_NAMES = {(2, "orders"), (2, "ord"), (2, "*")}


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (ALL, {*TOPIC_NAMES, (3, "orders")}),
        (replace(ALL, resource_type_filter=AclResourceType.TOPIC), TOPIC_NAMES),
        (replace(ALL, resource_name_filter="orders"), {(2, "orders"), (3, "orders")}),
        (replace(ALL, resource_name_filter="ord"), {(2, "ord")}),
        (AclFilter(), {(2, "orders"), (2, "*"), (3, "orders")}),
        (AclFilter(resource_name_filter="ord"), set()),
        (AclFilter(pattern_type_filter=PatternType.PREFIXED), {(2, "ord")}),
        (AclFilter(pattern_type_filter=PatternType.PREFIXED, resource_name_filter="orders"), set()),
        (
            AclFilter(pattern_type_filter=PatternType.MATCH, resource_name_filter="orders"),
            TOPIC_NAMES | {(3, "orders")},
        ),
        (AclFilter(pattern_type_filter=PatternType.MATCH, resource_name_filter="or"), {(2, "*")}),
        (AclFilter(pattern_type_filter=PatternType.MATCH), TOPIC_NAMES | {(3, "orders")}),
        (replace(ALL, principal_filter="User:bob"), {(3, "orders")}),
        (replace(ALL, principal_filter="User:b"), set()),
        (replace(ALL, host_filter="h"), {(3, "orders")}),
        (replace(ALL, host_filter="*"), TOPIC_NAMES),
        (replace(ALL, operation=AclOperation.DELETE), {(3, "orders")}),
        (replace(ALL, permission_type=AclPermission.ALLOW), TOPIC_NAMES),
    ],
)
def test_a_filter_matches_as_kafkas_does(one: AclFilter, found: set[tuple[int, str]]) -> None:
    assert described(one) == found
    decision = decide_delete_acls(STORED, DeleteAclsRequest((one,)))
    (result,) = decision.response.filter_results
    assert {(acl.resource_type, acl.resource_name) for acl in result.matching_acls} == found
    left = after(STORED, decision)
    assert len(left.acls.acls) == 4 - len(found)


def test_describes_entries_of_one_pattern_together() -> None:
    image = created(cluster(), READ_ORDERS, replace(READ_ORDERS, operation=AclOperation.WRITE))
    (resource,) = describe_acls(image, ALL).resources
    assert [one.operation for one in resource.acls] == [AclOperation.READ, AclOperation.WRITE]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource_type_filter": 0}, "Unknown patternFilter."),
        ({"pattern_type_filter": 9}, "Unknown patternFilter."),
        ({"operation": 0}, "Unknown entryFilter."),
        ({"permission_type": 4}, "Unknown entryFilter."),
    ],
)
def test_refuses_a_filter_with_unknown_parts(changes: dict[str, Any], message: str) -> None:
    bad = replace(ALL, **changes)
    response = describe_acls(STORED, bad)
    assert (response.error_code, response.error_message) == (ErrorCode.invalid_request, message)
    refused, done = decide_delete_acls(STORED, DeleteAclsRequest((bad, ALL))).response.filter_results
    assert (refused.error_code, refused.error_message) == (ErrorCode.invalid_request, message)
    assert len(done.matching_acls) == 4


def test_an_acl_that_two_filters_match_is_removed_once() -> None:
    decision = decide_delete_acls(STORED, DeleteAclsRequest((ALL, ALL)))
    assert len(decision.records) == 4
    assert [len(one.matching_acls) for one in decision.response.filter_results] == [4, 4]
    assert after(STORED, decision).acls.acls == {}


@pytest.mark.parametrize(("maximum", "refused"), [(4, False), (3, True)])
def test_too_many_deletions_fail_the_whole_request(
    maximum: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acls, "MAX_RECORDS_PER_DECISION", maximum)
    decision = decide_delete_acls(STORED, DeleteAclsRequest((ALL, AclFilter(host_filter="nowhere"))))
    assert len(decision.records) == (0 if refused else 4)
    codes = {one.error_code for one in decision.response.filter_results}
    assert codes == {ErrorCode.invalid_request if refused else ErrorCode.none}
