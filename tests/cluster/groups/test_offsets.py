"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete and the end of offsets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import BAR, FOO, GROUP, START_MS, Driver, durable, owned, topic_id, topics

from doorkeeper.cluster.groups.messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteTopic,
    OffsetFetchGroup,
    OffsetFetchTopic,
    RequestContext,
    TxnOffsetCommitRequest,
)
from doorkeeper.cluster.groups.offset_store import CommittedOffset
from doorkeeper.cluster.groups.settings import GroupSettings, MigrationPolicy
from doorkeeper.wire.coordinator_records import (
    CoordinatorRecord,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitValue,
)

HOUR = 3_600_000
WEEK = 7 * 24 * HOUR


def txn_commit(
    driver: Driver, offset: int, *, producer: int = 1, topic: str = "foo", partition: int = 0, **options: Any
) -> ErrorCode:
    entry = OffsetCommitPartition(partition_index=partition, committed_offset=offset)
    request = TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=options.pop("group", GROUP),
        producer_id=producer,
        producer_epoch=0,
        topics=(OffsetCommitTopic(name=topic, partitions=(entry,)),),
        **options,
    )
    token = driver.token()
    decision = driver.coordinator.commit_transactional_offsets(RequestContext(5), request, token, driver.now_ms)
    driver.take(decision)
    code = driver.replies[token].topics[0].partitions[0].error_code
    assert isinstance(code, ErrorCode)
    return code


def delete(driver: Driver, topic: str = "foo", partition: int = 0, group: str = GROUP) -> Any:
    request = OffsetDeleteRequest(
        group_id=group, topics=(OffsetDeleteTopic(topic, (OffsetDeletePartition(partition),)),)
    )
    token = driver.token()
    driver.take(driver.coordinator.delete_offsets(request, token, driver.now_ms))
    response = driver.replies[token]
    return response.error_code or response.topics[0].partitions[0].error_code


# --- without members ---------------------------------------------------------------------------------------------


def test_commits_and_fetches_in_a_group_that_nobody_joined() -> None:
    driver = Driver()
    assert driver.commit(42, metadata="note") is ErrorCode.none
    assert driver.fetch() == 42
    assert driver.kinds() == ["OffsetCommit"]
    assert driver.coordinator.list_groups()[0].group_state == "Empty"
    assert driver.coordinator.list_groups()[0].protocol_type == ""
    driver.restart()
    assert driver.fetch() == 42


def test_writes_what_kafka_writes() -> None:
    driver = Driver()
    driver.commit(42, metadata="note")
    (record,) = driver.last.records
    assert record.version == 4
    assert record.value == OffsetCommitValue(
        offset=42, leader_epoch=-1, metadata="note", commit_timestamp=START_MS, topic_id=FOO.topic_id
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"topic": "nope"}, ErrorCode.unknown_topic_or_partition),
        ({"topic": "nope", "version": 10}, ErrorCode.unknown_topic_id),
        ({"partition": 6}, ErrorCode.unknown_topic_or_partition),
        ({"partition": -1}, ErrorCode.unknown_topic_or_partition),
        ({"partition": 5}, ErrorCode.none),
        ({"partition": 6, "version": 10}, ErrorCode.unknown_topic_or_partition),
        ({"version": 10}, ErrorCode.none),
        ({"metadata": "x" * 4096}, ErrorCode.none),
        ({"metadata": "x" * 4097}, ErrorCode.offset_metadata_too_large),
        ({"metadata": "😀" * 2048}, ErrorCode.none),
        ({"metadata": "😀" * 2048 + "x"}, ErrorCode.offset_metadata_too_large),
        ({"epoch": 0, "version": 8}, ErrorCode.illegal_generation),
        ({"epoch": 0, "version": 9}, ErrorCode.group_id_not_found),
        ({"epoch": 0, "version": 9, "topic": "nope"}, ErrorCode.unknown_topic_or_partition),
    ],
)
def test_judges_a_commit_to_a_group_that_does_not_exist(options: dict[str, Any], code: ErrorCode) -> None:
    driver = Driver()
    assert driver.commit(**options) is code
    assert bool(driver.log) is (code is ErrorCode.none)


