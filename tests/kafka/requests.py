"""A tiny blocking client: one request of any kind to one node, and the config calls with all their freedom.

It does not check what it sends: unknown operations and resource types, null values and doubled keys are the point.
"""

from __future__ import annotations

import io
import itertools
import socket
import struct
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kio.index import load_request_schema, load_response_from_request
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from kio.static.protocol import RequestPayload, ResponsePayload

DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 32, 33, 44
METADATA, API_VERSIONS, CREATE_TOPICS = 3, 18, 19
LIST_CONFIG_RESOURCES = 74
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
UNKNOWN, TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 0, 2, 4, 8, 16, 32
ANSWER_SECONDS = 30

Entity = TypeVar("Entity")


@dataclass(frozen=True, slots=True)
class Operation:
    """One key of a change."""

    name: str
    value: str | None = None
    operation: int = SET


@dataclass(frozen=True, slots=True)
class Change:
    """The operations on one resource."""

    resource_type: int
    resource_name: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What Kafka says of one resource."""

    resource_type: int
    resource_name: str
    code: int
    message: str | None


class Connection:
    """One connection to a broker or a controller."""

    def __init__(self, address: tuple[str, int], client_id: str | None = "oracle") -> None:
        self.address = address
        self.client_id = client_id
        self._correlation_ids = itertools.count(1)
        self._socket = socket.create_connection(address, timeout=ANSWER_SECONDS)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def end(self) -> None:
        """Send no more, and go on reading."""
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End the connection at once, as a peer that dies does."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def call(self, request: RequestPayload) -> Any:
        """Send a request made of kio's classes and return the response, likewise."""
        self.send(request)
        return self.receive(request)

    def receive(self, request: RequestPayload) -> Any:
        """Wait for the response to a request that was sent."""
        buffer = self.receive_frame()
        response_type: type[ResponsePayload] = load_response_from_request(type(request))
        _header, offset = entity_reader(response_type.__header_schema__)(buffer, 0)
        response, _ = entity_reader(response_type)(buffer, offset)
        return response

    def exchange(self, request: RequestPayload) -> bytes:
        """Send a request and return the bytes of its response, header first."""
        self.send(request)
        return self.receive_frame()

    def send(self, request: RequestPayload) -> None:
        """Send a request that gets no response."""
        self.send_bytes(self.frame(request))

    def send_bytes(self, frame: bytes) -> None:
        """Send a frame of any bytes."""
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive_frame(self) -> bytes:
        """Wait for a frame of any bytes."""
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)

    def frame(self, request: RequestPayload) -> bytes:
        """The bytes of a request, header first."""
        header_type = request.__header_schema__
        fields: dict[str, Any] = {
            "request_api_key": request.__api_key__,
            "request_api_version": request.__version__,
            "correlation_id": i32(next(self._correlation_ids)),
            "client_id": self.client_id,
        }
        header = cast("Any", header_type)(**fields)
        buffer = io.BytesIO()
        entity_writer(header_type)(buffer, header)
        entity_writer(type(request))(buffer, request)
        return buffer.getvalue()

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(size - len(received))
            if not chunk:
                raise ConnectionError(f"{self.address} closed the connection")
            received += chunk
        return bytes(received)


def make_request(api_key: int, version: int, **fields: object) -> RequestPayload:
    """Build a request; nested messages are given as mappings and sequences of mappings."""
    return make_entity(load_request_schema(api_key, version), fields)


def make_entity(entity_type: type[Entity], fields: dict[str, Any]) -> Entity:
    """Build a message of kio's, with nested messages from mappings."""
    module = __import__(entity_type.__module__, fromlist=["*"])
    hints = {name: str(hint) for name, hint in entity_type.__annotations__.items()}
    values = {name: _make_field(module, hints[name], value) for name, value in fields.items()}
    return entity_type(**values)


def _make_field(module: Any, hint: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_make_field(module, hint, item) for item in value)
    if isinstance(value, dict):
        nested = next(
            candidate
            for name, candidate in vars(module).items()
            if isinstance(candidate, type) and f".{name}" in hint and hasattr(candidate, "__api_key__")
        )
        return make_entity(nested, value)
    return value


def incremental_alter_configs(
    connection: Connection, changes: Iterable[Change], *, version: int = 1, validate_only: bool = False
) -> list[Outcome]:
    """Ask for changes, key by key."""
    resources = [
        {
            "resource_type": change.resource_type,
            "resource_name": change.resource_name,
            "configs": [
                {"name": each.name, "config_operation": each.operation, "value": each.value}
                for each in change.operations
            ],
        }
        for change in changes
    ]
    request = make_request(INCREMENTAL_ALTER_CONFIGS, version, resources=resources, validate_only=validate_only)
    return _outcomes(connection.call(request))


def alter_configs(
    connection: Connection, changes: Iterable[Change], *, version: int = 2, validate_only: bool = False
) -> list[Outcome]:
    """Ask for whole new sets of configs; operation codes are not sent."""
    resources = [
        {
            "resource_type": change.resource_type,
            "resource_name": change.resource_name,
            "configs": [{"name": each.name, "value": each.value} for each in change.operations],
        }
        for change in changes
    ]
    return _outcomes(
        connection.call(make_request(ALTER_CONFIGS, version, resources=resources, validate_only=validate_only))
    )


def _outcomes(response: Any) -> list[Outcome]:
    return [
        Outcome(each.resource_type, each.resource_name, int(each.error_code), each.error_message)
        for each in response.responses
    ]


def describe_configs(
    connection: Connection,
    resource_type: int,
    resource_name: str,
    names: Sequence[str] | None = None,
    *,
    version: int = 4,
) -> Any:
    """Return kio's result for one resource, with synonyms."""
    resource = {
        "resource_type": resource_type,
        "resource_name": resource_name,
        "configuration_keys": None if names is None else tuple(names),
    }
    fields: dict[str, object] = {"resources": [resource], "include_synonyms": True}
    if version >= 3:
        fields["include_documentation"] = False
    request = make_request(DESCRIBE_CONFIGS, version, **fields)
    (result,) = connection.call(request).results
    return result


def list_config_resources(connection: Connection, resource_type: int) -> set[str]:
    """Name the resources of one type that have configs."""
    response = connection.call(make_request(LIST_CONFIG_RESOURCES, 1, resource_types=[resource_type]))
    return {str(one.resource_name) for one in response.config_resources}


def live_brokers(connection: Connection) -> set[int]:
    """Name the brokers that the node's metadata hold."""
    request = make_request(
        METADATA, 12, topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )
    return {int(broker.node_id) for broker in connection.call(request).brokers}


def api_versions(connection: Connection) -> dict[int, tuple[int, int]]:
    """Return the version range of every API that the node offers."""
    request = make_request(API_VERSIONS, 3, client_software_name="oracle", client_software_version="1")
    keys = connection.call(request).api_keys
    return {int(each.api_key): (int(each.min_version), int(each.max_version)) for each in keys}


def create_topic(
    connection: Connection, name: str, configs: dict[str, str] | None = None, partitions: int = 1
) -> tuple[int, str | None]:
    """Create a topic, of one partition unless told, and return code and message."""
    topic = {
        "name": name,
        "num_partitions": i32(partitions),
        "replication_factor": i16(1),
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }
    request = make_request(CREATE_TOPICS, 7, topics=[topic], timeout=timedelta(seconds=10), validate_only=False)
    (answer,) = connection.call(request).topics
    return int(answer.error_code), answer.error_message
