"""Logs of every length give a coordinator that can serve."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import FOO, GROUP, Driver, durable, owned, subscription
from tests.cluster.groups.test_migration import classic_group, rejoin

from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.messages import Protocol, RequestContext
from doorkeeper.wire.coordinator_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    CoordinatorRecord,
    CurrentTopicPartitions,
    write_coordinator_record,
)


def classic_story(driver: Driver) -> None:
    leader, follower = driver.stable_group(2)
    driver.commit(3, member_id=leader, epoch=1)
    driver.start_join(instance="i")
    driver.leave(follower)
    driver.start_join(leader)
    driver.advance(60_000)


def consumer_story(driver: Driver) -> None:
    first = driver.consume("m1", regex="fo.*").member_epoch
    driver.settle()
    second = driver.consume("m2", instance_id="i").member_epoch
    driver.consume("m1", first)
    driver.consume("m1", driver.consumer.members["m1"].member_epoch, held=owned(foo=[0, 1, 2]))
    driver.consume("m2", second, instance_id="i")
    driver.commit(3, member_id="m2", epoch=driver.consumer.members["m2"].member_epoch)
    driver.consume("m2", -2, instance_id="i")
    driver.consume("m3", instance_id="i", names=["bar"])
    driver.consume("m1", -1)
    driver.advance(45_000)


def migration_story(driver: Driver) -> None:
    old = classic_group(driver)
    driver.consume("new", instance_id="i")
    rejoin(driver, old, {"foo": [0, 1, 2, 3, 4, 5]})
    rejoin(driver, old, {"foo": [0, 1, 2]})
    driver.join(instance="i", protocols=(Protocol("range", subscription("foo")),))
    driver.leave(old)
    driver.advance(60_000)
    driver.new_member_id()


@pytest.mark.parametrize("story", [classic_story, consumer_story, migration_story])
def test_the_whole_log_brings_back_what_was_in_memory(story: Callable[[Driver], None]) -> None:
    driver = Driver()
    story(driver)
    assert durable(driver.replayed()) == durable(driver.coordinator)


@pytest.mark.parametrize("story", [classic_story, consumer_story, migration_story])
def test_any_beginning_of_the_log_gives_a_coordinator_that_serves(story: Callable[[Driver], None]) -> None:
    driver = Driver()
    story(driver)
    for length in range(len(driver.log) + 1):
        part = Driver()
        part.log = driver.log[:length]
        part.now_ms = driver.now_ms
        part.restart()
        require_consistent(part.coordinator)
        response = part.consume("fresh")
        assert response.error_code in (ErrorCode.none, ErrorCode.group_id_not_found)
        part.advance(2_000_000)
        require_consistent(part.coordinator)
        part.take(part.coordinator.delete_groups([GROUP], "delete", part.now_ms))
        assert part.coordinator.list_groups() == []


def require_consistent(coordinator: GroupCoordinator) -> None:
    """Counters agree with members, and every answer about the groups can be given."""
    for group in coordinator.state.groups.values():
        if isinstance(group, ConsumerGroup):
            again = ConsumerGroup(group.group_id)
            for member in group.members.values():
                again.put_member(member)
            assert again.name_counts == group.name_counts
            assert again.regex_counts == group.regex_counts
            assert again.partition_epochs == group.partition_epochs
            assert again.classic_member_count == group.classic_member_count
    ids = list(coordinator.state.groups)
    assert len(coordinator.describe_groups(RequestContext(6), ids)) == len(ids)
    assert len(coordinator.describe_consumer_groups(ids)) == len(ids)


def test_passes_over_tombstones_of_what_is_not_there() -> None:
    driver = Driver()
    driver.consume("m1")
    gone = [CoordinatorRecord(record.key) for record in driver.last.records]
    driver.log = [(*write_coordinator_record(record), -1) for record in gone]
    assert driver.replayed().list_groups() == []


@pytest.mark.parametrize("epochs", [None, (), (7,)])
def test_partitions_without_epochs_have_that_of_their_member(epochs: tuple[int, ...] | None) -> None:
    """Kafka before 4.3 wrote none; a list of another length is not to be trusted either."""
    held = CurrentTopicPartitions(topic_id=FOO.topic_id, partitions=(0, 1), assignment_epochs=epochs)
    value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=5, assigned_partitions=(held,))
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="m1")
    driver = Driver()
    driver.log = [(*write_coordinator_record(CoordinatorRecord(key, value)), -1)]
    driver.restart()
    assert driver.consumer.members["m1"].assigned == {FOO.topic_id: {0: 5, 1: 5}}


def test_a_consumer_group_in_the_log_takes_the_place_of_a_group_that_only_has_offsets() -> None:
    driver = Driver()
    driver.commit(4)
    driver.consume("m1")
    driver.log = [entry for entry in driver.log if entry[1] is not None]  # compacted: the tombstone is gone
    driver.restart()
    assert driver.consumer.members.keys() == {"m1"}
    assert driver.fetch() == 4
