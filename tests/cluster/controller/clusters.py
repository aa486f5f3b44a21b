"""Images for the tests of decisions: a new cluster, with brokers and topics as asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any
from uuid import UUID

from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.features import SUPPORTED_FEATURES, bootstrap_records
from doorkeeper.cluster.image.metadata import MetadataDelta, MetadataImage, Provenance
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record, write_metadata_record

CLUSTER_ID = "doorkeeper-test-cluster"
NODE = ControllerNode(100, {"node.id": "100", "process.roles": "controller"})
PLACE = Provenance(50, 1, 0)
OURS = MetadataVersion.DOORKEEPER
MANY = 50
"""Records up to which every prefix of a decision is replayed."""
KAFKAS = MetadataVersion.IBP_4_3_IV0


def directory_of(broker_id: int) -> UUID:
    return UUID(int=1000 + broker_id)


def broker(broker_id: int = 1, **changes: Any) -> types.RegisterBrokerRecord:
    """A registration as this release makes it, unfenced."""
    values: dict[str, Any] = {
        "broker_id": broker_id,
        "incarnation_id": UUID(int=500 + broker_id),
        "broker_epoch": 10 + broker_id,
        "end_points": (types.Endpoint(name="PLAINTEXT", host="localhost", port=9092 + broker_id),),
        "features": tuple(
            types.SupportedFeature(
                name=name, min_supported_version=int(one.lowest), max_supported_version=int(one.highest)
            )
            for name, one in SUPPORTED_FEATURES.items()
        ),
        "rack": None,
        "fenced": False,
        "log_dirs": (directory_of(broker_id),),
    }
    return types.RegisterBrokerRecord(**(values | changes))


def topic(name: str, *leaders: int, topic_id: UUID | None = None) -> list[Message]:
    """A topic with one partition for each leader given."""
    identity = topic_id or UUID(int=7000 + sum(map(ord, name)))
    return [
        types.TopicRecord(name=name, topic_id=identity),
        *(
            types.PartitionRecord(
                partition_id=index,
                topic_id=identity,
                replicas=(abs(leader),),
                isr=(abs(leader),),
                leader=leader if leader > 0 else -1,
                leader_epoch=0,
                partition_epoch=0,
                directories=(directory_of(abs(leader)),),
            )
            for index, leader in enumerate(leaders)
        ),
    ]


def config(resource_type: int, resource_name: str, name: str, value: str | None) -> types.ConfigRecord:
    return types.ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)


def cluster(*records: Message, level: MetadataVersion = OURS) -> MetadataImage:
    """A new cluster at a metadata.version, and what these records make of it."""
    image = MetadataImage.EMPTY
    return replayed(image, *(one.message for one in bootstrap_records(level, NODE)), *records)


def replayed(image: MetadataImage, *records: Any) -> MetadataImage:
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(PLACE)


def after(image: MetadataImage, decision: Decision[Any]) -> MetadataImage:
    """The image after a decision, whose records survive the disk, one batch or many."""
    one_by_one = image
    for record in decision.records[:MANY]:
        assert read_metadata_record(write_metadata_record(record)) == record
        one_by_one = replayed(one_by_one, record.message)
    at_once = replayed(image, *(one.message for one in decision.records))
    assert len(decision.records) > MANY or at_once == one_by_one
    return at_once


def messages(decision: Decision[Any]) -> list[Any]:
    return [one.message for one in decision.records]


def only(decision: Decision[Any]) -> VersionedRecord:
    (record,) = decision.records
    return record


class Ids:
    """A factory of ids that counts."""

    def __init__(self, start: int = 9000) -> None:
        self._numbers: Iterator[int] = count(start)

    def __call__(self) -> UUID:
        return UUID(int=next(self._numbers))


def configs_of(image: MetadataImage, resource_type: int, name: str) -> Mapping[str, str]:
    return image.configs.of(resource_type, name)