def test_the_limit_of_metadata_is_a_setting() -> None:
    driver = Driver(GroupSettings(offset_metadata_max=3))
    assert driver.commit(metadata="abc") is ErrorCode.none
    assert driver.commit(metadata="abcd") is ErrorCode.offset_metadata_too_large


def test_refuses_single_partitions_and_commits_the_others() -> None:
    driver = Driver()
    entries = [
        OffsetCommitPartition(partition_index=0, committed_offset=1),
        OffsetCommitPartition(partition_index=1, committed_offset=1, committed_metadata="x" * 5000),
        OffsetCommitPartition(partition_index=99, committed_offset=1),
    ]
    request = OffsetCommitRequest(
        group_id=GROUP,
        topics=(OffsetCommitTopic(name="foo", partitions=tuple(entries)), OffsetCommitTopic(name="no")),
    )
    driver.take(driver.coordinator.commit_offsets(RequestContext(9), request, "t", driver.now_ms))
    response = driver.replies["t"]
    codes = [entry.error_code for entry in response.topics[0].partitions]
    assert codes == [ErrorCode.none, ErrorCode.offset_metadata_too_large, ErrorCode.unknown_topic_or_partition]
    assert response.topics[1].partitions == ()
    assert driver.kinds() == ["OffsetCommit"]


# --- in the name of members --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "epoch", "code"),
    [
        ("member", 1, ErrorCode.none),
        ("member", 2, ErrorCode.illegal_generation),
        ("member", 0, ErrorCode.illegal_generation),
        ("stranger", 1, ErrorCode.unknown_member_id),
        ("", -1, ErrorCode.unknown_member_id),
        ("", 1, ErrorCode.unknown_member_id),
    ],
)
def test_judges_a_commit_to_a_classic_group(who: str, epoch: int, code: ErrorCode) -> None:
    driver = Driver()
    (member,) = driver.stable_group()
    assert driver.commit(member_id=member if who == "member" else who, epoch=epoch) is code


def test_checks_the_instance_of_a_static_member() -> None:
    driver = Driver()
    token = driver.start_join(instance="i")
    driver.advance(3_000)
    member = driver.replies[token].member_id
    driver.sync(member, 1, instance="i")
    assert driver.commit(member_id=member, epoch=1, group_instance_id="i") is ErrorCode.none
    assert driver.commit(member_id="old", epoch=1, group_instance_id="i") is ErrorCode.fenced_instance_id
    assert driver.commit(member_id=member, epoch=1, group_instance_id="j") is ErrorCode.unknown_member_id


def test_refuses_a_commit_between_join_and_sync_but_allows_it_while_a_rebalance_is_prepared() -> None:
    driver = Driver()
    leader, follower = driver.stable_group(2)
    driver.start_join(leader)
    assert driver.commit(member_id=follower, epoch=1) is ErrorCode.none
    driver.start_join(follower)
    assert driver.commit(member_id=follower, epoch=2) is ErrorCode.rebalance_in_progress


def test_a_commit_keeps_a_classic_session_alive() -> None:
    driver = Driver()
    (member,) = driver.stable_group(session_ms=10_000)
    for _ in range(3):
        driver.advance(9_999)
        assert driver.commit(member_id=member, epoch=1) is ErrorCode.none


@pytest.mark.parametrize(
    ("who", "epoch", "version", "code"),
    [
        ("m1", 2, 9, ErrorCode.none),
        ("m1", 2, 10, ErrorCode.none),
        ("m1", 2, 8, ErrorCode.unsupported_version),
        ("m1", 3, 9, ErrorCode.stale_member_epoch),
        ("m1", 1, 9, ErrorCode.stale_member_epoch),
        ("m9", 2, 9, ErrorCode.unknown_member_id),
        ("", -1, 9, ErrorCode.unknown_member_id),
    ],
)
def test_judges_a_commit_to_a_consumer_group(who: str, epoch: int, version: int, code: ErrorCode) -> None:
    driver = Driver()
    driver.consume("m1")
    assert driver.commit(member_id=who, epoch=epoch, version=version) is code


