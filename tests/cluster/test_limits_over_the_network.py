"""The limits of identifiers in a running cluster: the switch, the shapes of refusals, verdicts, and what exists."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.coordinators import have_coordinators
from tests.cluster.running import HOST, RunningCluster
from tests.door.requests import codes_in, filled
from tests.door.sockets import Client, ClosedByServerError

from doorkeeper.client import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclResourceType,
    Admin,
    AlterConfigOp,
    ConfigResource,
    NewTopic,
    Operation,
    QuotaEntity,
    ResourceIdentifierTooLargeError,
    ResourceType,
)
from doorkeeper.client.errors import InvalidRequestError
from doorkeeper.cluster.broker.lifecycle import RegistrationRefusedError
from doorkeeper.cluster.layout import Wishes, lay_out
from doorkeeper.cluster.principals import write_principal
from doorkeeper.cluster.server_config import Release
from doorkeeper.door.verdicts import Mode
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.codec import decode_response, encode_request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.registry import Door

SWITCH = "resource.identifier.limit.enable"
LONG = "x" * 250
PRODUCE, METADATA, FIND_COORDINATOR, HEARTBEAT, DESCRIBE_GROUPS, SASL_HANDSHAKE, API_VERSIONS = 0, 3, 10, 12, 15, 17, 18
INIT_PRODUCER_ID, END_TXN, CREATE_ACLS, ENVELOPE, DESCRIBE_TXNS = 22, 26, 30, 58, 65
UNSUPPORTED_VERSION, TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 35, 53
UNKNOWN_MEMBER_ID, INVALID_REQUEST, TOO_LARGE = 25, 42, 134
HEARTBEAT_OF_LONG_GROUP = build(message_classes(HEARTBEAT, 5).request, {"group_id": LONG, "member_id": "m"})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides={SWITCH: "true"}) as running:
        have_coordinators(running)
        yield running


@pytest.fixture
def client(limited: RunningCluster) -> Iterator[Client]:
    with Client(limited.address(Door.BROKER)) as connected:
        yield connected


def turn(cluster: RunningCluster, value: str | None, door: Door = Door.BROKER, name: str = "") -> None:
    """Set the switch cluster-wide, or delete it."""

    async def alter() -> None:
        at_controller = door is Door.CONTROLLER
        address = cluster.bootstrap_controllers if at_controller else cluster.bootstrap_servers
        async with Admin(address, controllers=at_controller) as admin:
            operation = AlterConfigOp(SWITCH, value, Operation.DELETE if value is None else Operation.SET)
            resource = ConfigResource(ResourceType.BROKER, name)
            (await admin.incremental_alter_configs({resource: [operation]})).require()

    asyncio.run(alter())


def counts(cluster: RunningCluster) -> dict[tuple[Kind, int, Mode], int]:
    return {key: count for node in cluster.nodes for key, count in node.verdicts.book.counts.items()}


class TestSwitch:
    @pytest.mark.parametrize("door", list(Door))
    def test_counts_on_an_open_connection_from_the_next_request_on(self, cluster: RunningCluster, door: Door) -> None:
        have_coordinators(cluster)
        with Client(cluster.address(Door.BROKER)) as client:
            assert client.ask(HEARTBEAT_OF_LONG_GROUP).error_code == UNKNOWN_MEMBER_ID
            turn(cluster, "true", door)
            assert client.ask(HEARTBEAT_OF_LONG_GROUP).error_code == TOO_LARGE
            turn(cluster, "false", door)
            assert client.ask(HEARTBEAT_OF_LONG_GROUP).error_code == UNKNOWN_MEMBER_ID
        assert counts(cluster) == {
            (Kind.GROUP_ID, HEARTBEAT, Mode.EVALUATE): 2,
            (Kind.GROUP_ID, HEARTBEAT, Mode.ENFORCE): 1,
        }

    def test_counts_at_the_controllers_door_too(self, cluster: RunningCluster) -> None:
        with Client(cluster.address(Door.CONTROLLER)) as client:
            asked = filled(60, 2)
            assert client.ask(asked, LONG).error_code != INVALID_REQUEST
            turn(cluster, "true")
            assert client.ask(asked, LONG).error_code == INVALID_REQUEST
            turn(cluster, None)
            assert client.ask(asked, LONG).error_code != INVALID_REQUEST

    def test_of_one_broker_counts_at_that_broker(self, tmp_path: Path) -> None:
        with RunningCluster(tmp_path, brokers=2) as cluster:
            turn(cluster, "true", Door.CONTROLLER, "2")
            second = cluster.node(2)
            cluster.wait_until(lambda: second.broker is not None and second.broker.door.watch is not None)
            cluster.wait_until(lambda: second.broker.door.watch.rulebook.limits_enabled)  # type: ignore[union-attr]
            codes = []
            for node_id in (1, 2):
                with Client(cluster.address(Door.BROKER, node_id)) as client:
                    codes.append(client.ask(filled(API_VERSIONS, 4), LONG).error_code)
        assert codes == [0, INVALID_REQUEST]

    @pytest.mark.parametrize(
        ("release", "static", "refused"),
        [
            (Release.KAFKA_4, None, False),
            (Release.KAFKA_4, "true", True),
            (Release.KAFKA_5, None, True),
            (Release.KAFKA_5, "false", False),
        ],
    )
    def test_has_the_default_of_the_release(
        self, tmp_path: Path, release: Release, static: str | None, refused: bool
    ) -> None:
        overrides = {} if static is None else {SWITCH: static}
        configs = lay_out(None, Wishes(port=0, data=tmp_path, release=release, overrides=overrides))
        with RunningCluster(tmp_path, configs=configs) as cluster, Client(cluster.address(Door.BROKER)) as client:
            code = client.ask(filled(API_VERSIONS, 4), LONG).error_code
            assert code == (INVALID_REQUEST if refused else 0)

    def test_a_dynamic_value_counts_more_than_the_release(self, tmp_path: Path) -> None:
        configs = lay_out(None, Wishes(port=0, data=tmp_path, release=Release.KAFKA_5))
        with RunningCluster(tmp_path, configs=configs) as cluster, Client(cluster.address(Door.BROKER)) as client:
            turn(cluster, "false")
            assert client.ask(filled(API_VERSIONS, 4), LONG).error_code == 0


class TestShapes:
    @pytest.mark.parametrize("version", range(5))
    def test_api_versions_refuses_a_long_client_id_at_every_version(self, client: Client, version: int) -> None:
        answer = client.ask(filled(API_VERSIONS, version), LONG)
        assert (answer.error_code, answer.api_keys) == (INVALID_REQUEST, ())

    @pytest.mark.parametrize(("version", "code"), [(6, INVALID_REQUEST), (7, TOO_LARGE)])
    def test_only_the_breached_item_is_refused_in_its_place(self, client: Client, version: int, code: int) -> None:
        body = build(message_classes(DESCRIBE_GROUPS, version).request, {"groups": ("a", LONG, "b")})
        groups = client.ask(body).groups
        assert [one.group_id for one in groups] == ["a", LONG, "b"]
        assert [one.error_code for one in groups] == [69, code, 69]
        assert groups[1].error_message.startswith("Group ID is too long: 250 UTF-16 code units, the limit is 249")

    def test_only_the_breached_item_of_a_request_that_is_sent_on_is_refused(
        self, limited: RunningCluster, client: Client
    ) -> None:
        body = filled(CREATE_ACLS, 4)
        lawful = replace(
            body.creations[0],
            resource_type=2,
            resource_pattern_type=3,
            principal="User:a",
            host="*",
            operation=3,
            permission_type=3,
        )
        unlawful = replace(lawful, principal=f"User:{LONG}")
        answer = client.ask(replace(body, creations=(unlawful, lawful, unlawful)))
        assert [one.error_code for one in answer.results] == [TOO_LARGE, 0, TOO_LARGE]
        image = limited.node().broker.image  # type: ignore[union-attr]
        assert [one.principal for one in image.acls.acls.values()] == ["User:a"]

    def test_produce_without_acks_is_refused_by_closing(self, client: Client, caplog: pytest.LogCaptureFixture) -> None:
        body = replace(filled(PRODUCE, 13), acks=0, transactional_id=LONG)
        with caplog.at_level(logging.WARNING, "doorkeeper.net"):
            client.send(body)
            assert client.is_closed_by_server()
        assert "PRODUCE version 13 has no room for an error here: Transactional ID is too long" in caplog.text

    def test_metadata_without_topics_is_refused_by_closing_where_it_has_no_code(self, client: Client) -> None:
        old, new = (build(message_classes(METADATA, version).request, {"topics": None}) for version in (12, 13))
        with pytest.raises(ClosedByServerError):
            client.ask(old, LONG)
        assert client.ask(new, LONG).error_code == INVALID_REQUEST

    def test_a_refused_item_with_a_long_client_id_refuses_the_whole(self, client: Client) -> None:
        body = build(message_classes(DESCRIBE_GROUPS, 7).request, {"groups": ("a", "b")})
        assert set(codes_in(client.ask(body, LONG))) == {TOO_LARGE}

    def test_lengths_are_counted_in_utf16_code_units(self, client: Client) -> None:
        within, over = "😀" * 124 + "x", "😀" * 125
        codes = [
            client.ask(build(message_classes(HEARTBEAT, 5).request, {"group_id": name, "member_id": "m"})).error_code
            for name in (within, over)
        ]
        assert codes == [UNKNOWN_MEMBER_ID, TOO_LARGE]


class TestLogin:
    def test_handshake_is_refused_in_its_own_shape(self, tmp_path: Path) -> None:
        overrides = {
            "listeners": f"SASL_PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'
            ),
            "connection.failed.authentication.delay.ms": "1",
            SWITCH: "true",
        }
        body = build(message_classes(SASL_HANDSHAKE, 1).request, {"mechanism": "PLAIN"})
        with RunningCluster(tmp_path, overrides=overrides) as cluster:
            with Client(cluster.address(Door.BROKER)) as client:
                assert client.ask(body).error_code == 0
            with Client(cluster.address(Door.BROKER)) as client:
                assert client.ask(body, LONG).error_code == INVALID_REQUEST
                assert client.is_closed_by_server()


class TestEnvelope:
    def envelope(self, inner: Any, principal: str = "User:alice") -> Any:
        values = {
            "request_data": encode_request(inner, 9, "inner"),
            "request_principal": write_principal(principal),
            "client_host_address": bytes((10, 1, 2, 3)),
        }
        return build(message_classes(ENVELOPE, 0).request, values)

    def test_what_a_broker_sends_on_is_noted_once(self, cluster: RunningCluster) -> None:
        with Client(cluster.address(Door.BROKER)) as client:
            client.ask(with_long_principal())
        assert counts(cluster) == {(Kind.ACL_PRINCIPAL, CREATE_ACLS, Mode.EVALUATE): 3}

    def test_what_somebody_else_sends_in_it_is_refused_and_noted_with_the_callers_identity(
        self, limited: RunningCluster, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO, "doorkeeper.verdicts"), Client(limited.address(Door.CONTROLLER)) as client:
            answer = client.ask(self.envelope(with_long_principal()))
        assert answer.error_code == 0
        inner = decode_response(CREATE_ACLS, 4, bytes(answer.response_data))
        assert {one.error_code for one in inner.results} == {TOO_LARGE}
        (line,) = [one.getMessage() for one in caplog.records if '"acl_principal"' in one.getMessage()]
        for part in ('"client_id":"inner"', '"principal":"User:alice"', '"address":"10.1.2.3"', '"door":"controller"'):
            assert part in line


def with_long_principal() -> Any:
    body = filled(CREATE_ACLS, 4)
    return replace(body, creations=tuple(replace(one, principal=f"User:{LONG}") for one in body.creations))


class TestVersions:
    def offered(self, cluster: RunningCluster) -> dict[int, int]:
        with Client(cluster.address(Door.BROKER)) as client:
            return {one.api_key: one.max_version for one in client.ask(filled(API_VERSIONS, 4)).api_keys}

    def test_the_added_ones_are_withdrawn_with_the_unstable_ones(self, tmp_path: Path) -> None:
        overrides = {"unstable.api.versions.enable": "false", SWITCH: "true"}
        with RunningCluster(tmp_path, overrides=overrides) as cluster:
            offered = self.offered(cluster)
            assert (offered[PRODUCE], offered[HEARTBEAT], offered[22]) == (13, 4, 5)
            with pytest.raises(InvalidRequestError, match="Resource name is too long: 250"):
                asyncio.run(set_group_config(cluster, LONG))

    @pytest.mark.parametrize("version", [6, 7])
    @pytest.mark.parametrize(
        ("flag", "code"),
        [("enable2_pc", TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("keep_prepared_txn", UNSUPPORTED_VERSION)],
    )
    def test_two_phase_commit_is_refused_where_it_can_be_asked_for(
        self, client: Client, version: int, flag: str, code: int
    ) -> None:
        values = {"transactional_id": "t", "transaction_timeout": timedelta(seconds=5)}
        values |= {"producer_id": -1, "producer_epoch": -1}
        request = message_classes(INIT_PRODUCER_ID, version).request
        assert client.ask(build(request, values | {flag: True})).error_code == code
        assert client.ask(build(request, values)).error_code == 0

    def test_our_client_raises_the_new_error_with_the_servers_message(self, limited: RunningCluster) -> None:
        offered = self.offered(limited)
        assert (offered[PRODUCE], offered[HEARTBEAT], offered[22], offered[API_VERSIONS]) == (14, 5, 7, 4)
        with pytest.raises(ResourceIdentifierTooLargeError, match="Resource name is too long: 250") as raised:
            asyncio.run(set_group_config(limited, LONG))
        assert not raised.value.retriable


async def set_group_config(cluster: RunningCluster, group: str) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        changes = {ConfigResource(ResourceType.GROUP, group): [AlterConfigOp("consumer.session.timeout.ms", "50000")]}
        (await admin.incremental_alter_configs(changes)).require()


class TestRegistration:
    def test_a_broker_with_a_long_rack_is_refused(self, tmp_path: Path) -> None:
        cluster = RunningCluster(tmp_path, overrides={SWITCH: "true", "broker.rack": LONG})
        with pytest.raises(RegistrationRefusedError, match="RESOURCE_IDENTIFIER_TOO_LARGE"), cluster:
            pass


ACL = AclBinding(AclResourceType.TOPIC, LONG, f"User:{LONG}", AclOperation.READ, host=LONG)
QUOTA = {"producer_byte_rate": 1000.0}


class TestWhatExists:
    """Made while the switch is off, looked at and removed when it is on."""

    def test_acls_quotas_and_configs_can_be_described_and_removed(self, cluster: RunningCluster) -> None:
        asyncio.run(self.make(cluster))
        turn(cluster, "true")
        asyncio.run(self.describe_and_remove(cluster))

    async def make(self, cluster: RunningCluster) -> None:
        async with Admin(cluster.bootstrap_servers) as admin:
            (await admin.create_acls([ACL])).require()
            (await admin.alter_client_quotas({QuotaEntity(user=LONG): QUOTA})).require()
        await set_group_config(cluster, LONG)

    async def describe_and_remove(self, cluster: RunningCluster) -> None:
        everything = AclFilter(resource_name=LONG, principal=f"User:{LONG}", host=LONG)
        group = ConfigResource(ResourceType.GROUP, LONG)
        delete = {group: [AlterConfigOp("consumer.session.timeout.ms", None, Operation.DELETE)]}
        async with Admin(cluster.bootstrap_servers) as admin:
            assert await admin.describe_acls(everything) == [ACL]
            (await admin.describe_configs([group])).require()
            for results in (
                await admin.delete_acls([everything]),
                await admin.alter_client_quotas({QuotaEntity(user=LONG): {"producer_byte_rate": None}}),
                await admin.incremental_alter_configs(delete),
            ):
                results.require()
            # Gone, and so refused like any other.
            with pytest.raises(ResourceIdentifierTooLargeError, match="Resource name"):
                await admin.describe_acls(everything)
            for refused in (
                await admin.delete_acls([everything]),
                await admin.alter_client_quotas({QuotaEntity(user=LONG): {"producer_byte_rate": None}}),
                await admin.incremental_alter_configs(delete),
                await admin.describe_configs([group]),
            ):
                with pytest.raises(ResourceIdentifierTooLargeError):
                    refused.require()

    def test_a_quota_of_another_type_with_the_same_name_does_not_exist(self, cluster: RunningCluster) -> None:
        asyncio.run(self.make(cluster))
        turn(cluster, "true")

        async def remove() -> None:
            async with Admin(cluster.bootstrap_servers) as admin:
                entity = QuotaEntity(client_id=LONG)
                results = await admin.alter_client_quotas({entity: {"producer_byte_rate": None}})
                with pytest.raises(ResourceIdentifierTooLargeError):
                    results.require()

        asyncio.run(remove())

    def test_a_transactional_id_can_be_described_and_ended_but_not_begun(self, cluster: RunningCluster) -> None:
        have_coordinators(cluster)
        values = {"transactional_id": LONG, "transaction_timeout": timedelta(seconds=5)}
        begin = build(message_classes(INIT_PRODUCER_ID, 7).request, values | {"producer_id": -1, "producer_epoch": -1})
        with Client(cluster.address(Door.BROKER)) as client:
            given = client.ask(begin)
            assert given.error_code == 0
            turn(cluster, "true")
            producer = {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
            answers = {
                name: (
                    client.ask(build(message_classes(END_TXN, 6).request, producer | {"transactional_id": name})),
                    client.ask(build(message_classes(DESCRIBE_TXNS, 1).request, {"transactional_ids": (name,)})),
                )
                for name in (LONG, LONG + "y")
            }
            assert client.ask(begin).error_code == TOO_LARGE
        assert TOO_LARGE not in {code for answer in answers[LONG] for code in codes_in(answer)}
        assert {code for answer in answers[LONG + "y"] for code in codes_in(answer)} == {TOO_LARGE}

    def test_a_group_can_be_described_and_deleted_but_gets_no_heartbeat(self, cluster: RunningCluster) -> None:
        have_coordinators(cluster)
        with Client(cluster.address(Door.BROKER)) as client:
            commit = filled(8, 9)
            topics = tuple(replace(one, name="orders") for one in commit.topics[:1])
            commit = replace(commit, group_id=LONG, generation_id_or_member_epoch=-1, member_id="", topics=topics)
            turn(cluster, None)
            asyncio.run(create_topic(cluster, "orders"))
            assert set(codes_in(client.ask(replace(commit, group_instance_id=None)))) >= {0}
            turn(cluster, "true")
            describe = build(message_classes(DESCRIBE_GROUPS, 7).request, {"groups": (LONG,)})
            delete = build(message_classes(42, 3).request, {"groups_names": (LONG,)})
            find = build(message_classes(FIND_COORDINATOR, 7).request, {"coordinator_keys": (LONG,)})
            assert client.ask(find).coordinators[0].error_code == 0
            assert client.ask(describe).groups[0].error_code == 0
            assert client.ask(HEARTBEAT_OF_LONG_GROUP).error_code == TOO_LARGE
            assert set(codes_in(client.ask(commit))) == {INVALID_REQUEST}
            assert client.ask(delete).results[0].error_code == 0
            assert client.ask(delete).results[0].error_code == TOO_LARGE
            assert client.ask(find).coordinators[0].error_code == TOO_LARGE


async def create_topic(cluster: RunningCluster, name: str) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        (await admin.create_topics([NewTopic(name, 3)])).require()
