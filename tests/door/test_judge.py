"""What the door holds to be a breach, and what it lets by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.door.requests import Case, filled, header, request_with

from doorkeeper.door.conditions import CONDITIONS, deletes_only, removes_only, resets_all
from doorkeeper.door.judge import LAWFUL, Named, RequestVerdict, judge_request
from doorkeeper.door.judged import JUDGED_KINDS, Keeper
from doorkeeper.rules.fields import Existing, identifiers_of, load_fields
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind

ENFORCED, EVALUATED = Rulebook.of_release("5.0"), Rulebook.of_release("4.x")
LONG = "n" * 250
DELETE_GROUPS, DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL, ALTER_QUOTAS = 42, 32, 33, 44, 49


def judge(api_key: int, version: int, body: Any, exists: bool | None = False, **changes: Any) -> RequestVerdict:
    rulebook, keeper = changes.get("rulebook", ENFORCED), changes.get("keeper", Keeper.EMBEDDED)
    return judge_request(header(api_key, version), body, rulebook, keeper, lambda named: exists)


def case_of(api_key: int, version: int, kind: Kind) -> Case:
    return Case(version, next(field for field in identifiers_of(api_key, version) if field.kind is kind))


class TestSwitch:
    def test_off_a_breach_is_seen_and_not_refused(self) -> None:
        asked, body = request_with(case_of(12, 4, Kind.GROUP_ID), LONG)
        verdict = judge_request(asked, body, EVALUATED)
        assert [breach.identifier for breach in verdict.breaches] == [LONG]
        assert verdict.refused == ()

    def test_on_it_is_refused(self) -> None:
        asked, body = request_with(case_of(12, 4, Kind.GROUP_ID), LONG)
        verdict = judge_request(asked, body, ENFORCED)
        assert verdict.refused == verdict.breaches


class TestLength:
    @pytest.mark.parametrize(
        ("name", "lawful"),
        [("😀" * 124 + "a", True), ("😀" * 125, False), ("é" * 249, True), ("é" * 250, False), ("", True)],
    )
    def test_is_counted_in_utf16_code_units(self, name: str, lawful: bool) -> None:
        asked, body = request_with(case_of(12, 4, Kind.GROUP_ID), name)
        assert (judge_request(asked, body, ENFORCED) is LAWFUL) is lawful

    @pytest.mark.parametrize(("client_id", "lawful"), [(None, True), ("", True), ("c" * 249, True), ("c" * 250, False)])
    def test_of_the_client_id_counts_on_every_api(self, client_id: str | None, lawful: bool) -> None:
        verdict = judge_request(header(18, 4, client_id), filled(18, 4), ENFORCED)
        assert (verdict is LAWFUL) is lawful


class TestKinds:
    @pytest.mark.parametrize(("api_key", "version"), [(19, 7), (3, 12), (0, 9)])
    def test_topic_names_are_left_to_the_handlers(self, api_key: int, version: int) -> None:
        asked, body = request_with(case_of(api_key, version, Kind.TOPIC_NAME), LONG)
        assert judge_request(asked, body, ENFORCED) is LAWFUL

    def test_offset_metadata_is_left_to_the_handlers(self) -> None:
        asked, body = request_with(case_of(8, 9, Kind.OFFSET_METADATA), "m" * 4097)
        assert judge_request(asked, body, ENFORCED) is LAWFUL

    def test_all_others_are_judged(self) -> None:
        assert {kind for kind in Kind if kind not in JUDGED_KINDS} == {
            Kind.TOPIC_NAME,
            Kind.OFFSET_METADATA,
            Kind.CONFIG_CHANGE,
        }

    @pytest.mark.parametrize(("resource_type", "lawful"), [(2, True), (4, False), (32, False), (16, False)])
    def test_config_resource_of_type_topic_is_a_topic_name(self, resource_type: int, lawful: bool) -> None:
        body = filled(DESCRIBE_CONFIGS, 4)
        resource = replace(body.resources[0], resource_type=resource_type, resource_name=LONG)
        verdict = judge(DESCRIBE_CONFIGS, 4, replace(body, resources=(resource,)))
        assert (verdict is LAWFUL) is lawful

    @pytest.mark.parametrize("resource_type", [2, 3])
    def test_acl_resource_of_any_type_is_a_resource_name(self, resource_type: int) -> None:
        body = filled(30, 3)
        creation = replace(body.creations[0], resource_type=resource_type, resource_name=LONG)
        (breach,) = judge(30, 3, replace(body, creations=(creation,))).refused
        assert breach.violation.kind is Kind.RESOURCE_NAME

    @pytest.mark.parametrize(
        ("key_type", "kind"), [(0, Kind.GROUP_ID), (1, Kind.TRANSACTIONAL_ID), (2, None), (3, None)]
    )
    def test_coordinator_key_is_what_its_type_says(self, key_type: int, kind: Kind | None) -> None:
        body = replace(filled(10, 6), key_type=key_type, coordinator_keys=(LONG,))
        assert [breach.violation.kind for breach in judge(10, 6, body).refused] == ([] if kind is None else [kind])

    @pytest.mark.parametrize(("group", "lawful"), [("g" * 249, True), (LONG, False), ("a:" + "b" * 248, False)])
    def test_share_key_is_judged_by_its_group(self, group: str, lawful: bool) -> None:
        body = replace(filled(10, 6), key_type=2, coordinator_keys=(f"{group}:AAAAAAAAAAAAAAAAAAAAAA:0",))
        assert (judge(10, 6, body) is LAWFUL) is lawful

    @pytest.mark.parametrize(
        ("entity_type", "rule"), [("client-id", "CLIENT_ID_TOO_LONG"), ("user", "RESOURCE_NAME_TOO_LONG")]
    )
    def test_quota_entity_is_judged_by_its_type(self, entity_type: str, rule: str) -> None:
        (breach,) = judge(ALTER_QUOTAS, 1, quota_change(remove=False, entity_type=entity_type)).refused
        assert (breach.violation.rule, breach.violation.kind) == (rule, Kind.QUOTA_ENTITY)

    @pytest.mark.parametrize(("keeper", "lawful"), [(Keeper.EMBEDDED, False), (Keeper.GATEWAY, True)])
    def test_member_id_of_a_classic_group_is_judged_by_whom_its_broker_made(self, keeper: Keeper, lawful: bool) -> None:
        asked, body = request_with(case_of(11, 9, Kind.MEMBER_ID), "client-" + "0" * 36)
        assert (judge_request(asked, body, ENFORCED, keeper) is LAWFUL) is lawful

    @pytest.mark.parametrize("keeper", list(Keeper))
    def test_member_id_that_a_client_made_is_judged_by_all(self, keeper: Keeper) -> None:
        asked, body = request_with(case_of(68, 1, Kind.MEMBER_ID), "0" * 37)
        assert len(judge_request(asked, body, ENFORCED, keeper).refused) == 1


class TestWhatExists:
    @pytest.mark.parametrize(("exists", "served"), [(True, True), (None, True), (False, False)])
    def test_is_served_where_the_request_only_removes(self, exists: bool | None, served: bool) -> None:
        verdict = judge(DELETE_GROUPS, 2, replace(filled(DELETE_GROUPS, 2), groups_names=(LONG,)), exists)
        assert (len(verdict.served), len(verdict.refused)) == ((1, 0) if served else (0, 1))

    def test_is_refused_where_the_request_does_more(self) -> None:
        asked, body = request_with(case_of(12, 4, Kind.GROUP_ID), LONG)
        assert len(judge_request(asked, body, ENFORCED, exists=lambda named: True).refused) == 1

    def test_is_unknown_unless_somebody_is_asked(self) -> None:
        body = replace(filled(DELETE_GROUPS, 2), groups_names=(LONG,))
        assert len(judge_request(header(DELETE_GROUPS, 2), body, ENFORCED).served) == 1

    def test_does_not_help_a_client_id(self) -> None:
        asked = header(DELETE_GROUPS, 2, LONG)
        verdict = judge_request(asked, filled(DELETE_GROUPS, 2), ENFORCED, exists=lambda named: True)
        assert [breach.field.kind for breach in verdict.refused] == [Kind.CLIENT_ID]

    def test_is_asked_about_over_long_names_only(self) -> None:
        asked: list[Named] = []
        body = replace(filled(DELETE_GROUPS, 2), groups_names=("short", LONG))
        judge_request(header(DELETE_GROUPS, 2), body, ENFORCED, exists=asked.append)
        assert [(one.field.kind, one.name) for one in asked] == [(Kind.GROUP_ID, LONG)]

    def test_is_asked_with_what_stands_around_the_name(self) -> None:
        asked: list[Named] = []
        body = quota_change(entity_type="client-id")
        judge_request(header(ALTER_QUOTAS, 1), body, ENFORCED, exists=asked.append)
        (named,) = asked
        assert (named.selected, named.owner, named.body) == ("client-id", body.entries[0].entity[0], body)


def config_change(api_key: int, version: int, operations: list[int]) -> Any:
    body = filled(api_key, version)
    resource = body.resources[0]
    config = resource.configs[0]
    changed = {"config_operation": 0} if api_key == INCREMENTAL else {}
    configs = tuple(replace(config, **dict.fromkeys(changed, operation)) for operation in operations)
    return replace(body, resources=(replace(resource, resource_type=32, resource_name=LONG, configs=configs),))


def quota_change(*removals: bool, remove: bool = True, entity_type: str = "user") -> Any:
    body = filled(ALTER_QUOTAS, 1)
    entry = body.entries[0]
    ops = tuple(replace(entry.ops[0], remove=one) for one in removals or (remove,))
    entity = (replace(entry.entity[0], entity_type=entity_type, entity_name=LONG),)
    return replace(body, entries=(replace(entry, entity=entity, ops=ops),))


class TestConditions:
    def test_every_condition_of_a_judged_field_is_a_predicate(self) -> None:
        told = {
            field.condition
            for field in load_fields()
            if field.kind in JUDGED_KINDS and field.existing is Existing.CONDITIONAL
        }
        assert told == set(CONDITIONS)

    @pytest.mark.parametrize(("operations", "only"), [([1], True), ([1, 1], True), ([1, 0], False), ([2], False)])
    def test_incremental_change_removes_if_every_operation_is_delete(self, operations: list[int], only: bool) -> None:
        body = config_change(INCREMENTAL, 1, operations)
        assert deletes_only(body.resources[0]) is only
        assert (len(judge(INCREMENTAL, 1, body, exists=True).refused) == 0) is only

    @pytest.mark.parametrize(("keys", "only"), [(0, True), (1, False)])
    def test_full_change_removes_if_it_names_no_config(self, keys: int, only: bool) -> None:
        body = config_change(ALTER_CONFIGS, 2, [0] * keys)
        assert resets_all(body.resources[0]) is only
        assert (len(judge(ALTER_CONFIGS, 2, body, exists=True).refused) == 0) is only

    @pytest.mark.parametrize(("removals", "only"), [((True,), True), ((True, True), True), ((True, False), False)])
    def test_quota_change_removes_if_every_operation_removes(self, removals: tuple[bool, ...], only: bool) -> None:
        body = quota_change(*removals)
        assert removes_only(body.entries[0]) is only
        assert (len(judge(ALTER_QUOTAS, 1, body, exists=True).refused) == 0) is only

    def test_speaks_for_one_item_not_for_its_neighbours(self) -> None:
        removing, setting = quota_change(True), quota_change(False)
        body = replace(removing, entries=(*removing.entries, *setting.entries))
        verdict = judge(ALTER_QUOTAS, 1, body, exists=True)
        assert ([one.item for one in verdict.served], [one.item for one in verdict.refused]) == ([0], [1])


class TestUnknownRequests:
    @pytest.mark.parametrize(("api_key", "version"), [(18, 5), (999, 0), (12, 6)])
    def test_are_never_taken_for_lawful(self, api_key: int, version: int) -> None:
        with pytest.raises(LookupError):
            judge_request(header(api_key, version), None, ENFORCED)