def test_anybody_may_commit_to_an_empty_consumer_group() -> None:
    driver = Driver()
    driver.consume("m1")
    driver.consume("m1", -1)
    assert driver.commit() is ErrorCode.none


def test_a_member_with_an_older_epoch_may_commit_what_it_has_held_since_then() -> None:
    driver = Driver()
    first = driver.consume("m1").member_epoch
    second = driver.consume("m2").member_epoch
    driver.consume("m1", first)
    assert driver.consume("m1", first, held=owned(foo=[0, 1, 2])).member_epoch == second
    driver.consume("m2", second)
    assert driver.commit(member_id="m1", epoch=first, partition=0) is ErrorCode.none
    assert driver.commit(member_id="m1", epoch=first, partition=3) is ErrorCode.stale_member_epoch
    assert driver.commit(member_id="m2", epoch=first, partition=3) is ErrorCode.stale_member_epoch


def test_a_classic_member_of_a_consumer_group_is_told_of_generations() -> None:
    driver = Driver(GroupSettings(consumer_assignment_interval_ms=0, consumer_migration_policy=MigrationPolicy.UPGRADE))
    driver.consume("m1", names=["bar"])
    joined = driver.join(version=3)
    good: dict[str, Any] = {"member_id": joined.member_id, "epoch": joined.generation_id, "version": 8}
    assert driver.commit(**good) is ErrorCode.none
    assert driver.commit(**{**good, "epoch": joined.generation_id + 1}) is ErrorCode.illegal_generation
    assert driver.commit(**{**good, "epoch": joined.generation_id - 1}) is ErrorCode.illegal_generation


# --- fetching ----------------------------------------------------------------------------------------------------


def test_a_group_that_does_not_exist_has_no_offsets_and_that_is_no_error() -> None:
    driver = Driver()
    assert driver.fetch() == -1
    everything = driver.coordinator.fetch_offsets(
        RequestContext(9), OffsetFetchGroup(group_id="nope"), require_stable=True
    )
    assert (everything.error_code, everything.topics) == (ErrorCode.none, ())


def test_fetches_all_topics() -> None:
    driver = Driver()
    driver.commit(1, topic="foo", partition=2)
    driver.commit(2, topic="bar", partition=0)
    asked = OffsetFetchGroup(group_id=GROUP)
    by_name = driver.coordinator.fetch_offsets(RequestContext(9), asked, require_stable=False)
    assert [(t.name, t.topic_id, t.partitions[0].committed_offset) for t in by_name.topics] == [
        ("bar", None, 2),
        ("foo", None, 1),
    ]
    by_id = driver.coordinator.fetch_offsets(RequestContext(10), asked, require_stable=False)
    assert [topic.topic_id for topic in by_id.topics] == [BAR.topic_id, FOO.topic_id]


@pytest.mark.parametrize(
    ("number", "offset", "code"),
    [(1, 9, ErrorCode.none), (2, -1, ErrorCode.none), (77, -1, ErrorCode.unknown_topic_id)],
)
def test_fetches_by_topic_id(number: int, offset: int, code: ErrorCode) -> None:
    driver = Driver()
    driver.commit(9)
    topic = OffsetFetchTopic(topic_id=topic_id(number), partition_indexes=(0,))
    asked = OffsetFetchGroup(group_id=GROUP, topics=(topic,))
    result = driver.coordinator.fetch_offsets(RequestContext(10), asked, require_stable=False)
    entry = result.topics[0].partitions[0]
    assert (entry.committed_offset, entry.error_code) == (offset, code)


