"""Transactions in running nodes, of clients before KIP-890 and since, with one broker and with three."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import INIT_PRODUCER_ID, LIST_OFFSETS, PRODUCE, ask, batch, create_topic, fetch, produce
from tests.cluster.running import RunningCluster
from tests.cluster.transactional import (
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_PRODUCERS,
    LATER,
    LIST_TRANSACTIONS,
    WRITE_TXN_MARKERS,
    Cluster,
    Deadline,
    HandProducer,
)

from doorkeeper.cluster.broker.coordinated_topic import coordinator_partition
from doorkeeper.cluster.broker.transaction_markers import MarkerWriter
from doorkeeper.cluster.transactions.messages import PartitionCodes, TxnMarker
from doorkeeper.errors import StorageError
from doorkeeper.wire.registry import Door

OFFSET_FETCH, DESCRIBE_LOG_DIRS, DELETE_TOPICS, UPDATE_FEATURES = 9, 35, 20, 57
FEW = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20",
}
TRANSACTION_VERSIONS = [1, 2]


@contextmanager
def connected(running: RunningCluster) -> Iterator[Cluster]:
    with ExitStack() as stack:
        ids = [one.config.node_id for one in running.nodes if one.config.is_broker]
        yield Cluster({one: stack.enter_context(running.connect(Door.BROKER, one)) for one in ids})


@pytest.fixture(scope="module", params=[1, 3], ids=["one-broker", "three-brokers"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), brokers=request.param, overrides=FEW) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: RunningCluster) -> Iterator[Cluster]:
    with connected(running) as found:
        yield found


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A new topic with as many partitions as there may be brokers."""
    name = f"orders-{uuid4()}"
    create_topic(cluster.any, name, partitions=3)
    return name


@pytest.fixture(params=TRANSACTION_VERSIONS)
def producer(request: pytest.FixtureRequest, cluster: Cluster) -> HandProducer:
    return HandProducer(cluster, f"id-{uuid4()}", request.param).init()


def committed_offset(cluster: Cluster, group: str, topic: str, *, stable: bool = False) -> tuple[ErrorCode, int]:
    deadline = Deadline("OffsetFetch")
    asked = {"group_id": group, "require_stable": stable, "topics": [{"name": topic, "partition_indexes": [0]}]}
    while deadline.holds():
        answer = ask(cluster.coordinator(group, 0), OFFSET_FETCH, 7, **asked)
        if answer.error_code not in LATER:
            break
    (one,) = answer.topics[0].partitions
    return one.error_code, one.committed_offset


def settled(producer: HandProducer, topic: str, partitions: int = 1) -> list[list[bytes | None]]:
    """What is committed in the first partitions, once the producer's transaction is over."""
    deadline = Deadline("the markers")
    while deadline.holds() and not producer.state().startswith("Complete"):
        pass
    return [producer.cluster.committed(topic, index) for index in range(partitions)]


# --- committing and aborting ---


def test_committed_records_are_read_in_every_partition(producer: HandProducer, topic: str) -> None:
    for index in range(3):
        producer.write(topic, b"a%d" % index, b"b%d" % index, partition=index)
    producer.commit()
    assert settled(producer, topic, 3) == [[b"a0", b"b0"], [b"a1", b"b1"], [b"a2", b"b2"]]


def test_aborted_records_are_not_read(producer: HandProducer, topic: str) -> None:
    producer.write(topic, b"kept")
    producer.commit()
    producer.write(topic, b"dropped")
    producer.abort()
    producer.write(topic, b"kept too")
    producer.commit()
    assert settled(producer, topic) == [[b"kept", b"kept too"]]


