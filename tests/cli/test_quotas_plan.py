"""What differs, and the requests that make it nought."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cli import quotas_plan
from doorkeeper.cli.quotas_plan import differences, encoded_twins, repaired, requests, to_alterations
from doorkeeper.rules.client_id import DEFAULT, QuotaEntity, sanitize

ALICE, BOB = QuotaEntity(user="alice"), QuotaEntity(user="bob")
RATE, PERCENT = "producer_byte_rate", "request_percentage"
ENTITIES = st.sampled_from([ALICE, BOB, QuotaEntity(user=DEFAULT), QuotaEntity(client_id="c"), QuotaEntity(ip="::1")])
KEYS = st.sampled_from([RATE, PERCENT])
PRESENT = st.dictionaries(ENTITIES, st.dictionaries(KEYS, st.sampled_from([1.0, 2.0]), min_size=1))
WANTED = st.dictionaries(ENTITIES, st.dictionaries(KEYS, st.sampled_from([1.0, 2.0, None])))

Quotas = dict[QuotaEntity, dict[str, float]]


def apply(present: Quotas, alterations: quotas_plan.Alterations) -> Quotas:
    """What a cluster does."""
    state = {entity: dict(quotas) for entity, quotas in present.items()}
    for entity, quotas in alterations.items():
        for key, value in quotas.items():
            if value is None:
                state.get(entity, {}).pop(key, None)
            else:
                state.setdefault(entity, {})[key] = value
    return {entity: quotas for entity, quotas in state.items() if quotas}


def test_says_what_is_missing_other_and_unlisted() -> None:
    present = {ALICE: {RATE: 1.0, PERCENT: 5.0}, BOB: {RATE: 7.0}}
    wanted = {ALICE: {RATE: 2.0}, QuotaEntity(ip="::1"): {RATE: 3.0}}
    found = [
        (one.entity.user, one.key, one.in_cluster, one.in_file, one.listed) for one in differences(wanted, present)
    ]
    assert found == [
        ("alice", RATE, 1.0, 2.0, True),
        (None, RATE, None, 3.0, True),
        ("alice", PERCENT, 5.0, None, False),
        ("bob", RATE, 7.0, None, False),
    ]


def test_the_same_is_no_difference_and_removing_nothing_neither() -> None:
    assert differences({ALICE: {RATE: 1.0, PERCENT: None}}, {ALICE: {RATE: 1.0}}) == []


@given(WANTED, PRESENT)
def test_applied_differences_of_what_is_listed_vanish(
    wanted: dict[QuotaEntity, dict[str, float | None]], present: Quotas
) -> None:
    listed = [one for one in differences(wanted, present) if one.listed]
    after = apply(present, to_alterations(listed))
    assert not [one for one in differences(wanted, after) if one.listed]
    untouched = {(one.entity, one.key, one.in_cluster) for one in differences(wanted, present) if not one.listed}
    assert {(one.entity, one.key, one.in_cluster) for one in differences(wanted, after)} == untouched


@given(WANTED, PRESENT)
def test_pruned_nothing_differs(wanted: dict[QuotaEntity, dict[str, float | None]], present: Quotas) -> None:
    after = apply(present, to_alterations(differences(wanted, present)))
    assert differences(wanted, after) == []


def _many(count: int, name: str = "u") -> quotas_plan.Alterations:
    return {QuotaEntity(user=f"{name}{number}"): {RATE: 1.0} for number in range(count)}


def test_ten_thousand_quotas_are_one_request_and_one_more_are_two() -> None:
    assert [len(batch) for batch in requests(_many(10_000))] == [10_000]
    assert [len(batch) for batch in requests(_many(10_001))] == [10_000, 1]


def test_nothing_to_do_is_no_request() -> None:
    assert list(requests({})) == []


def test_long_names_make_more_requests() -> None:
    batches = list(requests(_many(1000, "x" * 20_000)))
    assert len(batches) > 1
    assert sum(map(len, batches)) == 1000
    assert max(len(batch) for batch in batches) * 20_000 < quotas_plan.MAX_BYTES_PER_REQUEST


def test_an_entity_is_never_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas_plan, "MAX_OPS_PER_REQUEST", 3)
    two = {RATE: 1.0, PERCENT: None}
    assert [list(batch.values()) for batch in requests({ALICE: two, BOB: two})] == [[two], [two]]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10))
def test_an_encoded_name_is_recognised_exactly_when_it_differs(name: str) -> None:
    encoded = QuotaEntity(client_id=sanitize(name))
    expected = {} if sanitize(name) == name else {encoded: QuotaEntity(client_id=name)}
    assert encoded_twins({encoded: {RATE: 1.0}}) == expected


@pytest.mark.parametrize("name", ["50%", "%zz", "a%2", "100%25 sure", "%41", "a+b"])
def test_names_that_no_encoding_gives_are_left_alone(name: str) -> None:
    assert encoded_twins({QuotaEntity(client_id=name): {RATE: 1.0}}) == {}


def test_repair_moves_quotas_and_keeps_what_the_true_name_has() -> None:
    encoded, true = QuotaEntity(user="a%20b", client_id=DEFAULT), QuotaEntity(user="a b", client_id=DEFAULT)
    present = {encoded: {RATE: 1.0, PERCENT: 2.0}, true: {RATE: 9.0}}
    after = apply(present, repaired(encoded_twins(present), present))
    assert after == {true: {RATE: 9.0, PERCENT: 2.0}}


def test_a_name_encoded_twice_is_repaired_step_by_step_and_loses_nothing() -> None:
    twice, once, true = (QuotaEntity(client_id=name) for name in ("%2520", "%20", " "))
    state: Quotas = {twice: {RATE: 1.0}, once: {RATE: 2.0}}
    state = apply(state, repaired(encoded_twins(state), state))
    assert state == {twice: {RATE: 1.0}, true: {RATE: 2.0}}
    state = apply(state, repaired(encoded_twins(state), state))
    assert state == {once: {RATE: 1.0}, true: {RATE: 2.0}}
