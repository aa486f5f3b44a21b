"""Client quotas: entities, keys, values, filters; any string as client id (KIP-190)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import after, cluster

from doorkeeper.cluster.controller.decision import MAX_RECORDS_PER_DECISION, TOO_MANY_RECORDS, Decision
from doorkeeper.cluster.controller.describe_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    MatchType,
    describe_client_quotas,
)
from doorkeeper.cluster.controller.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    QuotaEntry,
    decide_alter_client_quotas,
)
from doorkeeper.cluster.image.metadata import MetadataImage

EXACT, DEFAULT, SPECIFIED = MatchType.EXACT, MatchType.DEFAULT, MatchType.SPECIFIED
EMPTY = cluster()
ODD = 'a b/c:d*é"\n😀'


def entity(**parts: str | None) -> tuple[EntityData, ...]:
    return tuple(EntityData(kind.replace("_", "-"), name) for kind, name in parts.items())


def entry(who: tuple[EntityData, ...], **quotas: float | None) -> QuotaEntry:
    ops = tuple(OpData(key, 0.0 if value is None else value, value is None) for key, value in quotas.items())
    return QuotaEntry(who, ops)


def alter(
    image: MetadataImage, *entries: QuotaEntry, validate_only: bool = False
) -> Decision[AlterClientQuotasResponse]:
    return decide_alter_client_quotas(image, AlterClientQuotasRequest(entries, validate_only))


def test_stores_quotas_for_every_kind_of_entity() -> None:
    entries = [
        entry(entity(user="alice"), producer_byte_rate=1.0),
        entry(entity(client_id=ODD), consumer_byte_rate=2.0),
        entry(entity(client_id=ODD, user="alice"), request_percentage=0.5),
        entry(entity(user=None, client_id=None), controller_mutation_rate=0.25),
        entry(entity(ip="127.0.0.1"), connection_creation_rate=3.0),
        entry(entity(ip=None), connection_creation_rate=4.0),
    ]
    decision = alter(cluster(), *entries)
    assert [one.error_code for one in decision.response.entries] == [0] * 6
    assert [one.entity for one in decision.response.entries] == [one.entity for one in entries]
    assert after(cluster(), decision).client_quotas.entities == {
        (("user", "alice"),): {"producer_byte_rate": 1.0},
        (("client-id", ODD),): {"consumer_byte_rate": 2.0},
        (("client-id", ODD), ("user", "alice")): {"request_percentage": 0.5},
        (("client-id", None), ("user", None)): {"controller_mutation_rate": 0.25},
        (("ip", "127.0.0.1"),): {"connection_creation_rate": 3.0},
        (("ip", None),): {"connection_creation_rate": 4.0},
    }


@given(st.text(min_size=1))
def test_any_string_is_a_client_id(client_id: str) -> None:
    decision = alter(EMPTY, entry(entity(client_id=client_id), producer_byte_rate=1.0))
    assert after(EMPTY, decision).client_quotas.entities == {(("client-id", client_id),): {"producer_byte_rate": 1.0}}


ALICE = entity(user="alice")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (entry((), producer_byte_rate=1.0), "Invalid empty client quota entity"),
        (entry(entity(group="g"), producer_byte_rate=1.0), "Unhandled client quota entity type: group"),
        (entry(entity(user=""), producer_byte_rate=1.0), "Empty user not supported"),
        (entry(entity(client_id=""), producer_byte_rate=1.0), "Empty client-id not supported"),
        (
            entry((*ALICE, *entity(user="bob")), producer_byte_rate=1.0),
            "Invalid client quota entity, duplicate entity entry user",
        ),
        (
            entry(entity(ip="1.2.3.4", user="alice"), connection_creation_rate=1.0),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            entry(entity(ip="no such host"), connection_creation_rate=1.0),
            "no such host is not a valid IP or resolvable host.",
        ),
        (entry(ALICE, connection_creation_rate=1.0), "Invalid configuration key connection_creation_rate"),
        (entry(ALICE, SCRAM=1.0), "Invalid configuration key SCRAM"),
        (
            entry(entity(ip="1.2.3.4"), producer_byte_rate=1.0),
            "Invalid configuration key producer_byte_rate",
        ),
        (entry(ALICE, producer_byte_rate=0.0), "Quota producer_byte_rate must be greater than 0"),
        (entry(ALICE, producer_byte_rate=-1.0), "Quota producer_byte_rate must be greater than 0"),
        (entry(ALICE, request_percentage=0.0), "Quota request_percentage must be greater than 0"),
        (entry(ALICE, request_percentage=math.nan), "Quota request_percentage must be greater than 0"),
        (entry(ALICE, request_percentage=math.inf), "Quota request_percentage must be a finite number"),
        (entry(ALICE, producer_byte_rate=1.5), "producer_byte_rate cannot be a fractional value."),
        (entry(ALICE, producer_byte_rate=0.5), "producer_byte_rate cannot be a fractional value."),
        (entry(ALICE, producer_byte_rate=1e19), "Proposed value for producer_byte_rate is too large for a LONG."),
        (
            entry(entity(ip="1.2.3.4"), connection_creation_rate=2147483648.0),
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (
            QuotaEntry(ALICE, (OpData("producer_byte_rate", 1.0, False),) * 2),
            (
                "Duplicate quota key producer_byte_rate not updating quota for this entity "
                "ClientQuotaEntity(entries={user=alice})"
            ),
        ),
    ],
)
def test_refuses_an_entry_whole_and_leaves_the_others(bad: QuotaEntry, message: str) -> None:
    good = entry(entity(client_id="good"), producer_byte_rate=7.0)
    decision = alter(cluster(), bad, good)
    refused, stored = decision.response.entries
    assert (refused.error_code, refused.error_message) == (ErrorCode.invalid_request, message)
    assert stored.error_code == ErrorCode.none
    assert set(after(cluster(), decision).client_quotas.entities) == {(("client-id", "good"),)}


@pytest.mark.parametrize(
    "good",
    [
        entry(ALICE, producer_byte_rate=1.0000001),
        entry(ALICE, producer_byte_rate=float(2**63)),
        entry(ALICE, request_percentage=5e-324),
        entry(entity(ip="::1"), connection_creation_rate=2147483647.0),
        entry(entity(ip="[::1]"), connection_creation_rate=1.0),
    ],
)
def test_takes_values_up_to_the_limit(good: QuotaEntry) -> None:
    (answer,) = alter(cluster(), good).response.entries
    assert answer.error_code == ErrorCode.none


def test_asks_the_resolver_about_names_of_hosts_only() -> None:
    asked: list[str] = []

    def resolve(name: str) -> bool:
        asked.append(name)
        return True

    entries = (
        entry(entity(ip="localhost"), connection_creation_rate=1.0),
        entry(entity(ip="10.0.0.1"), connection_creation_rate=1.0),
        entry(entity(ip=None), connection_creation_rate=1.0),
    )
    decision = decide_alter_client_quotas(cluster(), AlterClientQuotasRequest(entries), is_resolvable=resolve)
    assert [one.error_code for one in decision.response.entries] == [0, 0, 0]
    assert asked == ["localhost"]


def test_refuses_every_copy_of_an_entity_that_comes_twice() -> None:
    decision = alter(
        cluster(),
        entry(entity(user="alice", client_id=None), producer_byte_rate=1.0),
        entry(entity(client_id=None, user="alice"), producer_byte_rate=2.0),
    )
    assert decision.records == ()
    assert {one.error_code for one in decision.response.entries} == {ErrorCode.invalid_request}
    assert decision.response.entries[0].error_message == (
        "Ignoring duplicate entity ClientQuotaEntity(entries={user=alice, client-id=null})"
    )


def test_writes_only_what_changes() -> None:
    image = after(cluster(), alter(cluster(), entry(ALICE, producer_byte_rate=1.0, consumer_byte_rate=2.0)))
    assert alter(image, entry(ALICE, producer_byte_rate=1.0)).records == ()
    assert alter(image, entry(ALICE, request_percentage=None)).records == ()
    assert alter(image, entry(ALICE, no_such_key=None)).response.entries[0].error_code == ErrorCode.none
    image = after(image, alter(image, entry(ALICE, producer_byte_rate=None, consumer_byte_rate=3.0)))
    assert image.client_quotas.entities == {(("user", "alice"),): {"consumer_byte_rate": 3.0}}
    image = after(image, alter(image, entry(ALICE, consumer_byte_rate=None)))
    assert image.client_quotas.entities == {}


def test_validate_only_judges_and_stores_nothing() -> None:
    decision = alter(cluster(), entry(ALICE, producer_byte_rate=1.0), entry((), a=1.0), validate_only=True)
    assert decision.records == ()
    assert [one.error_code for one in decision.response.entries] == [ErrorCode.none, ErrorCode.invalid_request]


def test_one_decision_writes_at_most_ten_thousand_records() -> None:
    entries = [
        entry(entity(user=f"u{number}"), producer_byte_rate=1.0, consumer_byte_rate=1.0)
        for number in range(MAX_RECORDS_PER_DECISION // 2 + 1)
    ]
    decision = alter(cluster(), *entries)
    assert len(decision.records) == MAX_RECORDS_PER_DECISION
    *stored, last = decision.response.entries
    assert {one.error_code for one in stored} == {ErrorCode.none}
    assert (last.error_code, last.error_message) == (ErrorCode.policy_violation, TOO_MANY_RECORDS)


STORED = after(
    cluster(),
    alter(
        cluster(),
        entry(entity(user="alice"), producer_byte_rate=1.0),
        entry(entity(user=None), producer_byte_rate=2.0),
        entry(entity(user="alice", client_id="c"), producer_byte_rate=3.0),
        entry(entity(ip="1.2.3.4"), connection_creation_rate=4.0),
    ),
)


@pytest.mark.parametrize(
    ("components", "strict", "values"),
    [
        ((), False, {1.0, 2.0, 3.0, 4.0}),
        ((), True, set()),
        ((ComponentData("user", EXACT, "alice"),), False, {1.0, 3.0}),
        ((ComponentData("user", EXACT, "alice"),), True, {1.0}),
        ((ComponentData("user", DEFAULT, None),), False, {2.0}),
        ((ComponentData("user", SPECIFIED, None),), False, {1.0, 2.0, 3.0}),
        ((ComponentData("user", SPECIFIED, None),), True, {1.0, 2.0}),
        ((ComponentData("user", SPECIFIED, None), ComponentData("client-id", EXACT, "c")), True, {3.0}),
        ((ComponentData("user", EXACT, "nobody"),), False, set()),
        ((ComponentData("ip", EXACT, "1.2.3.4"),), True, {4.0}),
    ],
)
def test_describes_what_the_filter_matches(
    components: tuple[ComponentData, ...], strict: bool, values: set[float]
) -> None:
    response = describe_client_quotas(STORED, DescribeClientQuotasRequest(components, strict))
    assert {value.value for one in response.entries for value in one.values} == values


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ((ComponentData("", EXACT, "a"),), ErrorCode.invalid_request, "Invalid empty entity type."),
        (
            (ComponentData("user", EXACT, "a"), ComponentData("user", DEFAULT, None)),
            ErrorCode.invalid_request,
            "Entity type user cannot appear more than once in the filter.",
        ),
        ((ComponentData("group", EXACT, "a"),), ErrorCode.unsupported_version, "Unsupported entity type group"),
        ((ComponentData("user", 3, None),), ErrorCode.invalid_request, "Unknown match type 3"),
        (
            (ComponentData("user", EXACT, None),),
            ErrorCode.invalid_request,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            (ComponentData("user", DEFAULT, "a"),),
            ErrorCode.invalid_request,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            (ComponentData("user", SPECIFIED, "a"),),
            ErrorCode.invalid_request,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        (
            (ComponentData("ip", DEFAULT, None), ComponentData("client-id", DEFAULT, None)),
            ErrorCode.invalid_request,
            (
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            ),
        ),
    ],
)
def test_refuses_a_filter_that_makes_no_sense(
    components: tuple[ComponentData, ...], code: ErrorCode, message: str
) -> None:
    response = describe_client_quotas(STORED, DescribeClientQuotasRequest(components))
    assert (response.error_code, response.error_message, response.entries) == (code, message, ())