def test_records_of_an_open_transaction_are_held_back_with_all_that_follows(producer: HandProducer, topic: str) -> None:
    leader = producer.cluster.leader(topic, 0)
    assert produce(leader, topic, batch(b"before")).error_code is ErrorCode.none
    producer.write(topic, b"open")
    assert produce(leader, topic, batch(b"after")).error_code is ErrorCode.none
    assert producer.cluster.committed(topic) == [b"before"]
    asked = {
        "topics": [{"name": topic, "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]}]
    }
    ends = [
        ask(leader, LIST_OFFSETS, 7, replica_id=-1, isolation_level=level, **asked).topics[0].partitions[0].offset
        for level in (0, 1)
    ]
    assert ends == [3, 1]
    assert fetch(leader, topic, isolation_level=1).responses[0].partitions[0].last_stable_offset == 1
    producer.commit()
    assert settled(producer, topic) == [[b"before", b"open", b"after"]]


def test_transactions_of_two_producers_do_not_mix(cluster: Cluster, topic: str) -> None:
    good, bad = (HandProducer(cluster, f"{name}-{uuid4()}").init() for name in ("good", "bad"))
    good.write(topic, b"g1")
    bad.write(topic, b"b1")
    good.write(topic, b"g2")
    bad.abort()
    good.commit()
    assert settled(good, topic) == [[b"g1", b"g2"]]


def test_what_was_sent_twice_is_there_once(producer: HandProducer, topic: str) -> None:
    producer.write(topic, b"once")
    producer.sequences[topic, 0] = 0
    producer.write(topic, b"once")
    producer.commit()
    assert settled(producer, topic) == [[b"once"]]


def test_a_commit_without_records_is_refused_and_an_abort_only_before_version_2(producer: HandProducer) -> None:
    assert producer.end(commit=True) is ErrorCode.invalid_txn_state
    assert producer.end(commit=False) is (ErrorCode.none if producer.version == 2 else ErrorCode.invalid_txn_state)


# --- offsets of groups ---


def test_offsets_count_with_the_commit(producer: HandProducer, topic: str) -> None:
    group = f"group-{uuid4()}"
    assert producer.commit_offset(group, topic, 7) is ErrorCode.none
    assert committed_offset(producer.cluster, group, topic) == (ErrorCode.none, -1)
    assert committed_offset(producer.cluster, group, topic, stable=True)[0] is ErrorCode.unstable_offset_commit
    producer.commit()
    producer.wait_for("CompleteCommit")
    assert committed_offset(producer.cluster, group, topic, stable=True) == (ErrorCode.none, 7)


def test_offsets_vanish_with_the_abort(producer: HandProducer, topic: str) -> None:
    group = f"group-{uuid4()}"
    assert producer.commit_offset(group, topic, 7) is ErrorCode.none
    producer.abort()
    producer.wait_for("CompleteAbort")
    assert committed_offset(producer.cluster, group, topic, stable=True) == (ErrorCode.none, -1)


def test_offsets_of_a_topic_that_is_not_there_are_refused(producer: HandProducer) -> None:
    assert producer.commit_offset("group", "missing", 7) is ErrorCode.unknown_topic_or_partition


def test_offsets_need_a_group(producer: HandProducer, topic: str) -> None:
    assert producer.commit_offset("", topic, 7) is ErrorCode.invalid_group_id


# --- fencing ---


def test_a_zombie_can_neither_write_nor_end(producer: HandProducer, topic: str) -> None:
    producer.write(topic, b"of the zombie")
    successor = HandProducer(producer.cluster, producer.transactional_id, producer.version).init()
    assert producer.produce(topic, b"late").error_code is ErrorCode.invalid_producer_epoch
    assert producer.end(commit=True) is ErrorCode.producer_fenced
    assert producer.commit_offset("fenced", topic, 1) in (ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch)
    successor.write(topic, b"of its successor")
    successor.commit()
    assert settled(successor, topic) == [[b"of its successor"]]


def test_one_that_was_never_there_is_refused(cluster: Cluster, topic: str) -> None:
    stranger = HandProducer(cluster, f"stranger-{uuid4()}")
    stranger.producer_id, stranger.producer_epoch = 123_456, 0
    assert stranger.add(topic) is ErrorCode.invalid_producer_id_mapping
    assert stranger.produce(topic, b"x").error_code is ErrorCode.invalid_producer_id_mapping
    assert stranger.end(commit=True) is ErrorCode.invalid_producer_id_mapping


@pytest.mark.parametrize(
    ("version", "code"),
    [(10, ErrorCode.invalid_txn_state), (11, ErrorCode.transaction_abortable), (12, ErrorCode.none)],
)
def test_a_partition_that_was_not_added_is_refused_before_version_12(
    cluster: Cluster, topic: str, version: int, code: ErrorCode
) -> None:
    producer = HandProducer(cluster, f"hasty-{uuid4()}", 1).init()
    answer = producer.produce(topic, b"x", version=version)
    assert answer.error_code is code
    assert answer.error_message == ("Partition was not added to the transaction" if version == 10 else None)
    assert producer.state() == ("Ongoing" if version == 12 else "Empty")


def test_transactional_records_without_a_transactional_id_are_refused(cluster: Cluster, topic: str) -> None:
    producer = HandProducer(cluster, f"nameless-{uuid4()}").init()
    records = batch(b"x", is_transactional=True, producer_id=producer.producer_id, producer_epoch=0, base_sequence=0)
    answer = produce(cluster.leader(topic, 0), topic, records, version=12)
    assert answer.error_code is ErrorCode.transactional_id_authorization_failed


def test_records_of_two_producers_in_one_request_are_refused(cluster: Cluster, topic: str) -> None:
    records = [batch(b"x", is_transactional=True, producer_id=one, producer_epoch=0, base_sequence=0) for one in (8, 9)]
    partitions = [{"index": 0, "records": one} for one in records]
    data = [{"name": topic, "partition_data": partitions}]
    answer = ask(cluster.leader(topic, 0), PRODUCE, 11, transactional_id="two", acks=-1, topic_data=data)
    codes = {one.error_code for one in answer.responses[0].partition_responses}
    assert codes == {ErrorCode.invalid_producer_id_mapping}


def test_one_missing_partition_keeps_the_others_out(cluster: Cluster, topic: str) -> None:
    producer = HandProducer(cluster, f"half-{uuid4()}", 1).init()
    answer = ask(
        producer.coordinator,
        ADD_PARTITIONS_TO_TXN,
        3,
        v3_and_below_transactional_id=producer.transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[{"name": topic, "partitions": [0, 99]}],
    )
    codes = [one.partition_error_code for one in answer.results_by_topic_v3_and_below[0].results_by_partition]
    assert codes == [ErrorCode.operation_not_attempted, ErrorCode.unknown_topic_or_partition]
    assert producer.state() == "Empty"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.invalid_request),
        ({"transaction_timeout": timedelta(0)}, ErrorCode.invalid_transaction_timeout),
        ({"transaction_timeout": timedelta(minutes=15)}, ErrorCode.none),
        ({"transaction_timeout": timedelta(minutes=15, milliseconds=1)}, ErrorCode.invalid_transaction_timeout),
        ({"producer_id": 5}, ErrorCode.invalid_request),
        ({"enable2_pc": True}, ErrorCode.transactional_id_authorization_failed),
        ({"keep_prepared_txn": True}, ErrorCode.unsupported_version),
    ],
)
def test_bad_beginnings_are_refused_by_any_broker(cluster: Cluster, values: dict[str, Any], code: ErrorCode) -> None:
    usual = {
        "transactional_id": "lawful",
        "transaction_timeout": timedelta(seconds=9),
        "producer_id": -1,
        "producer_epoch": -1,
    }
    cluster.coordinator("lawful", 1)
    answers = {ask(one, INIT_PRODUCER_ID, 6, **usual | values).error_code for one in cluster.nodes.values()}
    assert code in answers
    assert answers <= {code, *(() if code else (ErrorCode.not_coordinator, ErrorCode.concurrent_transactions))}


