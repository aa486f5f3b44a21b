"""Heartbeats: what a broker asks, what becomes of it, and of the partitions it leads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import after, broker, cluster, directory_of, messages, topic

from doorkeeper.cluster.controller.heartbeat import (
    BrokerHeartbeatRequest,
    decide_broker_heartbeat,
    decide_fence_broker,
    decide_unregister_broker,
)
from doorkeeper.cluster.controller.sessions import HeartbeatTracker
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion

LEADING = cluster(broker(1), broker(2), *topic("orders", 1, 2))
FENCED = cluster(broker(1, fenced=True), *topic("orders", -1))


def tracker_for(image: MetadataImage, registered_at: int = 20, **offsets: int) -> HeartbeatTracker:
    tracker = HeartbeatTracker(9000)
    for one in image.cluster.brokers.values():
        offset = offsets.get(f"broker_{one.id}", 50)
        tracker = tracker.registered(one.id, one.epoch, registered_at).touched(one.id, one.epoch, offset, 0)
    return tracker


def heartbeat(**changes: Any) -> BrokerHeartbeatRequest:
    values: dict[str, Any] = {
        "broker_id": 1,
        "broker_epoch": 11,
        "current_metadata_offset": 20,
        "want_fence": False,
        "want_shut_down": False,
    }
    return BrokerHeartbeatRequest(**(values | changes))


def leaders(image: MetadataImage) -> list[int]:
    (orders,) = image.topics.by_name.values()
    return [one.leader for one in orders.partitions.values()]


@pytest.mark.parametrize(
    ("broker_id", "epoch", "message"),
    [
        (3, 11, "No broker registration found for broker id 3"),
        (1, 10, "Expected broker epoch 11, but got broker epoch 10"),
    ],
)
def test_refuses_a_stale_epoch(broker_id: int, epoch: int, message: str) -> None:
    decision = decide_broker_heartbeat(
        LEADING, heartbeat(broker_id=broker_id, broker_epoch=epoch), tracker_for(LEADING)
    )
    assert decision.records == ()
    assert (decision.response.error_code, decision.response.error_message) == (ErrorCode.stale_broker_epoch, message)


@pytest.mark.parametrize(("offset", "caught_up"), [(19, False), (20, True)])
def test_unfences_a_broker_that_has_read_its_own_registration(offset: int, caught_up: bool) -> None:
    decision = decide_broker_heartbeat(FENCED, heartbeat(current_metadata_offset=offset), tracker_for(FENCED))
    assert decision.response.is_caught_up is caught_up
    assert decision.response.is_fenced is not caught_up
    image = after(FENCED, decision)
    assert image.cluster.brokers[1].fenced is not caught_up
    assert leaders(image) == ([1] if caught_up else [-1])


def test_a_leader_that_returns_has_a_new_epoch() -> None:
    image = after(FENCED, decide_broker_heartbeat(FENCED, heartbeat(), tracker_for(FENCED)))
    (partition,) = image.topics.by_name["orders"].partitions.values()
    assert (partition.leader_epoch, partition.isr) == (1, (1,))


@pytest.mark.parametrize("want_shut_down", [False, True])
def test_a_fenced_broker_stays_fenced_if_it_wants_and_may_go_at_once(want_shut_down: bool) -> None:
    request = heartbeat(want_fence=True, want_shut_down=want_shut_down)
    decision = decide_broker_heartbeat(FENCED, request, tracker_for(FENCED))
    assert decision.records == ()
    assert decision.response.is_fenced
    assert decision.response.should_shut_down is want_shut_down


def test_a_quiet_heartbeat_writes_nothing() -> None:
    decision = decide_broker_heartbeat(LEADING, heartbeat(), tracker_for(LEADING))
    assert decision.records == ()
    assert (decision.response.is_fenced, decision.response.should_shut_down) == (False, False)


@pytest.mark.parametrize("want_shut_down", [False, True])
def test_fences_a_broker_that_asks_for_it(want_shut_down: bool) -> None:
    request = heartbeat(want_fence=True, want_shut_down=want_shut_down)
    decision = decide_broker_heartbeat(LEADING, request, tracker_for(LEADING))
    image = after(LEADING, decision)
    assert image.cluster.brokers[1].fenced
    assert leaders(image) == [-1, 2]
    assert decision.response.should_shut_down is want_shut_down


def test_a_controlled_shutdown_goes_step_by_step() -> None:
    request = heartbeat(want_shut_down=True)
    tracker = tracker_for(LEADING, broker_2=59)
    first = decide_broker_heartbeat(LEADING, request, tracker)
    assert first.response.in_controlled_shutdown
    assert not first.response.should_shut_down
    image = after(LEADING, first)
    assert image.cluster.brokers[1].in_controlled_shutdown
    assert leaders(image) == [-1, 2]

    tracker = tracker.shutting_down(1, 60)
    waiting = decide_broker_heartbeat(image, request, tracker)
    assert waiting.records == ()
    assert not waiting.response.should_shut_down

    tracker = tracker.touched(2, 12, 60, 0)
    last = decide_broker_heartbeat(image, request, tracker)
    assert last.response.should_shut_down
    assert after(image, last).cluster.brokers[1].fenced


def test_a_broker_in_controlled_shutdown_waits_while_it_still_leads() -> None:
    tracker = tracker_for(LEADING).shutting_down(1, 1)
    decision = decide_broker_heartbeat(LEADING, heartbeat(want_shut_down=True), tracker)
    assert decision.response.in_controlled_shutdown
    assert decision.records == ()


def test_a_broker_that_leads_nothing_may_go_at_once() -> None:
    image = cluster(broker(1))
    decision = decide_broker_heartbeat(image, heartbeat(want_shut_down=True), tracker_for(image))
    assert decision.response.should_shut_down
    assert after(image, decision).cluster.brokers[1].fenced


def test_a_controlled_shutdown_is_not_written_twice_after_the_controller_forgot_it() -> None:
    image = cluster(broker(1, in_controlled_shutdown=True), *topic("orders", 1))
    decision = decide_broker_heartbeat(image, heartbeat(want_shut_down=True), tracker_for(image))
    assert [type(one) for one in messages(decision)] == [types.PartitionChangeRecord]


def test_offline_directories_leave_the_registration_and_their_partitions_have_no_leader() -> None:
    extra = UUID(int=2000)
    image = cluster(broker(1, log_dirs=(directory_of(1), extra)), *topic("orders", 1))
    request = heartbeat(offline_log_dirs=(directory_of(1), None, UUID(int=5)))
    after_loss = after(image, decide_broker_heartbeat(image, request, tracker_for(image)))
    assert after_loss.cluster.brokers[1].directories == (extra,)
    assert leaders(after_loss) == [-1]


def test_a_partition_in_a_lost_directory_is_not_led_again() -> None:
    image = cluster(broker(1, fenced=True, log_dirs=(UUID(int=2000),)), *topic("orders", -1))
    decision = decide_broker_heartbeat(image, heartbeat(), tracker_for(image))
    assert leaders(after(image, decision)) == [-1]


def test_notes_cordoned_directories_once() -> None:
    image = cluster(broker(1))
    request = heartbeat(cordoned_log_dirs=(directory_of(1),))
    noted = after(image, decide_broker_heartbeat(image, request, tracker_for(image)))
    assert noted.cluster.brokers[1].cordoned_directories == (directory_of(1),)
    assert decide_broker_heartbeat(noted, request, tracker_for(noted)).records == ()


def test_old_levels_know_nothing_of_directories() -> None:
    image = cluster(broker(1, log_dirs=()), level=MetadataVersion.IBP_3_6_IV0)
    request = heartbeat(offline_log_dirs=(directory_of(1),), cordoned_log_dirs=(directory_of(1),))
    assert decide_broker_heartbeat(image, request, tracker_for(image)).records == ()


def test_a_broker_that_the_tracker_forgot_is_measured_by_the_image() -> None:
    decision = decide_broker_heartbeat(FENCED, heartbeat(current_metadata_offset=49), HeartbeatTracker())
    assert not decision.response.is_caught_up
    assert decide_broker_heartbeat(FENCED, heartbeat(current_metadata_offset=50), HeartbeatTracker()).records


def test_fences_an_expired_broker_once() -> None:
    decision = decide_fence_broker(LEADING, 1)
    assert decision.response is True
    image = after(LEADING, decision)
    assert image.cluster.brokers[1].fenced
    assert leaders(image) == [-1, 2]
    assert decide_fence_broker(image, 1).response is False
    assert decide_fence_broker(image, 9).records == ()


def test_unregisters_a_broker_and_leaves_its_partitions() -> None:
    decision = decide_unregister_broker(LEADING, 1)
    image = after(LEADING, decision)
    assert set(image.cluster.brokers) == {2}
    assert leaders(image) == [-1, 2]


def test_refuses_to_unregister_a_stranger() -> None:
    response = decide_unregister_broker(LEADING, 9).response
    assert response.error_code == ErrorCode.broker_id_not_registered
    assert response.error_message == "Broker ID 9 is not currently registered"


def test_decides_the_same_twice() -> None:
    request = heartbeat(want_shut_down=True)
    tracker = tracker_for(LEADING)
    assert decide_broker_heartbeat(LEADING, request, tracker) == decide_broker_heartbeat(LEADING, request, tracker)
