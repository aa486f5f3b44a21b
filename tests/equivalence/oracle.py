"""Ask a running Kafka what it says to a case, on its broker path."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.equivalence.cases import Answer, Case, Vector
from tests.equivalence.configurations import OTHER_TOPIC, TOPIC, fill
from tests.kafka import requests as wire
from tests.kafka.cluster import KafkaCluster, NodeSpec

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_change import ConfigEntry, Operation, ResourceChange, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tests.equivalence.configurations import Configuration
    from tests.kafka.cluster import Node
    from tests.kafka.requests import Connection

APPLY_SECONDS = 20  # a change that was answered is applied by the broker a moment later
POLL_SECONDS = 0.02
MARKER = "marker.of.the.oracle"  # a key that no one judges
STORED_TYPES = (ResourceType.BROKER, ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS)
DYNAMIC_BROKER, DYNAMIC_DEFAULT = 2, 3  # DescribeConfigsResponse.ConfigSource
UNDONE = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class PlacedCluster(KafkaCluster):
    """A cluster whose properties may speak of its ports and folders by their places."""

    def __enter__(self) -> PlacedCluster:
        super().__enter__()
        return self

    def static_properties(self, node_id: int) -> dict[str, str]:
        places = self.places(self.nodes[node_id])
        return {key: fill(value, places) for key, value in super().static_properties(node_id).items()}

    def places(self, node: Node) -> Mapping[str, str]:
        """The real things behind the places of one node."""
        ports = {"@BROKER@": node.broker_port, "@CONTROLLER@": node.controller_port}
        return {place: str(port) for place, port in ports.items() if port} | {"@DATA@": str(node.folder / "data")}


def cluster_of(configuration: Configuration, jars: Path, folder: Path) -> PlacedCluster:
    """A Kafka of this configuration, not yet started."""
    if configuration.controller_properties is None:
        nodes = [NodeSpec(1, ("broker", "controller"), configuration.properties)]
    else:
        nodes = [
            NodeSpec(100, ("controller",), configuration.controller_properties),
            NodeSpec(1, ("broker",), configuration.properties),
        ]
    return PlacedCluster(jars, folder, nodes, format_arguments=configuration.format_arguments)


class Oracle:
    """One Kafka that answers cases."""

    def __init__(self, cluster: PlacedCluster) -> None:
        node = cluster.nodes[1]
        controller = next(each for each in cluster.nodes.values() if each.controller_port is not None)
        self._places = dict(cluster.places(node)) | {"@CONTROLLER@": str(controller.controller_port)}
        self._connect: Callable[[], Connection] = cluster.connect_broker
        self._connect_controller: Callable[[], Connection] = cluster.connect_controller
        self._connection = self._connect()
        for topic in (TOPIC, OTHER_TOPIC):
            wire.create_topic(self._connection, topic)

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def answer(self, case: Case) -> Vector:
        """What Kafka says to each request of a case; what a sequence changed is undone."""
        if case.poison is not None:
            return self._answer_poisoned(case, case.poison)
        if not case.is_sequence:
            return Vector(case, (self._ask(case.requests[0], validate_only=True),))
        answers = []
        try:
            for request in case.requests:
                answers.append(self._ask(request, validate_only=False))
                self._wait_until_applied(request, answers[-1])
        finally:
            if not case.final:
                self._undo(case)
        return Vector(case, tuple(answers))

    @property
    def connection(self) -> Connection:
        """By which it asks now; a change may have ended the one before."""
        return self._connection

    def ask(self, request: tuple[ResourceChange, ...]) -> tuple[Answer, ...]:
        """Make one request in earnest; a broker describes what it changes a moment later."""
        try:
            return self._ask(request, validate_only=False)
        except ConnectionError:  # an earlier change took a network thread away, and its connections with it
            self.reconnect()
            return self._ask(request, validate_only=False)

    def carry_out(self, change: ResourceChange) -> Answer:
        """Make one change in earnest, and wait until the broker describes it."""
        answers = self.ask((change,))
        self._wait_until_applied((change,), answers)
        return answers[0]

    def _answer_poisoned(self, case: Case, poison: ResourceChange) -> Vector:
        cure = tuple(ConfigEntry(entry.name, Operation.DELETE, None) for entry in poison.entries)
        try:
            self._poison(poison, ConfigEntry(MARKER, Operation.SET, "poisoned"))
            return Vector(case, tuple(self._ask(request, validate_only=True) for request in case.requests))
        finally:
            self._poison(poison._replace(entries=cure), ConfigEntry(MARKER, Operation.DELETE, None))

    def _poison(self, change: ResourceChange, marker: ConfigEntry) -> None:
        """Send a change to the controller; the broker has seen it when it shows the marker, or shows it no more."""
        marking = ResourceChange(ResourceType.BROKER, "", (marker,))
        with self._connect_controller() as controller:
            for each in (change, marking):
                (outcome,) = wire.incremental_alter_configs(controller, [self._to_wire(each)])
                if outcome.code != 0:
                    raise ValueError(f"The controller is not as lax as expected: {outcome}")
        self._wait_for(marking)

    def _ask(self, request: tuple[ResourceChange, ...], *, validate_only: bool) -> tuple[Answer, ...]:
        changes = [self._to_wire(change) for change in request]
        call = wire.alter_configs if request[0].legacy else wire.incremental_alter_configs
        outcomes = call(self._connection, changes, validate_only=validate_only)
        return tuple((outcome.code, self.without_places(outcome.message)) for outcome in outcomes)

    def _to_wire(self, change: ResourceChange) -> wire.Change:
        operations = tuple(
            wire.Operation(each.name, None if each.value is None else fill(each.value, self._places), each.operation)
            for each in change.entries
        )
        return wire.Change(change.type, change.name, operations)

    def without_places(self, message: str | None) -> str | None:
        """A text in which this Kafka's ports and folders are places again."""
        if message is None:
            return None
        for place, thing in self._places.items():
            message = message.replace(thing, place)
        return message

    def _wait_until_applied(self, request: Iterable[ResourceChange], answers: Iterable[Answer]) -> None:
        """A broker's description of itself changes when it has applied the change, and not before."""
        for change, (code, _) in zip(request, answers, strict=True):
            if code == 0 and change.type == ResourceType.BROKER:
                self._wait_for(change)

    def _wait_for(self, change: ResourceChange) -> None:
        deadline = time.monotonic() + APPLY_SECONDS
        while not self._is_applied(change):
            if time.monotonic() > deadline:
                raise TimeoutError(f"Kafka did not apply {change}")
            time.sleep(POLL_SECONDS)
        self.reconnect()

    def reconnect(self) -> None:
        """A network thread that a change ended took its connections with it."""
        self._connection.close()
        self._connection = self._connect()

    def _is_applied(self, change: ResourceChange) -> bool:
        try:
            described = wire.describe_configs(self._connection, ResourceType.BROKER, change.name)
        except ConnectionError:
            self.reconnect()
            return False
        dynamic = {each.name: each.value for each in described.configs if _is_dynamic(each, change.name)}
        for entry in change.entries:
            if (entry.operation == Operation.DELETE) == (entry.name in dynamic):
                return False
            value = dynamic.get(entry.name)
            if entry.operation == Operation.SET and value not in (None, fill(entry.value or "", self._places)):
                return False
        return True

    def _undo(self, case: Case) -> None:
        """Delete what was set; a sequence has to end where that is lawful."""
        touched = dict.fromkeys(
            (each.type, each.name, entry.name)
            for request in case.requests
            for each in request
            for entry in each.entries
        )
        for resource_type, name, key in touched:
            deletion = ResourceChange(resource_type, name, (ConfigEntry(key, Operation.DELETE, None),))
            if resource_type not in STORED_TYPES:
                continue
            answers = self._ask((deletion,), validate_only=False)
            if answers[0][0] not in UNDONE:
                raise ValueError(f"A sequence left {key} behind: {answers}")
            self._wait_until_applied((deletion,), answers)


def _is_dynamic(config: Any, name: str) -> bool:
    return int(config.config_source) == (DYNAMIC_BROKER if name else DYNAMIC_DEFAULT)