def test_offsets_of_a_deleted_topic_are_gone_also_for_a_new_one_of_its_name() -> None:
    driver = Driver()
    driver.commit(9)
    txn_commit(driver, 10)
    driver.commit(1, topic="bar")
    driver.set_topics(replace(FOO, topic_id=topic_id(50)), BAR)
    assert driver.kinds() == ["-OffsetCommit", "-OffsetCommit"]
    driver.end_transaction(1, commit=True)
    assert driver.fetch() == -1
    assert driver.fetch("bar") == 1
    assert durable(driver.replayed())["offsets"] == driver.coordinator.state.offsets


def test_an_offset_of_an_earlier_topic_of_the_name_is_not_that_of_the_present_one() -> None:
    driver = Driver()
    driver.commit(9)
    txn_commit(driver, 4, partition=1)
    driver.end_transaction(1, commit=True)
    driver.topics = topics(replace(FOO, topic_id=topic_id(50)))
    driver.restart()  # the deletion was not seen: the broker was down
    topic = OffsetFetchTopic(topic_id=topic_id(50), partition_indexes=(0, 1))
    asked = OffsetFetchGroup(group_id=GROUP, topics=(topic,))
    result = driver.coordinator.fetch_offsets(RequestContext(10), asked, require_stable=False)
    assert [entry.committed_offset for entry in result.topics[0].partitions] == [-1, 4]


def test_leaves_topics_without_an_id_out_of_an_answer_by_id() -> None:
    driver = Driver()
    driver.commit(9)
    driver.topics = topics(BAR)
    driver.restart()
    asked = OffsetFetchGroup(group_id=GROUP)
    assert driver.coordinator.fetch_offsets(RequestContext(10), asked, require_stable=False).topics == ()
    assert driver.coordinator.fetch_offsets(RequestContext(9), asked, require_stable=False).topics[0].name == "foo"


@pytest.mark.parametrize(
    ("member", "epoch", "code"),
    [
        (None, -1, ErrorCode.none),
        ("m1", 2, ErrorCode.none),
        ("m1", 1, ErrorCode.stale_member_epoch),
        ("m1", 3, ErrorCode.stale_member_epoch),
        ("m9", 2, ErrorCode.unknown_member_id),
        ("", 0, ErrorCode.unknown_member_id),
    ],
)
def test_judges_a_fetch_of_a_consumer_groups_member(member: str | None, epoch: int, code: ErrorCode) -> None:
    driver = Driver()
    driver.consume("m1")
    asked = OffsetFetchGroup(group_id=GROUP, member_id=member, member_epoch=epoch)
    assert driver.coordinator.fetch_offsets(RequestContext(9), asked, require_stable=True).error_code is code


# --- transactions ------------------------------------------------------------------------------------------------


def test_a_transactions_offsets_count_when_it_commits() -> None:
    driver = Driver()
    driver.commit(1)
    assert txn_commit(driver, 2) is ErrorCode.none
    assert driver.last.producer is not None
    assert driver.last.producer.producer_id == 1
    assert driver.fetch() == 1
    assert driver.fetch(require_stable=True) is ErrorCode.unstable_offset_commit
    assert driver.fetch(partition=1, require_stable=True) == -1
    driver.end_transaction(1, commit=True)
    assert driver.fetch(require_stable=True) == 2
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_an_aborted_transactions_offsets_are_forgotten() -> None:
    driver = Driver()
    driver.commit(1)
    txn_commit(driver, 2)
    driver.end_transaction(1, commit=False)
    assert driver.fetch(require_stable=True) == 1


def test_a_later_plain_commit_beats_a_transaction_that_ends_after_it() -> None:
    driver = Driver()
    txn_commit(driver, 2)
    driver.commit(3)
    driver.end_transaction(1, commit=True)
    assert driver.fetch() == 3
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_a_partition_is_unstable_until_every_transaction_on_it_has_ended() -> None:
    driver = Driver()
    txn_commit(driver, 2, producer=1)
    txn_commit(driver, 3, producer=2)
    driver.end_transaction(1, commit=True)
    assert driver.fetch(require_stable=True) is ErrorCode.unstable_offset_commit
    driver.end_transaction(2, commit=False)
    assert driver.fetch(require_stable=True) == 2


