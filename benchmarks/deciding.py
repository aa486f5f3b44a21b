"""What the controller's decision on a large request costs, without I/O, against decoding that request with kio.

One config of each of so many topics, set by one IncrementalAlterConfigs: from the decoded message to the records to
write and the answer. CPU time.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from uuid import UUID

from kio.schema.incremental_alter_configs.v1 import request as kio_request
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8

from benchmarks.measure import Row, compare
from doorkeeper.cluster.controller.config_changes import (
    AlterConfigsResponse,
    changes_of,
    config_context,
    decide_alter_configs,
)
from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.image.metadata import MetadataDelta, MetadataImage, Provenance
from doorkeeper.rules.config_change import ResourceType
from doorkeeper.wire.metadata.types import FeatureLevelRecord, TopicRecord

METADATA_VERSION = 30
SIZES = (100, 1_000, 10_000)
ROUNDS = 9


def _image(topics: int) -> MetadataImage:
    delta = MetadataDelta(MetadataImage.EMPTY)
    delta.replay(FeatureLevelRecord(name="metadata.version", feature_level=METADATA_VERSION))
    for number in range(topics):
        delta.replay(TopicRecord(name=f"topic-{number}", topic_id=UUID(int=number + 1)))
    return delta.apply(Provenance(topics, 1, 0))


def _request(topics: int) -> kio_request.IncrementalAlterConfigsRequest:
    return kio_request.IncrementalAlterConfigsRequest(
        resources=tuple(
            kio_request.AlterConfigsResource(
                resource_type=i8(ResourceType.TOPIC),
                resource_name=f"topic-{number}",
                configs=(
                    kio_request.AlterableConfig(
                        name="retention.ms", config_operation=i8(0), value=str(60_000 + number)
                    ),
                ),
            )
            for number in range(topics)
        ),
        validate_only=False,
    )


def _decided(topics: int) -> Callable[[], object]:
    image, request, node = _image(topics), _request(topics), ControllerNode(1, {"process.roles": "controller"})

    def decide() -> Decision[AlterConfigsResponse]:
        changes = changes_of(request.resources, legacy=False)
        return decide_alter_configs(image, changes, config_context(image, node))

    assert len(decide().records) == topics
    return decide


def _decoded(topics: int) -> Callable[[], object]:
    buffer = io.BytesIO()
    entity_writer(kio_request.IncrementalAlterConfigsRequest)(buffer, _request(topics))
    read, encoded = entity_reader(kio_request.IncrementalAlterConfigsRequest), buffer.getvalue()
    return lambda: read(encoded, 0)


def rows() -> list[Row]:
    """Three sizes, so that it shows whether the cost is linear."""
    return [
        compare(
            f"deciding on {topics} topics, against kio's decoding of the request",
            _decided(topics),
            _decoded(topics),
            at_most=10,
            loops=max(1, 1_000 // topics),
            rounds=ROUNDS,
            clock=time.process_time,
        )
        for topics in SIZES
    ]