# --- time ---


def test_a_transaction_that_takes_too_long_is_aborted(cluster: Cluster, topic: str) -> None:
    for version in TRANSACTION_VERSIONS:
        producer = HandProducer(cluster, f"slow-{uuid4()}", version, timeout_ms=30).init()
        if version == 1:
            assert producer.add(topic) is ErrorCode.none
        producer.produce(topic, b"too slow")  # or later: it may be aborted already
        producer.wait_for("CompleteAbort")
        assert producer.produce(topic, b"late").error_code is ErrorCode.invalid_producer_epoch
        # At version 2 the epoch says only that this transaction is over; its end was another.
        fenced = ErrorCode.producer_fenced if version == 1 else ErrorCode.invalid_txn_state
        assert producer.end(commit=True) is fenced
        assert cluster.committed(topic) == []


# --- what is told ---


def test_transactions_are_listed_by_state_and_name(producer: HandProducer, topic: str) -> None:
    producer.write(topic, b"x")
    listed = [
        ask(one, LIST_TRANSACTIONS, 2, state_filters=["Ongoing"], duration_filter=-1, transactional_id_pattern=pattern)
        for one in producer.cluster.nodes.values()
        for pattern in (producer.transactional_id, "nobody.*")
    ]
    found = [one for answer in listed for one in answer.transaction_states]
    assert [(one.transactional_id, one.producer_id, one.transaction_state) for one in found] == [
        (producer.transactional_id, producer.producer_id, "Ongoing")
    ]
    producer.abort()