def test_a_pending_transaction_survives_a_restart() -> None:
    driver = Driver()
    txn_commit(driver, 2)
    driver.restart()
    assert driver.fetch(require_stable=True) is ErrorCode.unstable_offset_commit
    driver.end_transaction(1, commit=True)
    assert driver.fetch() == 2


def test_a_marker_of_an_unknown_producer_does_nothing() -> None:
    driver = Driver()
    driver.commit(1)
    driver.end_transaction(99, commit=True)
    assert driver.fetch() == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, ErrorCode.none),
        ({"topic": "nope"}, ErrorCode.unknown_topic_or_partition),
        ({"partition": 6}, ErrorCode.unknown_topic_or_partition),
        ({"generation_id": 3, "group": "nope"}, ErrorCode.illegal_generation),
        ({"member_id": "m1", "generation_id": 2}, ErrorCode.none),
        ({"member_id": "m1", "generation_id": 3}, ErrorCode.illegal_generation),
        ({"member_id": "m1", "generation_id": 1}, ErrorCode.illegal_generation),
        ({"member_id": "m9", "generation_id": 2}, ErrorCode.unknown_member_id),
    ],
)
def test_judges_a_transactional_commit(options: dict[str, Any], code: ErrorCode) -> None:
    driver = Driver()
    driver.consume("m1")
    assert txn_commit(driver, 5, **options) is code


def test_a_transaction_without_a_member_may_commit_to_a_classic_group() -> None:
    driver = Driver()
    (member,) = driver.stable_group()
    assert txn_commit(driver, 5) is ErrorCode.none
    assert txn_commit(driver, 5, member_id=member, generation_id=1) is ErrorCode.none
    assert txn_commit(driver, 5, member_id=member, generation_id=2) is ErrorCode.illegal_generation


# --- deleting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "partition", "group", "code"),
    [
        ("foo", 0, GROUP, ErrorCode.none),
        ("foo", 1, GROUP, ErrorCode.none),
        ("nope", 0, GROUP, ErrorCode.unknown_topic_or_partition),
        ("foo", 6, GROUP, ErrorCode.unknown_topic_or_partition),
        ("foo", 0, "", ErrorCode.invalid_group_id),
        ("foo", 0, "other", ErrorCode.group_id_not_found),
    ],
)
def test_deletes_offsets(topic: str, partition: int, group: str, code: ErrorCode) -> None:
    driver = Driver()
    driver.commit(1)
    assert delete(driver, topic, partition, group) is code
    deleted = code is ErrorCode.none and partition == 0
    assert driver.fetch() == (-1 if deleted else 1)
    assert driver.kinds() == (["-OffsetCommit"] if deleted else [])


def test_deletes_pending_offsets_too() -> None:
    driver = Driver()
    txn_commit(driver, 1)
    assert delete(driver) is ErrorCode.none
    driver.end_transaction(1, commit=True)
    assert driver.fetch() == -1


@pytest.mark.parametrize("consumer", [True, False])
def test_does_not_delete_offsets_of_a_topic_that_the_group_reads(consumer: bool) -> None:
    driver = Driver()
    driver.commit(1)
    driver.commit(1, topic="bar")
    if consumer:
        driver.consume("m1")
    else:
        driver.stable_group()
    assert delete(driver) is ErrorCode.group_subscribed_to_topic
    assert delete(driver, "bar") is ErrorCode.none


def test_does_not_delete_offsets_of_a_group_whose_protocol_it_does_not_know() -> None:
    driver = Driver()
    driver.start_join(version=3, protocol_type="connect")
    driver.advance(3_000)
    assert delete(driver) is ErrorCode.non_empty_group


# --- expiring ----------------------------------------------------------------------------------------------------


