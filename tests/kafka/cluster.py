"""A real Apache Kafka, started from its jars: the oracle of the tests.

`with KafkaCluster(jars, folder, brokers=2, properties={"num.io.threads": "4"}) as kafka:` formats, starts and waits
until every broker is in the metadata of every broker; leaving the block ends the processes that it started.
"""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.kafka.requests import Connection, api_versions, live_brokers

from doorkeeper.wire.uuids import format_uuid, random_uuid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

HOST = "127.0.0.1"
START_SECONDS = 120
FORMAT_SECONDS = 60
POLL_SECONDS = 0.05
START_ATTEMPTS = 3
JVM_FLAGS = (
    "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
    "-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true",
)  # fmt: skip
LOG_PROPERTIES = """\
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
REQUEST_LOG_PROPERTIES = """\
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={file}
log4j.appender.requests.encoding=UTF-8
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.request.logger={level}, requests
log4j.additivity.kafka.request.logger=false
log4j.logger.kafka.network.RequestChannel$={level}, requests
log4j.additivity.kafka.network.RequestChannel$=false
"""


class KafkaDidNotStartError(Exception):
    """A Kafka process ended or stayed silent; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What a node is to be."""

    node_id: int
    roles: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    """Static properties on top of the cluster's."""


@dataclass(slots=True)
class Node:
    """A node with its addresses and, once started, its process."""

    spec: NodeSpec
    folder: Path
    broker_port: int | None
    controller_port: int | None
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Where the process writes."""
        return self.folder / "kafka.log"

    @property
    def request_log(self) -> Path:
        """Where the process writes the requests it has completed, if asked to."""
        return self.folder / "kafka-request.log"

    def tail(self) -> str:
        """Return the last lines that the process wrote."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.split("\n")[-40:])


def plan(brokers: int = 1, *, combined: bool = True) -> list[NodeSpec]:
    """Brokers 1, 2, ... and a controller: broker 1's own, or node 100."""
    if combined:
        first = NodeSpec(1, ("broker", "controller"))
        return [first, *(NodeSpec(node_id, ("broker",)) for node_id in range(2, brokers + 1))]
    return [NodeSpec(100, ("controller",)), *(NodeSpec(node_id, ("broker",)) for node_id in range(1, brokers + 1))]


