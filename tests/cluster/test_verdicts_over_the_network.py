"""The differential corpus of the rulebook over the network: a running node answers as Kafka 4.3.1's broker path did.

Kafka's answers are recorded in `tests/vectors`; here a cluster of ours with the same static configuration is asked the
same, at its broker's door and at its controller's, and what a sequence stores is there for the next request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.running import RunningCluster, free_ports
from tests.equivalence.cases import Answer, Case, Vector, read_vectors
from tests.equivalence.configurations import CONFIGURATIONS, OTHER_TOPIC, TOPIC, Configuration, fill_all
from tests.equivalence.differences import reason_to_differ
from tests.equivalence.oracle import Oracle
from tests.equivalence.replay import normalise
from tests.kafka import requests as wire
from tests.kafka.requests import Connection, make_request

from doorkeeper.cluster.controller.config_changes import config_records
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.server_config import NodeConfig, read_node_config
from doorkeeper.rules.config_change import ResourceChange, ResourceType
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.registry import Door

VECTORS = Path(__file__).parents[1] / "vectors"
SAME_MESSAGES = 0.99  # the rest have several things wrong at once, and Java's hash maps decide which is said
UPDATE_FEATURES = 57
SAFE_DOWNGRADE = 2


class OurOracle(Oracle):
    """Asks a cluster of ours at one of its doors."""

    def __init__(self, served: Served, door: Door) -> None:
        self._places = dict(served.places)
        self._connect = lambda: served.cluster.connect(door)
        self._connection = self._connect()
        self._served = served
        self._door = door

    def _undo(self, case: Case) -> None:
        """Walks end anywhere, where not every deletion would be lawful: so this goes by the back door."""
        self._served.reset()

    def _wait_until_applied(self, request: Any, answers: Any) -> None:
        """The controller's own image is what it answers from; a broker's may follow a moment later."""
        if self._door is Door.BROKER:
            super()._wait_until_applied(request, answers)


class Served:
    """A running cluster of one static configuration."""

    def __init__(self, cluster: RunningCluster, places: Mapping[str, str]) -> None:
        self.cluster = cluster
        self.places = places
        controller = next(node.controller for node in cluster.nodes if node.controller is not None)
        self._controller = controller
        self._first = controller.image.configs.resources

    def oracle(self, door: Door) -> OurOracle:
        return OurOracle(self, door)

    def reset(self) -> None:
        """Make the stored configs what they were at the beginning, unjudged, and wait until every node knows."""
        self.cluster.run(self._controller.decide(self._to_first))
        self.cluster.wait_until(
            lambda: all(node.broker is None or self._is_first(node.broker.image) for node in self.cluster.nodes)
        )

    def _to_first(self, image: MetadataImage) -> Decision[None]:
        records: list[VersionedRecord] = []
        for resource in image.configs.resources.keys() | self._first.keys():
            now = image.configs.resources.get(resource, {})
            records += config_records(resource.type, resource.name, now, self._first.get(resource, {}))
        return Decision(tuple(records), None)

    def _is_first(self, image: MetadataImage) -> bool:
        return image.configs.resources == self._first


def served_configurations() -> list[str]:
    found = {path.name.removeprefix("config-verdicts-").split(".")[0] for path in VECTORS.glob("config-verdicts-*")}
    return sorted(found & CONFIGURATIONS.keys())


def node_configs(configuration: Configuration, places: Mapping[str, str]) -> list[NodeConfig]:
    extra = _format_override(configuration)
    if configuration.is_combined:
        return [read_node_config(fill_all(configuration.broker_static(), places) | extra)]
    controller = fill_all(configuration.controller_static(), places) | {"log.dirs": places["@DATA@"] + "-controller"}
    return [read_node_config(controller | extra), read_node_config(fill_all(configuration.broker_static(), places))]


def _format_override(configuration: Configuration) -> dict[str, str]:
    if configuration.features.metadata_version < 30:
        return {"metadata.version": "4.2-IV1"}
    # A level that is older than eligible leader replicas founds a cluster without them; it is raised afterwards.
    return {} if configuration.features.elr_enabled else {"metadata.version": "4.0-IV3"}


@pytest.fixture(scope="module", params=served_configurations())
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    configuration = CONFIGURATIONS[request.param]
    ports = free_ports(2)
    data = tmp_path_factory.mktemp(configuration.name) / "data"
    places = {"@BROKER@": str(ports[0]), "@CONTROLLER@": str(ports[1]), "@DATA@": str(data)}
    with RunningCluster(data, configs=node_configs(configuration, places)) as cluster:
        with cluster.connect(Door.CONTROLLER) as connection:
            if not configuration.features.elr_enabled:
                _raise_level(connection)
            for topic in (TOPIC, OTHER_TOPIC):
                assert wire.create_topic(connection, topic) == (0, None)
        yield Served(cluster, places)


def _raise_level(connection: Connection) -> None:
    update = {"feature": "metadata.version", "max_version_level": 1000, "upgrade_type": 1}
    request = make_request(UPDATE_FEATURES, 2, timeout=timedelta(seconds=5), feature_updates=[update])
    assert connection.call(request).error_code == 0


def vectors_of(served: Served, request: pytest.FixtureRequest) -> Iterator[Vector]:
    name = request.node.callspec.params["served"]
    (path,) = VECTORS.glob(f"config-verdicts-{name}.*")
    # Poison is what only a real Kafka's controller lets in.
    yield from (vector for vector in read_vectors(path) if vector.case.poison is None)


Compared = tuple[ResourceChange, Answer, Answer]
"""A change, Kafka's answer and ours."""


def compared(served: Served, request: pytest.FixtureRequest, door: Door) -> list[Compared]:
    with served.oracle(door) as ours:
        return [
            each
            for vector in vectors_of(served, request)
            if door is Door.BROKER or not any(_names_a_node(one) for asked in vector.case.requests for one in asked)
            for asked, theirs, mine in zip(
                vector.case.requests, vector.answers, ours.answer(vector.case).answers, strict=True
            )
            for each in zip(asked, theirs, mine, strict=True)
        ]


@pytest.mark.parametrize("door", list(Door))
def test_door_answers_as_kafkas_broker_path(served: Served, request: pytest.FixtureRequest, door: Door) -> None:
    """At the controller's door but for what names a node: it speaks for all brokers (design, decision 3)."""
    answers = compared(served, request, door)
    wrong = [each for each in answers if each[1][0] != each[2][0] and reason_to_differ(*each) is None]
    assert wrong == []
    same = [normalise(theirs[1]) == normalise(mine[1]) for _, theirs, mine in answers]
    assert sum(same) / len(same) >= SAME_MESSAGES


def _names_a_node(change: ResourceChange) -> bool:
    if change.type == ResourceType.BROKER_LOGGER:
        return True
    return change.type == ResourceType.BROKER and change.name not in ("", "1")


def test_what_names_another_node_is_refused_at_the_controller_with_the_brokers_code(
    served: Served, request: pytest.FixtureRequest
) -> None:
    with served.oracle(Door.CONTROLLER) as ours:
        for vector in vectors_of(served, request):
            asked = vector.case.requests[0]
            if vector.case.is_sequence or not any(
                change.type == ResourceType.BROKER and _names_a_node(change) for change in asked
            ):
                continue
            for each in zip(asked, vector.answers[0], ours.answer(vector.case).answers[0], strict=True):
                assert each[1][0] == each[2][0] or reason_to_differ(*each), each