def test_the_producers_of_a_partition_are_described(producer: HandProducer, topic: str) -> None:
    producer.write(topic, b"x", b"y")
    asked = {"topics": [{"name": topic, "partition_indexes": [0, 99]}, {"name": "missing", "partition_indexes": [0]}]}
    answer = ask(producer.cluster.leader(topic, 0), DESCRIBE_PRODUCERS, 0, **asked)
    (there, beyond), (missing,) = (one.partitions for one in answer.topics)
    (found,) = there.active_producers
    assert (found.producer_id, found.producer_epoch) == (producer.producer_id, producer.producer_epoch)
    assert (found.last_sequence, found.current_txn_start_offset) == (1, 0)
    assert beyond.error_code is missing.error_code is ErrorCode.unknown_topic_or_partition
    producer.commit()


def test_log_directories_show_the_size_of_partitions(cluster: Cluster, topic: str) -> None:
    produce(cluster.leader(topic, 0), topic, batch(b"x" * 1000))
    asked = {"topics": [{"topic": topic, "partitions": [0]}]}
    (result,) = ask(cluster.leader(topic, 0), DESCRIBE_LOG_DIRS, 5, **asked).results
    (found,) = result.topics[0].partitions
    assert result.error_code is ErrorCode.none
    assert found.partition_size > 1000
    assert 0 < result.usable_bytes <= result.total_bytes
    other = f"other-{uuid4()}"
    create_topic(cluster.any, other, partitions=3)
    everything = ask(cluster.any, DESCRIBE_LOG_DIRS, 1, topics=None).results[0].topics
    assert {topic, other} <= {one.name for one in everything}


def test_markers_for_partitions_that_are_not_here_are_refused(cluster: Cluster) -> None:
    marker = {"producer_id": 77, "topics": [{"name": "missing", "partition_indexes": [0]}], "transaction_result": True}
    (answer,) = ask(cluster.any, WRITE_TXN_MARKERS, 2, markers=[marker]).markers
    assert answer.topics[0].partitions[0].error_code is ErrorCode.unknown_topic_or_partition


# --- what is kept ---


@pytest.mark.parametrize("version", TRANSACTION_VERSIONS)
def test_an_open_transaction_goes_on_after_a_restart(tmp_path: Path, version: int) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        producer = HandProducer(cluster, "lasting", version).init()
        producer.write("orders", b"before")
        assert producer.commit_offset("group", "orders", 5) is ErrorCode.none
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        producer.cluster = cluster
        producer.write("orders", b"after")
        producer.commit()
        assert settled(producer, "orders") == [[b"before", b"after"]]
        assert committed_offset(cluster, "group", "orders", stable=True) == (ErrorCode.none, 5)


def nobody_writes(_: MarkerWriter, marker: TxnMarker) -> PartitionCodes:
    return dict.fromkeys(marker.partitions, ErrorCode.not_leader_or_follower)


def test_markers_that_nobody_takes_are_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        producer = HandProducer(cluster, "patient").init()
        producer.write("orders", b"x")
        monkeypatch.setattr(MarkerWriter, "write", nobody_writes)
        producer.commit()
        assert producer.state() == "PrepareCommit"
        monkeypatch.undo()
        producer.wait_for("CompleteCommit")
        assert cluster.committed("orders") == [b"x"]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", TRANSACTION_VERSIONS)
