"""Every call of Admin against a real Kafka, and logging in to one."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from tests.kafka.cluster import HOST, KafkaCluster

from doorkeeper.client import (
    DEFAULT,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    Admin,
    AlterConfigOp,
    ClientSettings,
    ConfigResource,
    ConfigSource,
    ConfigValueType,
    NewTopic,
    Operation,
    QuotaEntity,
    QuotaFilter,
    ResourceType,
    SaslCredentials,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    read_settings,
)
from doorkeeper.client.errors import (
    BrokerIdNotRegisteredError,
    InvalidRequestError,
    InvalidTopicError,
    InvalidUpdateVersionError,
    MismatchedEndpointTypeError,
    SaslAuthenticationError,
    TlsHandshakeError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)

if TYPE_CHECKING:
    from tests.kafka.plugin import KafkaFactory

pytestmark = pytest.mark.kafka

ODD = 'a b/c:d*é"\n😀'
ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
DEFAULT_BROKER = ConfigResource(ResourceType.BROKER, "")
BROKER = ConfigResource(ResourceType.BROKER, "1")
T = TypeVar("T")
Scenario = Callable[[Admin], Awaitable[T]]


@pytest.fixture
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    return kafka_cluster("admin-client", properties=ACLS)


def ask(kafka: KafkaCluster, scenario: Scenario[T]) -> T:
    async def play() -> T:
        async with asyncio.timeout(60), Admin(kafka.bootstrap_servers, client_id=ODD) as admin:
            return await scenario(admin)

    return asyncio.run(play())


def ask_controller(kafka: KafkaCluster, scenario: Scenario[T]) -> T:
    host, port = next(iter(kafka.controller_addresses.values()))

    async def play() -> T:
        async with asyncio.timeout(60), Admin(f"{host}:{port}", controllers=True) as admin:
            return await scenario(admin)

    return asyncio.run(play())


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """A broker learns of a change a moment after the controller has stored it."""
    async with asyncio.timeout(20):
        while not await condition():
            await asyncio.sleep(0.02)


def test_the_cluster_is_described_at_both_doors(kafka: KafkaCluster) -> None:
    async def describe(admin: Admin) -> tuple[str, list[int], int]:
        cluster, quorum = await admin.describe_cluster(), await admin.describe_quorum()
        assert [node.id for node in quorum.controllers] == [1]
        return cluster.cluster_id, [node.port for node in cluster.nodes], quorum.leader_id

    assert ask(kafka, describe) == (kafka.cluster_id, [kafka.broker_addresses[1][1]], 1)
    assert ask_controller(kafka, describe) == (kafka.cluster_id, [kafka.controller_addresses[1][1]], 1)


def test_a_broker_taken_for_a_controller_says_what_it_is(kafka: KafkaCluster) -> None:
    async def play() -> None:
        async with Admin(kafka.bootstrap_servers, controllers=True) as admin:
            with pytest.raises(MismatchedEndpointTypeError):
                await admin.describe_cluster()

    asyncio.run(play())


def test_topics_are_created_grown_listed_and_deleted(kafka: KafkaCluster) -> None:
    async def scenario(admin: Admin) -> None:
        wanted = [NewTopic("made", 2, 1, configs={"retention.ms": "1000"}), NewTopic("no/name"), NewTopic("later")]
        judged = await admin.create_topics(wanted[:1], validate_only=True)
        assert judged["made"].partitions == 2
        made = await admin.create_topics(wanted[:2])
        assert made["made"].replication_factor == 1
        assert isinstance(made.errors["no/name"], InvalidTopicError)
        assert isinstance((await admin.create_topics(wanted[:1])).errors["made"], TopicExistsError)
        (await admin.create_partitions({"made": 3})).require()

        async def grown() -> bool:
            return len((await admin.list_topics())["made"].partitions) == 3

        await until(grown)
        described = await admin.describe_topics(["made", "missing"])
        assert [one.index for one in described["made"].partitions] == [0, 1, 2]
        assert isinstance(described.errors["missing"], UnknownTopicOrPartitionError)
        (await admin.delete_topics(["made"])).require()

        async def gone() -> bool:
            return "made" not in await admin.list_topics()

        await until(gone)
        assert await admin.list_groups() == []

    ask(kafka, scenario)


def test_configs_are_described_with_synonyms_and_types_and_changed(kafka: KafkaCluster) -> None:
    async def scenario(admin: Admin) -> None:
        change = {
            BROKER: [AlterConfigOp("log.cleaner.threads", "2")],
            DEFAULT_BROKER: [AlterConfigOp("log.cleaner.threads", "1")],
        }
        (await admin.incremental_alter_configs(change, validate_only=True)).require()
        (await admin.incremental_alter_configs(change)).require()

        async def stored() -> bool:
            described = await admin.describe_configs([BROKER], keys=["log.cleaner.threads"], include_synonyms=True)
            (config,) = described[BROKER]
            sources = [one.source for one in config.synonyms]
            assert config.type is ConfigValueType.INT
            return (config.value, sources) == (
                "2",
                [
                    ConfigSource.DYNAMIC_BROKER_CONFIG,
                    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
                    ConfigSource.DEFAULT_CONFIG,
                ],
            )

        await until(stored)
        ill = await admin.incremental_alter_configs({BROKER: [AlterConfigOp("num.io.threads", "10000")]})
        assert isinstance(ill.errors[BROKER], InvalidRequestError)
        assert "num.io.threads=10000" in ill.errors[BROKER].message
        undo = [AlterConfigOp("log.cleaner.threads", None, Operation.DELETE)]
        (await admin.incremental_alter_configs({BROKER: undo})).require()
        (await admin.incremental_alter_configs({DEFAULT_BROKER: undo})).require()
        metrics = ConfigResource(ResourceType.CLIENT_METRICS, "everybody")
        (await admin.alter_configs({metrics: {"interval.ms": "1000"}})).require()

        async def listed() -> bool:
            return metrics in await admin.list_config_resources([ResourceType.CLIENT_METRICS])

        await until(listed)

    ask(kafka, scenario)


def test_loggers_are_described_with_their_levels(kafka: KafkaCluster) -> None:
    async def scenario(admin: Admin) -> None:
        logger = ConfigResource(ResourceType.BROKER_LOGGER, "1")
        described = await admin.describe_configs([logger])
        assert "root" in {one.name for one in described[logger]}

    ask(kafka, scenario)


def test_quotas_of_every_kind_of_entity_are_kept_under_the_name_given(kafka: KafkaCluster) -> None:
    wanted = {
        QuotaEntity(user=ODD): {"producer_byte_rate": 1.0},
        QuotaEntity(client_id=ODD): {"consumer_byte_rate": 2.0},
        QuotaEntity(user=ODD, client_id=DEFAULT): {"request_percentage": 2.5},
        QuotaEntity(user=DEFAULT): {"controller_mutation_rate": 4.0},
        QuotaEntity(ip=DEFAULT): {"connection_creation_rate": 500.0},
    }

    async def scenario(admin: Admin) -> None:
        (await admin.alter_client_quotas(wanted)).require()

        async def stored() -> bool:
            return await admin.describe_client_quotas() == wanted

        await until(stored)
        of_user = await admin.describe_client_quotas([QuotaFilter("user", ODD)], strict=True)
        assert of_user == {QuotaEntity(user=ODD): {"producer_byte_rate": 1.0}}
        bad = QuotaEntity(user="x")
        refused = await admin.alter_client_quotas({bad: {"nonsense": 1.0}})
        assert isinstance(refused.errors[bad], InvalidRequestError)
        (
            await admin.alter_client_quotas({entity: dict.fromkeys(quotas) for entity, quotas in wanted.items()})
        ).require()

        async def gone() -> bool:
            return await admin.describe_client_quotas() == {}

        await until(gone)

    ask(kafka, scenario)


def test_acls_are_created_described_and_deleted(kafka: KafkaCluster) -> None:
    binding = AclBinding(AclResourceType.GROUP, "g", "User:x", AclOperation.READ, AclPermission.DENY, "10.0.0.1")

    async def scenario(admin: Admin) -> None:
        (await admin.create_acls([binding])).require()

        async def stored() -> bool:
            return await admin.describe_acls(AclFilter(principal="User:x")) == [binding]

        await until(stored)
        chosen = AclFilter(AclResourceType.GROUP)
        assert (await admin.delete_acls([chosen]))[chosen] == (binding,)

    ask(kafka, scenario)


def test_features_and_brokers_that_are_not_there_are_refused(kafka: KafkaCluster) -> None:
    async def scenario(admin: Admin) -> None:
        with pytest.raises(InvalidUpdateVersionError):
            await admin.update_features({"metadata.version": 9999})
        with pytest.raises(BrokerIdNotRegisteredError):
            await admin.unregister_broker(77)

    ask(kafka, scenario)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port


def _keytool(*words: str) -> None:
    store = ("-storepass", "changeit", "-alias", "kafka")
    subprocess.run(["keytool", *words, *store], check=True, capture_output=True, timeout=60)


class GuardedKafka(KafkaCluster):
    """A Kafka with two more doors: one wants a name and a password, the other speaks TLS."""

    sasl_port = 0
    tls_port = 0

    @property
    def certificate(self) -> Path:
        """What its clients have to trust."""
        return self.folder / "kafka.pem"

    def static_properties(self, node_id: int) -> dict[str, str]:
        properties = super().static_properties(node_id)
        self.sasl_port, self.tls_port = _free_port(), _free_port()
        store = self.folder / "kafka.p12"
        if not store.exists():
            made = ("-genkeypair", "-keyalg", "EC", "-dname", "CN=kafka", "-ext", f"san=ip:{HOST}")
            _keytool(*made, "-storetype", "PKCS12", "-keystore", str(store))
            _keytool("-exportcert", "-rfc", "-file", str(self.certificate), "-keystore", str(store))
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice='wonder\"land';"
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        return properties | {
            "listeners": f"{properties['listeners']},GUARDED://{HOST}:{self.sasl_port},SEALED://{HOST}:{self.tls_port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
            "GUARDED:SASL_PLAINTEXT,SEALED:SSL",
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(store),
            "ssl.keystore.password": "changeit",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.guarded.plain.sasl.jaas.config": plain,
            "listener.name.guarded.scram-sha-256.sasl.jaas.config": scram,
            "listener.name.guarded.scram-sha-512.sasl.jaas.config": scram,
        }


@pytest.fixture(scope="module")
def guarded(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    cluster = GuardedKafka(kafka_jars, tmp_path_factory.mktemp("kafka-sasl"))
    with cluster:
        yield cluster


async def _log_in(kafka: GuardedKafka, mechanism: str, user: str, password: str) -> str:
    settings = ClientSettings(sasl=SaslCredentials(mechanism, user, password), retries=0)
    async with asyncio.timeout(30), Admin(f"{HOST}:{kafka.sasl_port}", settings=settings) as admin:
        return (await admin.describe_cluster()).cluster_id


def test_plain_lets_the_right_password_in_and_no_other(guarded: GuardedKafka) -> None:
    assert asyncio.run(_log_in(guarded, "PLAIN", "alice", 'wonder"land')) == guarded.cluster_id
    with pytest.raises(SaslAuthenticationError, match="Authentication failed"):
        asyncio.run(_log_in(guarded, "PLAIN", "alice", "wonder"))


@pytest.mark.parametrize("mechanism", [one for one in ScramMechanism if one])
def test_scram_credentials_that_we_made_let_us_in(guarded: GuardedKafka, mechanism: ScramMechanism) -> None:
    user, password = f"b,o=b {mechanism}", "pässwörd"

    async def scenario() -> None:
        async with Admin(guarded.bootstrap_servers) as admin:
            upsertion = ScramUpsertion(user, mechanism, password.encode(), iterations=8192)
            (await admin.alter_user_scram_credentials([upsertion])).require()

            async def known() -> bool:
                described = await admin.describe_user_scram_credentials([user])
                return user in described.values

            await until(known)
            ((info,),) = (await admin.describe_user_scram_credentials([user])).require().values()
            assert (info.mechanism, info.iterations) == (mechanism, 8192)
            assert await _log_in(guarded, mechanism.mechanism_name, user, password) == guarded.cluster_id
            with pytest.raises(SaslAuthenticationError):
                await _log_in(guarded, mechanism.mechanism_name, user, "wrong")
            (await admin.alter_user_scram_credentials([ScramDeletion(user, mechanism)])).require()

    asyncio.run(scenario())


def test_a_mechanism_that_is_not_offered_is_refused_with_what_is(guarded: GuardedKafka) -> None:
    async def scenario() -> None:
        settings = ClientSettings(sasl=SaslCredentials("GSSAPI", "a", "b"), retries=0)
        async with Admin(f"{HOST}:{guarded.sasl_port}", settings=settings) as admin:
            with pytest.raises(UnsupportedSaslMechanismError, match="PLAIN"):
                await admin.describe_cluster()

    asyncio.run(scenario())


async def _ask_over_tls(kafka: GuardedKafka, **properties: str) -> str:
    trusted = {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(kafka.certificate), **properties}
    named = {name.replace("_", "."): value for name, value in trusted.items()}
    settings = read_settings({"security.protocol": "SSL", "default.api.timeout.ms": "30000", **named})
    async with asyncio.timeout(30), Admin(f"{HOST}:{kafka.tls_port}", settings=settings) as admin:
        return (await admin.describe_cluster()).cluster_id


def test_tls_lets_those_in_who_trust_the_certificate(guarded: GuardedKafka) -> None:
    assert asyncio.run(_ask_over_tls(guarded)) == guarded.cluster_id


def test_tls_is_refused_at_once_where_the_certificate_is_not_trusted(guarded: GuardedKafka, tmp_path: Path) -> None:
    store, other = tmp_path / "other.p12", tmp_path / "other.pem"
    made = ("-genkeypair", "-keyalg", "EC", "-dname", "CN=other", "-storetype", "PKCS12", "-keystore", str(store))
    _keytool(*made)
    _keytool("-exportcert", "-rfc", "-file", str(other), "-keystore", str(store))
    with pytest.raises(TlsHandshakeError, match="certificate verify failed"):
        asyncio.run(_ask_over_tls(guarded, ssl_truststore_location=str(other)))