def test_offsets_of_a_group_without_members_expire_a_week_after_the_commit() -> None:
    driver = Driver()
    driver.advance(1)
    driver.commit(1)
    driver.advance(WEEK - 1)
    assert driver.fetch() == 1
    driver.advance(600_000)
    assert driver.fetch() == -1
    assert driver.coordinator.list_groups() == []
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_offsets_of_an_empty_group_expire_a_week_after_the_last_member_left() -> None:
    driver = Driver()
    (member,) = driver.stable_group(session_ms=1_800_000)
    driver.commit(1, member_id=member, epoch=1)
    for _ in range(8 * 24 * 4):
        driver.advance(HOUR // 4)
        driver.beat(member, 1)
    assert driver.fetch() == 1
    driver.leave(member)
    driver.advance(WEEK - 600_000)
    assert driver.fetch() == 1
    driver.advance(600_000 * 2)
    assert driver.fetch() == -1
    assert driver.coordinator.list_groups() == []


def test_offsets_of_topics_that_a_stable_group_reads_do_not_expire_but_others_do() -> None:
    driver = Driver()
    driver.commit(1)
    driver.commit(1, topic="bar")
    (member,) = driver.stable_group(session_ms=1_800_000)
    for _ in range(8 * 24 * 4):
        driver.advance(HOUR // 4)
        driver.beat(member, 1)
    assert (driver.fetch(), driver.fetch("bar")) == (1, -1)


def test_the_offsets_of_a_consumer_group_expire_by_commit_time_unless_read() -> None:
    driver = Driver(GroupSettings(consumer_session_timeout_ms=3 * WEEK))
    driver.commit(1)
    driver.commit(1, topic="bar")
    driver.consume("m1")
    driver.advance(2 * WEEK)
    assert (driver.fetch(), driver.fetch("bar")) == (1, -1)
    assert driver.consumer.members


def test_offsets_of_a_group_that_is_rebalancing_do_not_expire() -> None:
    driver = Driver(GroupSettings(offsets_retention_ms=1_000, offsets_retention_check_interval_ms=5_000))
    driver.commit(1, topic="bar")
    leader, _ = driver.stable_group(2, session_ms=100_000)
    driver.commit(1, topic="bar", member_id=leader, epoch=1)
    driver.start_join(leader, session_ms=100_000)
    driver.advance(10_000)
    assert driver.fetch("bar") == 1


def test_an_empty_consumer_group_without_offsets_goes() -> None:
    driver = Driver()
    driver.consume("m1")
    driver.consume("m1", -1)
    driver.advance(600_000)
    assert driver.coordinator.list_groups() == []


def test_a_clients_own_retention_time_counts() -> None:
    driver = Driver()
    driver.commit(1, version=4, retention_time_ms=1_000)
    (record,) = driver.last.records
    assert record.version == 1
    assert isinstance(record.value, OffsetCommitValue)
    assert record.value.expire_timestamp == driver.now_ms + 1_000
    driver.advance(600_000)
    assert driver.fetch() == -1


def test_an_offset_that_a_transaction_is_about_to_change_does_not_expire() -> None:
    driver = Driver()
    driver.commit(1)
    txn_commit(driver, 2)
    driver.advance(2 * WEEK)
    assert driver.fetch() == 1
    assert driver.coordinator.list_groups() != []


def test_groups_and_offsets_are_forgotten_at_the_check_and_not_before() -> None:
    driver = Driver(GroupSettings(offsets_retention_ms=1_000, offsets_retention_check_interval_ms=5_000))
    driver.commit(1)
    driver.advance(4_999)
    assert driver.fetch() == 1
    driver.advance(1)
    assert driver.fetch() == -1


# --- old logs ----------------------------------------------------------------------------------------------------


def test_reads_offsets_that_very_old_kafkas_wrote() -> None:
    driver = Driver()
    key = LegacyOffsetCommitKey(group=GROUP, topic="foo", partition=0)
    value = LegacyOffsetCommitValue(offset=3, metadata="m", commit_timestamp=9)
    driver.coordinator.replay(CoordinatorRecord(key, value), 7)
    stored = driver.coordinator.state.offsets.committed.get(GROUP, "foo", 0)
    assert stored == CommittedOffset(3, metadata="m", commit_timestamp_ms=9, record_offset=7)
    driver.coordinator.replay(CoordinatorRecord(key), 8)
    assert driver.fetch() == -1
