"""Everything that a node has to tell of itself, gathered when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.metering import now_ms
from doorkeeper.metering.clients import OTHER, ClientBook, ClientMeter
from doorkeeper.metering.measured import Measured, Tags
from doorkeeper.metering.quotas import Entity, Name
from doorkeeper.rules.client_id import ClientIdForm, DefaultEntity, QuotaType, jmx_sanitize, sanitize
from doorkeeper.wire.messages import api_class_name

if TYPE_CHECKING:
    from doorkeeper.cluster.node import Node

SERVER: Final = "kafka.server"
OURS: Final = "doorkeeper"
_CLIENT_COUNTERS: Final = frozenset(("requests", "bytes-in", "bytes-out", "throttles", "throttle-time-ms"))


def node_metrics(node: Node, *, with_node: bool = False) -> Iterator[Measured]:
    """All metrics of a node.

    :param with_node: tell every object's name with the node's id, for a process of several.
    """
    own: Tags = (("node", str(node.config.node_id)),) if with_node else ()
    now = now_ms()
    shown = ClientNames(node.config.client_id_form)
    for one in chain(
        node.meter.requests.measured(now),
        _quotas(node.meter.clients, shown, now),
        _clients(node, shown),
        _connections(node, now),
        _series(node.meter.clients),
        _groups(node),
        _logs(node),
        _verdicts(node),
        _request_logs(node),
    ):
        yield Measured(one.domain, one.kind, (*one.tags, *own), one.attributes, one.counters, one.buckets)


class ClientNames:
    """How users and client ids are shown: sanitised, never raw (`metric.client.id.form`)."""

    def __init__(self, form: ClientIdForm) -> None:
        self._encode = sanitize if form is ClientIdForm.URL_ENCODED else jmx_sanitize

    def tags(self, user: str, client_id: str, *, is_other: bool) -> Tags:
        return (("user", sanitize(user)), ("client-id", OTHER if is_other else self._encode(client_id)))

    def entity(self, entity: Entity) -> str:
        """Where a quota is set, in words."""
        parts = zip(("user", "client-id"), entity, strict=True)
        return " ".join(f"{kind} {self._name(name)}" for kind, name in parts if name is not None)

    def _name(self, name: Name) -> str:
        return name.value if isinstance(name, DefaultEntity) else self._encode(str(name))


def _quotas(clients: ClientBook, shown: ClientNames, now: int) -> Iterator[Measured]:
    for (kind, user, client_id, is_other), attributes in clients.measured(now):
        yield Measured(SERVER, kind.value, shown.tags(user, client_id, is_other=is_other), attributes)


def _clients(node: Node, shown: ClientNames) -> Iterator[Measured]:
    clients = node.meter.clients
    connections = Counter(
        (peer.meter.user, peer.meter.client_id)
        for listener in node.listeners
        for peer in listener.peers()
        if peer.meter is not None
    )
    for meter, is_other in clients.meters():
        attributes: dict[str, float | str] = {
            "requests": meter.requests,
            "bytes-in": meter.bytes_in,
            "bytes-out": meter.bytes_out,
            "throttles": meter.throttles,
            "throttle-time-ms": meter.throttle_ms,
            "connections": connections[meter.user, meter.client_id],
        }
        if not is_other:
            attributes |= dict(_bound(clients, meter, shown))
        tags = shown.tags(meter.user, meter.client_id, is_other=is_other)
        yield Measured(OURS, "Client", tags, attributes, _CLIENT_COUNTERS)


def _bound(clients: ClientBook, meter: ClientMeter, shown: ClientNames) -> Iterator[tuple[str, float | str]]:
    """The limits of a client, and where they are set."""
    for kind in QuotaType:
        binding = clients.binding(kind, meter)
        if binding.limit is not None and binding.entity is not None:
            yield f"{kind.value}-quota", binding.limit
            yield f"{kind.value}-quota-entity", shown.entity(binding.entity)


def _connections(node: Node, now: int) -> Iterator[Measured]:
    for listener in node.listeners:
        tags: Tags = (("listener", listener.name), ("networkProcessor", "0"))
        yield Measured(SERVER, "socket-server-metrics", tags, {"connection-count": listener.connections})
        software: Counter[tuple[str, str]] = Counter(
            (peer.software_name, peer.software_version) for peer in listener.peers()
        )
        for (name, version), count in software.items():
            yield Measured(
                SERVER,
                "socket-server-metrics",
                (("clientSoftwareName", name), ("clientSoftwareVersion", version), *tags),
                {"connections": count},
            )
    for address, attributes in node.meter.connections.measured(now):
        yield Measured(SERVER, "socket-server-metrics", (("ip", jmx_sanitize(address)),), attributes)


def _series(clients: ClientBook) -> Iterator[Measured]:
    """How near the limit of series is, and how often it was met."""
    attributes = {"count": float(len(clients)), "limit": float(clients.limit), "refused": float(clients.refused)}
    yield Measured(OURS, "ClientSeries", (), attributes, frozenset(("refused",)))


def _groups(node: Node) -> Iterator[Measured]:
    data = None if node.broker is None else node.broker.data_if_serving
    if data is None:
        return
    counted: Counter[tuple[str, str]] = Counter(
        (one.group_type, one.group_state)
        for partition in data.groups
        if partition.check_ready() is ErrorCode.none
        for one in partition.coordinator.list_groups((), ())
    )
    types: Counter[str] = Counter()
    for (group_type, state), count in counted.items():
        types[group_type] += count
        tags = (("protocol", group_type), ("state", state))
        yield Measured(SERVER, "group-coordinator-metrics", tags, {"group-state-count": count})
    for group_type in {"classic", "consumer", *types}:
        yield Measured(
            SERVER, "group-coordinator-metrics", (("protocol", group_type),), {"group-count": types[group_type]}
        )


def _logs(node: Node) -> Iterator[Measured]:
    data = None if node.broker is None else node.broker.data_if_serving
    for log in () if data is None else list(data.logs):
        for name, value in (
            ("Size", log.size),
            ("LogStartOffset", log.log_start_offset),
            ("LogEndOffset", log.log_end_offset),
            ("NumLogSegments", len(log.segments)),
        ):
            tags = (("name", name), ("topic", log.topic), ("partition", str(log.partition)))
            yield Measured("kafka.log", "Log", tags, {"Value": value})


def _verdicts(node: Node) -> Iterator[Measured]:
    """What the doors found too long: refused, or let in because nobody enforces yet."""
    book = node.verdicts.book
    for (kind, api_key, mode), count in list(book.counts.items()):
        tags = (("identifier", str(kind)), ("request", api_class_name(api_key)), ("mode", str(mode)))
        yield Measured(OURS, "Verdicts", tags, {"Count": count}, frozenset(("Count",)))
    yield Measured(OURS, "Verdicts", (("name", "Overflow"),), {"Count": book.overflow}, frozenset(("Count",)))


def _request_logs(node: Node) -> Iterator[Measured]:
    """Lines that the request logs wrote, had no room for, and could not write."""
    names = frozenset(("written", "dropped", "failed"))
    for log in node.request_logs:
        attributes = {"written": log.lines.written, "dropped": log.lines.dropped, "failed": log.lines.failed}
        yield Measured(OURS, "RequestLog", (("listener", log.listener),), attributes, names)
