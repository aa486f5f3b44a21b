"""A real Kafka for the stories that are told to it and to our coordinator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16
from tests.cluster.groups.asking import poll, span
from tests.cluster.groups.both import DESCRIBE_GROUPS, PROPERTIES, Both, Ours, Theirs
from tests.kafka.cluster import KafkaCluster
from tests.kafka.plugin import KafkaFactory
from tests.kafka.requests import make_request

from doorkeeper.cluster.groups.topics import TopicsView, TopicView

FIND_COORDINATOR, CREATE_TOPICS, METADATA = 10, 19, 3


@pytest.fixture(scope="session")
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    cluster = kafka_cluster("groups", properties=PROPERTIES)
    with cluster.connect_broker() as connection:
        fields = {"replication_factor": i16(1), "assignments": [], "configs": []}
        topics = [{"name": "foo", "num_partitions": 6, **fields}, {"name": "bar", "num_partitions": 3, **fields}]
        created = connection.call(
            make_request(CREATE_TOPICS, 7, topics=topics, timeout=span(10_000), validate_only=False)
        )
        assert {int(topic.error_code) for topic in created.topics} == {0}
        # The topic of the offsets comes into being when somebody asks for a coordinator; then it has to be loaded.
        find = make_request(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=("x",))
        poll(lambda: connection.call(find).coordinators[0].error_code is ErrorCode.none)
        probe = make_request(DESCRIBE_GROUPS, 6, groups=("x",), include_authorized_operations=False)
        poll(lambda: connection.call(probe).groups[0].error_code is ErrorCode.group_id_not_found)
    return cluster


@pytest.fixture(scope="session")
def topics(kafka: KafkaCluster) -> TopicsView:
    with kafka.connect_broker() as connection:
        asked = [{"topic_id": None, "name": name} for name in ("foo", "bar")]
        request = make_request(
            METADATA, 12, topics=asked, allow_auto_topic_creation=False, include_topic_authorized_operations=False
        )
        found = connection.call(request).topics
    return TopicsView.of([TopicView(str(t.name), t.topic_id, len(t.partitions)) for t in found])


@pytest.fixture
def both(kafka: KafkaCluster, topics: TopicsView) -> Iterator[Both]:
    theirs = Theirs(kafka)
    yield Both(theirs, Ours(topics))
    theirs.close()


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")  # type: ignore[no-any-return]
