"""Blocks of producer ids: consecutive, never twice, until there are no more."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import after, broker, cluster, replayed

from doorkeeper.cluster.controller.producer_ids import AllocateProducerIdsRequest, decide_allocate_producer_ids
from doorkeeper.wire.metadata import types

REQUEST = AllocateProducerIdsRequest(1, 11)
LAST = 2**63 - 1 - 1000


def test_gives_consecutive_blocks() -> None:
    image = cluster(broker(1))
    for start in (0, 1000, 2000):
        decision = decide_allocate_producer_ids(image, REQUEST)
        assert (decision.response.producer_id_start, decision.response.producer_id_len) == (start, 1000)
        image = after(image, decision)
    assert image.next_producer_id == 3000


@pytest.mark.parametrize(("request_"), [AllocateProducerIdsRequest(1, 10), AllocateProducerIdsRequest(2, 11)])
def test_refuses_a_stale_broker(request_: AllocateProducerIdsRequest) -> None:
    decision = decide_allocate_producer_ids(cluster(broker(1)), request_)
    assert decision.records == ()
    assert decision.response.error_code == ErrorCode.stale_broker_epoch


@pytest.mark.parametrize(("first", "code"), [(LAST, ErrorCode.none), (LAST + 1, ErrorCode.unknown_server_error)])
def test_ends_where_the_numbers_end(first: int, code: ErrorCode) -> None:
    image = replayed(cluster(broker(1)), types.ProducerIdsRecord(next_producer_id=first))
    assert decide_allocate_producer_ids(image, REQUEST).response.error_code == code
