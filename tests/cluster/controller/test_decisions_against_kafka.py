"""The same requests to a real Kafka and to our decisions: same codes, same messages, same descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from kio.static.primitive import i8, i16, i32
from tests.cluster.controller.clusters import Ids, broker, cluster, config, replayed, topic
from tests.kafka.cluster import KafkaCluster, plan
from tests.kafka.plugin import KafkaFactory
from tests.kafka.requests import (
    Change,
    Connection,
    Operation,
    create_topic,
    describe_configs,
    incremental_alter_configs,
    make_request,
)

from doorkeeper.cluster.controller import (
    acls,
    create_partitions,
    create_topics,
    delete_topics,
    describe,
    describe_quotas,
    features,
    quotas,
    scram,
)
from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import VersionRange
from doorkeeper.wire.metadata.levels import MetadataVersion

pytestmark = pytest.mark.kafka

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
PROPERTIES = {
    "num.io.threads": "4",
    "log.retention.hours": "24",
    "log.segment.bytes": "2000000",
    "group.consumer.session.timeout.ms": "46000",
    "ssl.keystore.password": "hush",
    "listener.name.plaintext.num.network.threads": "2",
    "listener.name.plaintext.max.connections": "500",
    "my.plugin.key": "x",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
DYNAMIC = (
    (BROKER, "", "log.retention.ms", "7200000"),
    (BROKER, "", "num.replica.fetchers", "2"),
    (BROKER, "", "my.dynamic.key", "secret"),
    (BROKER, "1", "log.retention.ms", "7300000"),
    (BROKER, "1", "max.connections", "0100"),
    (BROKER, "1", "listener.name.plaintext.max.connections", "600"),
    (BROKER, "1", "log.cleaner.threads", "1"),
    (BROKER, "1", "leader.replication.throttled.rate", "9"),
    (TOPIC, "plain.topic", "cleanup.policy", "compact, delete"),
    (TOPIC, "plain.topic", "flush.ms", "007"),
    (TOPIC, "plain.topic", "internal.segment.bytes", "1000"),
    (GROUP, "g", "consumer.heartbeat.interval.ms", "6000"),
    (METRICS, "m", "match", "client_id=a"),
)


class Pair(NamedTuple):
    """A Kafka, and what it knows as our image."""

    kafka: KafkaCluster
    connection: Connection
    image: MetadataImage
    node: ControllerNode


@pytest.fixture(scope="module")
def pair(kafka_cluster: KafkaFactory) -> Iterator[Pair]:
    kafka = kafka_cluster("decisions", nodes=plan(1), properties=PROPERTIES)
    with kafka.connect_broker() as connection:
        assert create_topic(connection, "plain.topic") == (0, None)
        for resource_type, name, key, value in DYNAMIC:
            change = Change(resource_type, name, (Operation(key, value),))
            assert [one.code for one in incremental_alter_configs(connection, [change])] == [0], key
        static = kafka.static_properties(1)
        image = cluster(
            broker(1),
            *topic("plain.topic", 1),
            *(config(*one) for one in DYNAMIC),
            level=MetadataVersion.IBP_4_3_IV0,
        )
        yield Pair(kafka, connection, image, ControllerNode(1, static))


def entries(result: Any) -> dict[str, tuple[Any, ...]]:
    return {
        one.name: (
            one.value,
            one.read_only,
            int(one.config_source),
            one.is_sensitive,
            tuple((synonym.name, synonym.value, int(synonym.source)) for synonym in one.synonyms),
            int(one.config_type),
            one.documentation,
        )
        for one in result.configs
    }


OURS_ALONE = {"resource.identifier.limit.enable"}


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [
        (TOPIC, "plain.topic"),
        (BROKER, "1"),
        (BROKER, ""),
        (GROUP, "g"),
        (GROUP, "other"),
        (METRICS, "m"),
        (METRICS, "n"),
    ],
)
def test_describes_configs_as_kafka_does(pair: Pair, resource_type: int, name: str) -> None:
    theirs = describe_configs(pair.connection, resource_type, name)
    request = describe.DescribeConfigsRequest(
        (describe.DescribeConfigsResource(resource_type, name),), include_synonyms=True
    )
    node = describe.DescribingNode(1, pair.node.static)
    (ours,) = describe.describe_configs(pair.image, request, node).results
    assert (ours.error_code, ours.error_message) == (theirs.error_code, theirs.error_message)
    wanted, got = entries(theirs), entries(ours)
    differences = {
        key: (wanted.get(key), got.get(key)) for key in wanted.keys() | got.keys() if wanted.get(key) != got.get(key)
    }
    assert {key: value for key, value in differences.items() if key not in OURS_ALONE} == {}


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [(TOPIC, "nowhere"), (TOPIC, "a b"), (BROKER, "9"), (BROKER, "x"), (8, ""), (8, "9"), (METRICS, ""), (GROUP, "")],
)
def test_refuses_to_describe_as_kafka_does(pair: Pair, resource_type: int, name: str) -> None:
    theirs = describe_configs(pair.connection, resource_type, name)
    request = describe.DescribeConfigsRequest((describe.DescribeConfigsResource(resource_type, name),))
    (ours,) = describe.describe_configs(pair.image, request, describe.DescribingNode(1, pair.node.static)).results
    assert ours.error_code == theirs.error_code
    if resource_type != TOPIC:  # the rulebook words topic names itself
        assert ours.error_message == theirs.error_message
    assert ours.configs == theirs.configs == ()


def creatable(name: str, partitions: int = 1, replication: int = 1, **more: Any) -> dict[str, Any]:
    configs = [{"name": key, "value": value} for key, value in more.pop("configs", {}).items()]
    assignments = [
        {"partition_index": i32(index), "broker_ids": tuple(ids)} for index, ids in more.pop("assignments", ())
    ]
    return {
        "name": name,
        "num_partitions": i32(partitions),
        "replication_factor": i16(replication),
        "assignments": assignments,
        "configs": configs,
    }


TOPICS = [
    creatable("fine"),
    creatable("fine-defaults", -1, -1),
    creatable("fine-configs", configs={"retention.ms": "5", "cleanup.policy": "compact"}),
    creatable("fine-assigned", -1, -1, assignments=[(0, (1,))]),
    creatable("plain.topic"),
    creatable("plain_topic"),
    creatable("a b"),
    creatable(""),
    creatable("twice"),
    creatable("twice"),
    creatable("__cluster_metadata"),
    creatable("no-replicas", 1, 0),
    creatable("no-partitions", 0, 1),
    creatable("minus-two", -2, 1),
    creatable("both", 1, -1, assignments=[(0, (1,))]),
    creatable("both-2", -1, 1, assignments=[(0, (1,))]),
    creatable("index-twice", -1, -1, assignments=[(0, (1,)), (0, (1,))]),
    creatable("gap", -1, -1, assignments=[(1, (1,))]),
    creatable("stranger", -1, -1, assignments=[(0, (9,))]),
    creatable("same-broker", -1, -1, assignments=[(0, (1, 1))]),
    creatable("no-broker", -1, -1, assignments=[(0, ())]),
    creatable("null-config", configs={"retention.ms": None, "flush.ms": None}),
    creatable("bad-config", configs={"retention.ms": "soon"}),
    creatable("odd-config", configs={"no.such": "1"}),
]


def test_creates_topics_as_kafka_does(pair: Pair) -> None:
    request = make_request(19, 7, topics=TOPICS, timeout=timedelta(seconds=10), validate_only=True)
    theirs = {one.name: one for one in pair.connection.call(request).topics}
    asked = reshape(request, create_topics.CreateTopicsRequest)
    ours = {
        one.name: one
        for one in create_topics.decide_create_topics(pair.image, asked, pair.node, new_id=Ids()).response.topics
    }
    assert ours.keys() == theirs.keys()
    for name, one in theirs.items():
        mine = ours[name]
        assert (mine.error_code, mine.num_partitions, mine.replication_factor) == (
            one.error_code,
            one.num_partitions,
            one.replication_factor,
        ), name
        if name not in ("a b", ""):  # the rulebook words topic names itself
            assert mine.error_message == one.error_message
        assert [(c.name, c.value, c.read_only, c.config_source, c.is_sensitive) for c in mine.configs] == [
            (c.name, c.value, c.read_only, c.config_source, c.is_sensitive) for c in one.configs or ()
        ], name


def test_grows_topics_as_kafka_does(pair: Pair) -> None:
    def growing(name: str, count: int, assignments: list[tuple[int, ...]] | None = None) -> dict[str, Any]:
        made = None if assignments is None else [{"broker_ids": ids} for ids in assignments]
        return {"name": name, "count": i32(count), "assignments": made}

    for one in (
        growing("plain.topic", 2),
        growing("plain.topic", 1),
        growing("plain.topic", 0),
        growing("nowhere", 3),
        growing("plain.topic", 3, [(1,)]),
        growing("plain.topic", 2, [()]),
        growing("plain.topic", 2, [(9,)]),
        growing("plain.topic", 2, [(1, 1)]),
    ):
        request = make_request(37, 3, topics=[one], timeout=timedelta(seconds=10), validate_only=True)
        (theirs,) = pair.connection.call(request).results
        asked = reshape(request, create_partitions.CreatePartitionsRequest)
        (ours,) = create_partitions.decide_create_partitions(pair.image, asked).response.results
        assert (ours.name, ours.error_code, ours.error_message) == (
            theirs.name,
            theirs.error_code,
            theirs.error_message,
        )


def test_refuses_to_delete_topics_as_kafka_does(pair: Pair) -> None:
    states = [
        {"name": "nowhere", "topic_id": None},
        {"name": None, "topic_id": None},
        {"name": None, "topic_id": UUID(int=12345)},
        {"name": "plain.topic", "topic_id": UUID(int=5)},
        {"name": "twice", "topic_id": None},
        {"name": "twice", "topic_id": None},
        {"name": None, "topic_id": UUID(int=99)},
        {"name": None, "topic_id": UUID(int=99)},
    ]
    request = make_request(20, 6, topics=states, timeout=timedelta(seconds=10))
    theirs = {
        (one.name, one.topic_id, one.error_code, one.error_message) for one in pair.connection.call(request).responses
    }
    decision = delete_topics.decide_delete_topics(pair.image, reshape(request, delete_topics.DeleteTopicsRequest))
    assert decision.records == ()
    assert {
        (one.name, one.topic_id, one.error_code, one.error_message) for one in decision.response.responses
    } == theirs


def quota(entity: dict[str, str | None], **ops: float | None) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops.items()],
    }


QUOTAS = [
    quota({"user": "a"}, producer_byte_rate=1.0),
    quota({"client-id": 'a b/c:d*é"\n😀'}, consumer_byte_rate=1.0, request_percentage=0.01),
    quota({"user": None, "client-id": None}, controller_mutation_rate=0.5),
    quota({"ip": None}, connection_creation_rate=1.0),
    quota({"ip": "127.0.0.1"}, connection_creation_rate=2147483647.0),
    quota({"ip": "::1"}, connection_creation_rate=2147483648.0),
    quota({"ip": "10.0.0.1", "user": "x"}, connection_creation_rate=1.0),
    quota({"ip": "not a host"}, connection_creation_rate=1.0),
    quota({}, producer_byte_rate=1.0),
    quota({"group": "g"}, producer_byte_rate=1.0),
    quota({"user": ""}, producer_byte_rate=1.0),
    quota({"user": "b"}, nonsense=1.0),
    quota({"user": "c"}, connection_creation_rate=1.0),
    quota({"ip": "10.0.0.2"}, producer_byte_rate=1.0),
    quota({"user": "d"}, producer_byte_rate=0.0),
    quota({"user": "e"}, producer_byte_rate=-1.0),
    quota({"user": "f"}, producer_byte_rate=1.5),
    quota({"user": "g"}, producer_byte_rate=1.0000001),
    quota({"user": "h"}, producer_byte_rate=1e19),
    quota({"user": "i"}, producer_byte_rate=float(2**63)),
    quota({"user": "j"}, nonsense=None),
]


def test_judges_quotas_as_kafka_does(pair: Pair) -> None:
    request = make_request(49, 1, entries=QUOTAS, validate_only=True)

    def shown(response: Any) -> dict[frozenset[tuple[str, str | None]], tuple[int, str | None]]:
        return {
            frozenset((part.entity_type, part.entity_name) for part in one.entity): (
                int(one.error_code),
                one.error_message,
            )
            for one in response.entries
        }

    decision = quotas.decide_alter_client_quotas(pair.image, reshape(request, quotas.AlterClientQuotasRequest))
    assert shown(decision.response) == shown(pair.connection.call(request))


@pytest.mark.parametrize(
    "components",
    [
        [("", 0, "a")],
        [("user", 0, "a"), ("user", 1, None)],
        [("group", 0, "a")],
        [("user", 3, None)],
        [("user", 0, None)],
        [("user", 1, "a")],
        [("user", 2, "a")],
        [("ip", 1, None), ("client-id", 1, None)],
        [],
    ],
)
def test_judges_quota_filters_as_kafka_does(pair: Pair, components: list[tuple[str, int, str | None]]) -> None:
    made = [{"entity_type": kind, "match_type": i8(how), "match": name} for kind, how, name in components]
    request = make_request(48, 1, components=made, strict=False)
    theirs = pair.connection.call(request)
    ours = describe_quotas.describe_client_quotas(
        pair.image, reshape(request, describe_quotas.DescribeClientQuotasRequest)
    )
    assert (ours.error_code, ours.error_message) == (theirs.error_code, theirs.error_message)


def test_judges_scram_credentials_as_kafka_does(pair: Pair) -> None:
    def upsertion(name: str, mechanism: int = 1, iterations: int = 4096) -> dict[str, Any]:
        return {
            "name": name,
            "mechanism": i8(mechanism),
            "iterations": i32(iterations),
            "salt": b"salt",
            "salted_password": b"p" * 32,
        }

    def deletion(name: str, mechanism: int = 1) -> dict[str, Any]:
        return {"name": name, "mechanism": i8(mechanism)}

    request = make_request(
        51,
        0,
        deletions=[deletion("nobody"), deletion("odd", 9), deletion("twice"), deletion("")],
        upsertions=[
            upsertion("fine"),
            upsertion("strong", 2, 16384),
            upsertion("few", 1, 4095),
            upsertion("many", 1, 16385),
            upsertion("strange", 3),
            upsertion("double"),
            upsertion("double", 2),
        ],
    )
    theirs = {one.user: (int(one.error_code), one.error_message) for one in pair.connection.call(request).results}
    decision = scram.decide_alter_user_scram_credentials(
        pair.image, reshape(request, scram.AlterUserScramCredentialsRequest)
    )
    ours = {one.user: (int(one.error_code), one.error_message) for one in decision.response.results}
    assert ours == theirs
    image = replayed(pair.image, *(one.message for one in decision.records))
    question = make_request(50, 0, users=[{"name": name} for name in ("fine", "strong", "nobody", "x", "x")])
    described = {
        one.user: (
            int(one.error_code),
            one.error_message,
            [(c.mechanism, c.iterations) for c in one.credential_infos],
        )
        for one in pair.connection.call(question).results
    }
    answer = scram.describe_user_scram_credentials(image, reshape(question, scram.DescribeUserScramCredentialsRequest))
    assert {
        one.user: (int(one.error_code), one.error_message, [(c.mechanism, c.iterations) for c in one.credential_infos])
        for one in answer.results
    } == described


def test_judges_and_filters_acls_as_kafka_does(pair: Pair) -> None:
    def creation(**changes: Any) -> dict[str, Any]:
        values = {
            "resource_type": 2,
            "resource_name": "orders",
            "resource_pattern_type": 3,
            "principal": "User:a",
            "host": "*",
            "operation": 3,
            "permission_type": 3,
        } | changes
        return {name: i8(value) if isinstance(value, int) else value for name, value in values.items()}

    creations = [
        creation(),
        creation(resource_name="ord", resource_pattern_type=4),
        creation(resource_name="*"),
        creation(resource_type=3, principal="User:b", host="h", operation=6, permission_type=2),
        creation(resource_name=""),
        creation(resource_type=4),
        creation(resource_type=4, resource_name="kafka-cluster"),
        creation(principal="a"),
    ]
    request = make_request(30, 3, creations=creations)
    theirs = [(int(one.error_code), one.error_message) for one in pair.connection.call(request).results]
    decision = acls.decide_create_acls(pair.image, reshape(request, acls.CreateAclsRequest), new_id=Ids())
    assert [(int(one.error_code), one.error_message) for one in decision.response.results] == theirs
    image = replayed(pair.image, *(one.message for one in decision.records))
    everything = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    for changes in (
        {},
        {"resource_type_filter": 2},
        {"resource_name_filter": "orders"},
        {"pattern_type_filter": 3},
        {"pattern_type_filter": 3, "resource_name_filter": "ord"},
        {"pattern_type_filter": 4},
        {"pattern_type_filter": 4, "resource_name_filter": "orders"},
        {"pattern_type_filter": 2, "resource_name_filter": "orders"},
        {"pattern_type_filter": 2, "resource_name_filter": "or"},
        {"pattern_type_filter": 2},
        {"principal_filter": "User:b"},
        {"host_filter": "h"},
        {"operation": 6},
        {"permission_type": 3},
    ):
        values = {name: i8(one) if isinstance(one, int) else one for name, one in (everything | changes).items()}
        question = make_request(29, 3, **values)

        def shown(response: Any) -> set[tuple[Any, ...]]:
            return {
                (
                    one.resource_type,
                    one.resource_name,
                    one.pattern_type,
                    a.principal,
                    a.host,
                    a.operation,
                    a.permission_type,
                )
                for one in response.resources
                for a in one.acls
            }

        ours = acls.describe_acls(image, reshape(question, acls.AclFilter))
        assert shown(ours) == shown(pair.connection.call(question)), changes


@pytest.mark.parametrize(
    ("feature", "level", "kind"),
    [
        ("group.version", 2, 1),
        ("group.version", 0, 1),
        ("group.version", 1, 0),
        ("group.version", -1, 1),
        ("group.version", 0, 2),
        ("nobody.version", 1, 1),
        ("metadata.version", 29, 1),
        ("metadata.version", 29, 2),
        ("metadata.version", 29, 3),
        ("metadata.version", 30, 1),
        ("metadata.version", 30, 2),
        ("metadata.version", 6, 2),
        ("eligible.leader.replicas.version", 1, 1),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_judges_features_as_kafka_does(pair: Pair, feature: str, level: int, kind: int, version: int) -> None:
    updates = [{"feature": feature, "max_version_level": i16(level), "upgrade_type": i8(kind)}]
    request = make_request(57, version, timeout=timedelta(seconds=10), feature_updates=updates, validate_only=True)
    theirs = pair.connection.call(request)
    decision = features.decide_update_features(
        pair.image,
        reshape(request, features.UpdateFeaturesRequest),
        pair.node,
        supported=KAFKAS_FEATURES,
    )
    assert (decision.response.error_code, decision.response.error_message) == (theirs.error_code, theirs.error_message)


KAFKAS_FEATURES = {**features.SUPPORTED_FEATURES, "metadata.version": VersionRange(7, 30)}
