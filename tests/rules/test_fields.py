"""The field map as data: what it says of single fields, and the laws that its rows keep among themselves."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.rules import fields
from doorkeeper.rules.fields import Doors, Existing, Field, Part, Selector
from doorkeeper.rules.verdict import Kind

PRODUCE, FETCH, FIND_COORDINATOR, LIST_GROUPS, API_VERSIONS = 0, 1, 10, 16, 18
INIT_PRODUCER_ID, DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 22, 32, 33, 44
DESCRIBE_CLIENT_QUOTAS, ALTER_CLIENT_QUOTAS, BROKER_REGISTRATION, ENVELOPE, PUSH_TELEMETRY = 48, 49, 62, 58, 72
TOPIC, GROUP = 2, 32  # ConfigResource.Type

every_api = st.sampled_from(sorted(fields.load_apis()))


def breaches_of(law: Callable[[Field], bool]) -> list[Field]:
    return [field for field in fields.load_fields() if not law(field)]


def kinds(api_key: int, version: int, path: str) -> list[Kind | None]:
    return [field.kind for field in fields.fields_of(api_key, version) if field.path == path]


def kind_selected(api_key: int, version: int, path: str, value: object) -> list[Kind | None]:
    return [
        field.kind
        for field in fields.identifiers_of(api_key, version)
        if field.path == path and field.selector is not None and field.selector.selects(value)
    ]


class TestEveryRow:
    def test_has_a_kind_or_a_reason_and_not_both(self) -> None:
        assert breaches_of(lambda field: (field.kind is None) == bool(field.reason)) == []

    def test_has_a_condition_just_when_it_is_conditional(self) -> None:
        assert breaches_of(lambda field: (field.existing is Existing.CONDITIONAL) == bool(field.condition)) == []

    def test_stays_within_the_versions_of_its_api(self) -> None:
        def stays(field: Field) -> bool:
            api = fields.load_apis()[field.api_key]
            return api.first_version <= field.first_version <= field.last_version <= api.last_version

        assert breaches_of(stays) == []

    def test_spells_one_path_in_two_ways(self) -> None:
        assert breaches_of(lambda field: field.path.replace("_", "") == field.kafka_path.lower()) == []
        assert breaches_of(lambda field: "_" not in field.kafka_path) == []

    def test_is_no_config_change(self) -> None:
        assert breaches_of(lambda field: field.kind is not Kind.CONFIG_CHANGE) == []

    def test_is_left_to_the_embedded_cluster_only_as_a_member_id(self) -> None:
        assert breaches_of(lambda field: field.doors is Doors.ALL or field.kind is Kind.MEMBER_ID) == []

    @pytest.mark.parametrize("value", ["0", "1", "2", "3", "client-id"])
    def test_has_no_rival_once_the_selecting_field_is_known(self, value: str) -> None:
        for api in fields.load_apis().values():
            for version in range(api.first_version, api.last_version + 1):
                rows = fields.fields_of(api.key, version)
                paths = [row.path for row in rows if row.selector is None or row.selector.selects(value)]
                assert len(paths) == len(set(paths)), (api.name, version)

    def test_serves_every_kind_of_identifier(self) -> None:
        seen = {field.kind for field in fields.load_fields()}
        assert seen - {None} == set(Kind) - {Kind.CONFIG_CHANGE}


class TestKinds:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("group_id", Kind.GROUP_ID),
            ("member_id", Kind.MEMBER_ID),
            ("group_instance_id", Kind.GROUP_INSTANCE_ID),
            ("instance_id", Kind.GROUP_INSTANCE_ID),
            ("transactional_id", Kind.TRANSACTIONAL_ID),
            ("rack_id", Kind.RACK_ID),
            ("rack", Kind.RACK_ID),
            ("committed_metadata", Kind.OFFSET_METADATA),
            ("topic_name", Kind.TOPIC_NAME),
        ],
    )
    def test_field_that_bears_the_name_of_a_kind_is_of_that_kind(self, name: str, kind: Kind) -> None:
        assert breaches_of(lambda field: field.path.split(".")[-1] != name or field.kind is kind) == []

    def test_header_carries_the_client_id_of_every_api_at_every_version(self) -> None:
        for api in fields.load_apis().values():
            header = fields.fields_of(api.key, api.first_version)[0]
            assert (header.path, header.kafka_path, header.kind) == ("header.client_id", "header.clientId", "client_id")
            assert (header.first_version, header.last_version) == (api.first_version, api.last_version)
            assert header.in_header

    def test_body_field_is_not_in_the_header(self) -> None:
        assert not fields.fields_of(PRODUCE, 3)[1].in_header

    @pytest.mark.parametrize("api_key", [DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS])
    def test_config_resource_of_type_topic_is_a_topic_name_and_any_other_a_resource_name(self, api_key: int) -> None:
        path = "resources[].resource_name"
        assert kind_selected(api_key, 1, path, TOPIC) == [Kind.TOPIC_NAME]
        for resource_type in (0, 4, 8, 16, GROUP, 127):
            assert kind_selected(api_key, 1, path, resource_type) == [Kind.RESOURCE_NAME]

    @pytest.mark.parametrize(("api_key", "path"), [(29, "resource_name_filter"), (30, "creations[].resource_name")])
    def test_acl_resource_of_any_type_is_a_resource_name(self, api_key: int, path: str) -> None:
        (row,) = [field for field in fields.fields_of(api_key, 3) if field.path == path]
        assert (row.kind, row.selector) == (Kind.RESOURCE_NAME, None)

    def test_find_coordinator_key_is_a_group_before_it_has_a_type(self) -> None:
        (row,) = [field for field in fields.fields_of(FIND_COORDINATOR, 0) if field.path == "key"]
        assert (row.kind, row.selector) == (Kind.GROUP_ID, None)

    @pytest.mark.parametrize(("version", "path"), [(1, "key"), (3, "key"), (4, "coordinator_keys[]")])
    def test_find_coordinator_key_is_a_group_or_a_transactional_id_by_its_type(self, version: int, path: str) -> None:
        assert kind_selected(FIND_COORDINATOR, version, path, 0) == [Kind.GROUP_ID]
        assert kind_selected(FIND_COORDINATOR, version, path, 1) == [Kind.TRANSACTIONAL_ID]

    def test_find_coordinator_key_of_type_2_is_a_share_key_from_version_6(self) -> None:
        path = "coordinator_keys[]"
        assert kind_selected(FIND_COORDINATOR, 5, path, 2) == []
        assert kind_selected(FIND_COORDINATOR, 6, path, 2) == [Kind.GROUP_ID]
        (row,) = [field for field in fields.fields_of(FIND_COORDINATOR, 6) if field.part is Part.SHARE_GROUP]
        assert row.identifier("g:dWr1lYHJTzOi3GSJ8XJzzw:0") == "g"
        assert row.identifier("no key at all") is None

    def test_find_coordinator_key_of_an_unknown_type_has_no_kind(self) -> None:
        assert kind_selected(FIND_COORDINATOR, 6, "coordinator_keys[]", 3) == []

    @pytest.mark.parametrize(
        ("api_key", "path"),
        [(DESCRIBE_CLIENT_QUOTAS, "components[].match"), (ALTER_CLIENT_QUOTAS, "entries[].entity[].entity_name")],
    )
    def test_quota_entity_names_the_field_that_its_check_asks_for(self, api_key: int, path: str) -> None:
        (row,) = [field for field in fields.fields_of(api_key, 1) if field.path == path]
        assert (row.kind, row.selector) == (Kind.QUOTA_ENTITY, Selector("entity_type"))

    def test_topic_name_leaves_produce_with_version_13(self) -> None:
        assert kinds(PRODUCE, 12, "topic_data[].name") == [Kind.TOPIC_NAME]
        assert kinds(PRODUCE, 13, "topic_data[].name") == []

    def test_field_that_is_no_identifier_is_listed_but_not_among_the_identifiers(self) -> None:
        assert kinds(FETCH, 18, "cluster_id") == [None]
        assert "cluster_id" not in {field.path for field in fields.identifiers_of(FETCH, 18)}

    @given(st.text(max_size=20))
    def test_whole_field_is_its_own_identifier(self, value: str) -> None:
        assert fields.fields_of(PRODUCE, 3)[1].identifier(value) == value


class TestMemberIds:
    def test_are_judged_everywhere_only_where_clients_make_them(self) -> None:
        judged = {
            field.api_name
            for field in fields.load_fields()
            if field.kind is Kind.MEMBER_ID and field.doors is Doors.ALL
        }
        assert judged == {
            "ConsumerGroupHeartbeat",
            "ShareGroupHeartbeat",
            "StreamsGroupHeartbeat",
            "ShareFetch",
            "ShareAcknowledge",
        }

    def test_of_the_classic_protocol_are_judged_by_the_embedded_cluster(self) -> None:
        judged = {field.api_name for field in fields.load_fields() if field.doors is Doors.EMBEDDED}
        assert judged == {
            "JoinGroup",
            "SyncGroup",
            "Heartbeat",
            "LeaveGroup",
            "OffsetCommit",
            "OffsetFetch",
            "TxnOffsetCommit",
        }


class TestExisting:
    @pytest.mark.parametrize("api", ["FindCoordinator", "OffsetFetch", "OffsetDelete", "LeaveGroup", "EndTxn"])
    def test_names_are_served_where_they_are_looked_up_or_removed(self, api: str) -> None:
        assert self.of(api) == {Existing.ALWAYS}

    @pytest.mark.parametrize("api", ["WriteTxnMarkers", "DeleteGroups", "DescribeTransactions", "DeleteAcls"])
    def test_names_are_served_by_describe_and_delete_apis(self, api: str) -> None:
        assert self.of(api) == {Existing.ALWAYS}

    @pytest.mark.parametrize("api", ["ConsumerGroupHeartbeat", "Heartbeat", "JoinGroup", "InitProducerId", "Produce"])
    def test_names_are_refused_where_they_are_used(self, api: str) -> None:
        assert self.of(api) == {Existing.NEVER}

    @pytest.mark.parametrize("api", ["IncrementalAlterConfigs", "AlterConfigs", "AlterClientQuotas"])
    def test_names_are_served_by_an_alteration_that_only_removes(self, api: str) -> None:
        assert self.of(api) == {Existing.CONDITIONAL}

    def test_column_is_one_for_all_identifiers_of_an_api(self) -> None:
        for api in fields.load_apis().values():
            assert len(self.of(api.name)) <= 1, api.name

    def test_client_id_in_the_header_is_never_excused(self) -> None:
        assert {field.existing for field in fields.load_fields() if field.in_header} == {Existing.NEVER}

    @staticmethod
    def of(api: str) -> set[Existing]:
        return {
            field.existing
            for field in fields.load_fields()
            if field.api_name == api and field.kind is not None and not field.in_header
        }


class TestVersions:
    def test_affected_apis_are_those_with_an_identifier_in_the_body(self) -> None:
        affected = fields.affected_apis()
        assert {PRODUCE, FETCH, FIND_COORDINATOR, ALTER_CLIENT_QUOTAS, BROKER_REGISTRATION} <= affected

    def test_apis_without_an_identifier_in_the_body_keep_their_versions(self) -> None:
        names = {api.name for api in fields.load_apis().values() if fields.identifier_version(api.key) is None}
        assert names == {
            *("ListGroups", "ListTransactions", "ListConfigResources", "DescribeCluster", "ApiVersions"),
            *("SaslHandshake", "SaslAuthenticate", "DescribeUserScramCredentials", "AlterUserScramCredentials"),
            *("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken"),
            *("AlterPartition", "UpdateFeatures", "Envelope", "BrokerHeartbeat", "UnregisterBroker"),
            *("AllocateProducerIds", "ControllerRegistration", "GetTelemetrySubscriptions", "PushTelemetry"),
            *("AssignReplicasToDirs", "AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter"),
        }

    @pytest.mark.parametrize("api_key", [LIST_GROUPS, API_VERSIONS, ENVELOPE, PUSH_TELEMETRY])
    def test_header_filters_and_opaque_bytes_affect_no_api(self, api_key: int) -> None:
        assert api_key not in fields.affected_apis()
        assert fields.identifier_version(api_key) is None
        assert not fields.knows_new_code(api_key, fields.newest_version(api_key))

    def test_identifier_version_is_one_more_than_the_newest(self) -> None:
        assert (fields.newest_version(PRODUCE), fields.identifier_version(PRODUCE)) == (13, 14)

    def test_unstable_version_counts_as_newest(self) -> None:
        api = fields.load_apis()[INIT_PRODUCER_ID]
        assert (api.stable_version, api.last_version) == (5, 6)
        assert fields.identifier_version(INIT_PRODUCER_ID) == 7

    def test_no_other_api_has_an_unstable_version(self) -> None:
        unstable = [api.name for api in fields.load_apis().values() if api.stable_version != api.last_version]
        assert unstable == ["InitProducerId"]

    def test_broker_registration_shares_the_version_of_static_configs(self) -> None:
        assert fields.newest_version(BROKER_REGISTRATION) == 4
        assert fields.identifier_version(BROKER_REGISTRATION) == 6

    def test_new_code_is_known_from_the_identifier_version_on(self) -> None:
        assert not fields.knows_new_code(INIT_PRODUCER_ID, 6)
        assert fields.knows_new_code(INIT_PRODUCER_ID, 7)
        assert fields.knows_new_code(INIT_PRODUCER_ID, 8)

    @given(every_api)
    def test_new_version_has_the_fields_of_the_newest(self, api_key: int) -> None:
        first, newest = fields.newest_version(api_key), fields.identifier_version(api_key)
        for version in range(first, (newest or first) + 1):
            assert fields.fields_of(api_key, version) == fields.fields_of(api_key, first)

    @given(every_api)
    def test_versions_on_either_side_of_the_known_are_an_error(self, api_key: int) -> None:
        api = fields.load_apis()[api_key]
        newest = fields.identifier_version(api_key) or api.last_version
        for version in (api.first_version - 1, newest + 1):
            with pytest.raises(LookupError, match=f"{api.name} has no version {version}"):
                fields.fields_of(api_key, version)

    def test_unknown_api_is_an_error(self) -> None:
        with pytest.raises(LookupError):
            fields.fields_of(4, 0)


class TestApis:
    @pytest.mark.parametrize(("key", "log_name"), [(0, "PRODUCE"), (22, "INIT_PRODUCER_ID"), (18, "API_VERSIONS")])
    def test_log_name_is_upper_case_with_underscores(self, key: int, log_name: str) -> None:
        assert fields.load_apis()[key].log_name == log_name

    def test_listeners_tell_brokers_from_controllers(self) -> None:
        apis = fields.load_apis()
        assert apis[PRODUCE].listeners == ("broker",)
        assert apis[BROKER_REGISTRATION].listeners == ("controller",)
        assert apis[INCREMENTAL_ALTER_CONFIGS].listeners == ("broker", "controller")


class TestSelector:
    def test_spells_its_field_as_the_request_log_does(self) -> None:
        assert Selector("resource_type").kafka_field == "resourceType"
        assert Selector("key").kafka_field == "key"

    @given(st.integers(-128, 127), st.integers(-128, 127))
    def test_negation_selects_all_that_the_plain_one_does_not(self, wanted: int, value: int) -> None:
        plain, negated = Selector("key_type", str(wanted)), Selector("key_type", str(wanted), negated=True)
        assert plain.selects(value) == (wanted == value)
        assert plain.selects(value) != negated.selects(value)

    @given(st.text())
    def test_without_a_value_selects_anything(self, value: str) -> None:
        assert Selector("entity_type").selects(value)


class TestShareKey:
    @given(st.text(min_size=1).filter(lambda group: group.strip(":")), st.integers(0, 99))
    def test_group_is_found_whatever_characters_it_has(self, group: str, partition: int) -> None:
        assert fields.share_key_group(f"{group}:dWr1lYHJTzOi3GSJ8XJzzw:{partition}") == group

    @pytest.mark.parametrize("key", ["", "g", "g:t", "g:t:", "::", ":::"])
    def test_key_of_fewer_than_three_parts_has_no_group(self, key: str) -> None:
        assert fields.share_key_group(key) is None

    @pytest.mark.parametrize(("key", "group"), [("a:b:t:0", "a:b"), (":g:t:0", ":g"), ("g:t:0:", "g"), (":t:0", "")])
    def test_key_is_read_from_the_right_as_java_splits_it(self, key: str, group: str) -> None:
        assert fields.share_key_group(key) == group


class TestOpaqueFields:
    def test_envelope_may_hold_every_kind(self) -> None:
        (row,) = [field for field in fields.load_opaque_fields() if field.path == "request_data"]
        assert (row.api_key, set(row.kinds)) == (ENVELOPE, set(Kind) - {Kind.CONFIG_CHANGE})

    def test_subscription_of_a_consumer_holds_topics_and_its_rack(self) -> None:
        (row,) = [field for field in fields.load_opaque_fields() if field.api_name == "JoinGroup"]
        assert (row.path, row.kinds) == ("protocols[].metadata", (Kind.TOPIC_NAME, Kind.RACK_ID))

    def test_secrets_hold_no_identifier(self) -> None:
        secrets = [field for field in fields.load_opaque_fields() if field.holds.endswith(": a secret")]
        assert len(secrets) == 5
        assert all(field.kinds == () for field in secrets)


class TestCsvRows:
    def test_rows_have_the_columns_of_the_header(self) -> None:
        assert all(len(row) == len(fields.CSV_HEADER) for row in fields.to_csv_rows())

    def test_field_with_several_kinds_has_a_row_for_each_over_all_its_versions(self) -> None:
        rows = [row[2:] for row in fields.to_csv_rows() if row[0] == FIND_COORDINATOR]
        assert rows == [
            ("header.client_id", "client_id", 0, 6),
            ("key", "group_id", 0, 3),
            ("key", "transactional_id", 1, 3),
            ("coordinator_keys[]", "group_id", 4, 6),
            ("coordinator_keys[]", "transactional_id", 4, 6),
        ]

    def test_fields_without_a_kind_have_no_row(self) -> None:
        assert [row[2] for row in fields.to_csv_rows() if row[0] == LIST_GROUPS] == ["header.client_id"]

    def test_no_kind_of_a_field_has_two_rows(self) -> None:
        assert max(Counter(row[:4] for row in fields.to_csv_rows()).values()) == 1

    def test_rows_come_in_the_order_of_api_keys(self) -> None:
        keys = [row[0] for row in fields.to_csv_rows()]
        assert keys == sorted(keys)
        assert set(keys) == set(fields.load_apis())