class KafkaCluster:
    """A cluster of real Kafka nodes on this machine."""

    def __init__(
        self,
        jars: Path,
        folder: Path,
        nodes: Sequence[NodeSpec] | None = None,
        *,
        properties: Mapping[str, str] | None = None,
        format_arguments: Sequence[str] = (),
        request_log: str | None = None,
    ) -> None:
        """`properties` go to every node; `format_arguments` to StorageTool, e.g. `--release-version 4.2`.

        `request_log` is the level of `kafka.request.logger`, DEBUG or TRACE; None: no request log.
        """
        self.jars = jars
        self.folder = folder
        self.specs = list(nodes if nodes is not None else plan())
        self.properties = dict(properties or {})
        self.format_arguments = tuple(format_arguments)
        self.request_log = request_log
        self.cluster_id = format_uuid(random_uuid())
        self.nodes: dict[int, Node] = {}

    def __enter__(self) -> KafkaCluster:
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self._start(self.folder / f"attempt-{attempt}")
            except KafkaDidNotStartError as error:
                self.stop()
                # a port that was free when it was chosen may have been taken since
                if "Address already in use" not in str(error) or attempt == START_ATTEMPTS:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                break
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes; nothing that they hold is worth a slow farewell."""
        processes = [node.process for node in self.nodes.values() if node.process is not None]
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

    def kill(self, node_id: int) -> None:
        """End one node at once."""
        process = self.nodes[node_id].process
        assert process is not None
        process.kill()
        process.wait()

    def restart(self, node_id: int) -> None:
        """Start a node again that was killed, and wait until every broker is in its metadata."""
        node = self.nodes[node_id]
        node.process = self._spawn(node, "kafka.Kafka", str(node.folder / "server.properties"))
        self._wait_until_ready(node, time.monotonic() + START_SECONDS)

    @property
    def broker_addresses(self) -> dict[int, tuple[str, int]]:
        """Where the brokers listen, by node id."""
        return {
            node_id: (HOST, node.broker_port) for node_id, node in self.nodes.items() if node.broker_port is not None
        }

    @property
    def controller_addresses(self) -> dict[int, tuple[str, int]]:
        """Where the controllers listen, by node id."""
        return {
            node_id: (HOST, node.controller_port)
            for node_id, node in self.nodes.items()
            if node.controller_port is not None
        }

    @property
    def bootstrap_servers(self) -> str:
        """All brokers, as clients want them."""
        return ",".join(f"{host}:{port}" for host, port in self.broker_addresses.values())

    def connect_broker(self, node_id: int = 1) -> Connection:
        """Connect to a broker."""
        return Connection(self.broker_addresses[node_id])

    def connect_controller(self) -> Connection:
        """Connect to the first controller, which is the active one where it is the only one."""
        return Connection(next(iter(self.controller_addresses.values())))

    def static_properties(self, node_id: int) -> dict[str, str]:
        """Return the whole `server.properties` of a node."""
        node = self.nodes[node_id]
        voters = ",".join(f"{each}@{host}:{port}" for each, (host, port) in self.controller_addresses.items())
        listeners = [f"PLAINTEXT://{HOST}:{node.broker_port}"] if node.broker_port is not None else []
        if node.controller_port is not None:
            listeners.append(f"CONTROLLER://{HOST}:{node.controller_port}")
        base = {
            "node.id": str(node_id),
            "process.roles": ",".join(node.spec.roles),
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(node.folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
        }
        return base | self.properties | dict(node.spec.properties)

    def _start(self, folder: Path) -> None:
        with ExitStack() as held:
            self.nodes = {spec.node_id: _place(spec, folder / f"node-{spec.node_id}", held) for spec in self.specs}
        for node_id, node in self.nodes.items():
            node.folder.mkdir(parents=True)
            write_properties(node.folder / "server.properties", self.static_properties(node_id))
            (node.folder / "log4j.properties").write_text(self._log_properties(node), encoding="ascii")
        formats = [self._spawn(node, "kafka.tools.StorageTool", *self._format(node)) for node in self.nodes.values()]
        for node, process in zip(self.nodes.values(), formats, strict=True):
            if process.wait(FORMAT_SECONDS) != 0:
                raise KafkaDidNotStartError(f"Node {node.spec.node_id} could not be formatted:\n{node.tail()}")
        for node in self.nodes.values():
            node.process = self._spawn(node, "kafka.Kafka", str(node.folder / "server.properties"))
        deadline = time.monotonic() + START_SECONDS
        for node in self.nodes.values():
            self._wait_until_ready(node, deadline)

    def _log_properties(self, node: Node) -> str:
        if self.request_log is None:
            return LOG_PROPERTIES
        return LOG_PROPERTIES + REQUEST_LOG_PROPERTIES.format(file=node.request_log, level=self.request_log)

    def _format(self, node: Node) -> tuple[str, ...]:
        properties = str(node.folder / "server.properties")
        return ("format", "-t", self.cluster_id, "-c", properties, *self.format_arguments)

    def _spawn(self, node: Node, *command: str) -> subprocess.Popen[bytes]:
        logging = f"-Dlog4j.configuration=file:{node.folder / 'log4j.properties'}"
        with node.log.open("ab") as log:
            return subprocess.Popen(
                ["java", *JVM_FLAGS, logging, "-cp", f"{self.jars}/*", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=node.folder,
            )

    def _wait_until_ready(self, node: Node, deadline: float) -> None:
        assert node.process is not None
        while not self._is_ready(node):
            with suppress(subprocess.TimeoutExpired):
                code = node.process.wait(POLL_SECONDS)
                raise KafkaDidNotStartError(f"Node {node.spec.node_id} ended with {code}:\n{node.tail()}")
            if time.monotonic() > deadline:
                raise KafkaDidNotStartError(f"Node {node.spec.node_id} is not ready in time:\n{node.tail()}")

    def _is_ready(self, node: Node) -> bool:
        """Tell whether the node answers and, if a broker, knows all brokers."""
        try:
            if node.broker_port is None:
                with Connection((HOST, node.controller_port or 0)) as connection:
                    return bool(api_versions(connection))
            with Connection((HOST, node.broker_port)) as connection:
                return live_brokers(connection) == set(self.broker_addresses)
        except OSError:
            return False


def _place(spec: NodeSpec, folder: Path, held: ExitStack) -> Node:
    """Choose free ports; they stay bound until all nodes have theirs, so that no two get the same."""
    broker_port = _free_port(held) if "broker" in spec.roles else None
    controller_port = _free_port(held) if "controller" in spec.roles else None
    return Node(spec, folder, broker_port, controller_port)


def _free_port(held: ExitStack) -> int:
    sock = held.enter_context(socket.socket())
    sock.bind((HOST, 0))
    port: int = sock.getsockname()[1]
    return port


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a properties file as `java.util.Properties` reads it."""
    path.write_text("".join(f"{_escape(k)}={_escape(v)}\n" for k, v in properties.items()), encoding="ascii")


def _escape(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    characters = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return "".join(c if c.isalnum() and c.isascii() else f"\\u{ord(c):04x}" for c in characters)
