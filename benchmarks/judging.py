"""What a judgement costs: an identifier against a bare length check, a config change against decoding it with kio."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

from kio.schema.incremental_alter_configs.v1 import request as kio_request
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8

from benchmarks.measure import Row, compare
from doorkeeper.rules.config_change import (
    BrokerContext,
    ConfigEntry,
    Context,
    Operation,
    ResourceChange,
    ResourceType,
    judge_changes,
)
from doorkeeper.rules.config_schema import Scope, load_schema
from doorkeeper.rules.names import check_group_id

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("billing", "orders-consumer-group-7", "g" * 249, "ünïcödé-" * 10)
KEYS = 100  # of one change


def _judge() -> None:
    for name in NAMES:
        check_group_id(name)


def _bare() -> None:
    for name in NAMES:
        len(name) <= 249  # noqa: B015 - this is the peer


def _entries() -> list[tuple[str, str]]:
    """Every cluster-wide key with its default, and plugins' keys to make a hundred."""
    keys = [key for key in load_schema("broker").values() if key.scope is Scope.CLUSTER_WIDE and key.default]
    entries = [(key.name, str(key.default)) for key in keys if not key.name.startswith("resource.identifier")]
    return (entries + [(f"plugin.key.{number}", "value") for number in range(KEYS)])[:KEYS]


def _static(node_id: int) -> dict[str, str]:
    return {
        "process.roles": "broker",
        "node.id": str(node_id),
        "listeners": f"PLAINTEXT://host-{node_id}:9092",
        "controller.listener.names": "CONTROLLER",
        "num.io.threads": "8",
        "log.retention.hours": "100",
    }


def _change_judged() -> Callable[[], object]:
    brokers = {node_id: BrokerContext(_static(node_id)) for node_id in (1, 2, 3)}
    stored = {(ResourceType.BROKER, ""): {"num.io.threads": "8", "min.insync.replicas": "1"}}
    entries = tuple(ConfigEntry(name, Operation.SET, value) for name, value in _entries())
    changes = [ResourceChange(ResourceType.BROKER, "", entries)]
    context = Context(brokers=brokers, dynamic=stored)
    assert all(verdict.accepted for verdict in judge_changes(changes, context))
    return lambda: judge_changes(changes, context)


def _change_decoded() -> Callable[[], object]:
    configs = tuple(
        kio_request.AlterableConfig(name=name, config_operation=i8(0), value=value) for name, value in _entries()
    )
    resource = kio_request.AlterConfigsResource(resource_type=i8(4), resource_name="", configs=configs)
    buffer = io.BytesIO()
    message = kio_request.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    entity_writer(kio_request.IncrementalAlterConfigsRequest)(buffer, message)
    read, encoded = entity_reader(kio_request.IncrementalAlterConfigsRequest), buffer.getvalue()
    return lambda: read(encoded, 0)


def rows() -> list[Row]:
    return [
        compare(
            "four group ids, against `len(s) <= 249`",
            _judge,
            _bare,
            at_most=5,
            loops=20_000,
            unit="ns",
            clock=time.process_time,
        ),
        compare(
            "a cluster-wide change of 100 keys for 3 brokers, against kio's decoding of it",
            _change_judged(),
            _change_decoded(),
            at_most=10,
            loops=100,
            peer_loops=1000,
            clock=time.process_time,
        ),
    ]