def test_a_decided_end_is_carried_out_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, commit: bool
) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        producer = HandProducer(cluster, "decided", version).init()
        producer.write("orders", b"x")
        monkeypatch.setattr(MarkerWriter, "write", nobody_writes)
        assert producer.end(commit=commit) is ErrorCode.none
        assert producer.state() == ("PrepareCommit" if commit else "PrepareAbort")
        assert cluster.committed("orders") == []
    monkeypatch.undo()
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        producer.cluster = cluster
        producer.wait_for("CompleteCommit" if commit else "CompleteAbort")
        assert cluster.committed("orders") == ([b"x"] if commit else [])


def test_a_transaction_whose_producer_is_gone_is_aborted_after_a_restart(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        producer = HandProducer(cluster, "hanging", timeout_ms=30).init()
        producer.write("orders", b"hanging")
        assert producer.state() == "Ongoing"
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        producer.cluster = cluster
        producer.wait_for("CompleteAbort")
        assert produce(cluster.any, "orders", batch(b"next")).error_code is ErrorCode.none
        assert cluster.committed("orders") == [b"next"]


def test_an_id_that_nobody_uses_is_forgotten(tmp_path: Path) -> None:
    brief = {
        **FEW,
        "transactional.id.expiration.ms": "1",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "20",
    }
    with RunningCluster(tmp_path, overrides=brief) as running, connected(running) as cluster:
        HandProducer(cluster, "brief").init().wait_for("transactional_id_not_found")
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        HandProducer(cluster, "brief").wait_for("transactional_id_not_found")


def test_a_deleted_topic_does_not_hold_the_end_up(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        for name in ("doomed", "lasting"):
            create_topic(cluster.any, name)
        producer = HandProducer(cluster, "half").init()
        producer.write("doomed", b"x")
        producer.write("lasting", b"y")
        ask(cluster.any, DELETE_TOPICS, 6, topics=[{"name": "doomed", "topic_id": None}], timeout=timedelta(seconds=5))
        producer.commit()
        assert settled(producer, "lasting") == [[b"y"]]


def test_a_log_that_fails_is_answered_with_not_coordinator(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        producer = HandProducer(cluster, "unlucky", 1).init()
        broker = running.node().broker
        assert broker is not None
        log = broker.data.logs.get("__transaction_state", coordinator_partition("unlucky", 4))
        assert log is not None
        log.fail(StorageError("the disk is full"))
        assert producer.add("orders") is ErrorCode.not_coordinator
        assert produce(cluster.any, "orders", batch(b"others live on")).error_code is ErrorCode.none


def test_a_refused_record_is_not_remembered_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doorkeeper.cluster.log.partition_log import PartitionLog
    from doorkeeper.cluster.log.refusals import LogError, Refusal

    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        producer = HandProducer(cluster, "unlucky", 1).init()
        with monkeypatch.context() as patch:
            patch.setattr(PartitionLog, "append", lambda *_, **__: Refusal(LogError.CORRUPT_MESSAGE, "not today"))
            assert producer.add("orders") is ErrorCode.not_coordinator
        producer.wait_for("Empty")
        producer.write("orders", b"x")
        producer.commit()
        assert settled(producer, "orders") == [[b"x"]]


def test_a_cluster_at_version_0_of_transactions_refuses_what_its_log_could_not_keep(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as running, connected(running) as cluster:
        create_topic(cluster.any, "orders")
        update = {"feature": "transaction.version", "max_version_level": 0, "upgrade_type": 2}
        answer = ask(cluster.any, UPDATE_FEATURES, 1, feature_updates=[update], timeout=timedelta(seconds=5))
        assert answer.error_code is ErrorCode.none
        old, new = (HandProducer(cluster, f"id-{one}", one).init() for one in TRANSACTION_VERSIONS)
        old.write("orders", b"x")
        old.commit()
        assert settled(old, "orders") == [[b"x"]]
        assert new.produce("orders", b"y").error_code is ErrorCode.unsupported_version
