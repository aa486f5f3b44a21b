"""Every version of every API of transactions, between kio's classes and the coordinator's messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta
from tests.cluster.transactions.ledger import A0, A1, B0, NAME, OFFSETS
from tests.kafka.requests import make_request

from doorkeeper.cluster import messages as cluster_messages
from doorkeeper.cluster.transactions import messages, translation
from doorkeeper.cluster.transactions.messages import NONE
from doorkeeper.wire.codec import encode_body

INIT, ADD_PARTITIONS, ADD_OFFSETS, END, WRITE_MARKERS, DESCRIBE, LIST = 22, 24, 25, 26, 27, 65, 66
TOPICS = [{"name": "a", "partitions": [0, 1]}, {"name": "b", "partitions": [0]}]


def span(milliseconds: int) -> Any:
    return i32Timedelta.parse(timedelta(milliseconds=milliseconds))


def response(api_key: int, version: int) -> Any:
    return load_response_schema(api_key, version)


@pytest.mark.parametrize("version", range(7))
def test_reads_init_producer_id(version: int) -> None:
    fields: dict[str, Any] = {"transactional_id": NAME, "transaction_timeout": span(1500)}
    if version >= 3:
        fields |= {"producer_id": 5, "producer_epoch": 6}
    if version >= 6:
        fields |= {"enable2_pc": True, "keep_prepared_txn": True}
    read = translation.read_init_producer_id(make_request(INIT, version, **fields))
    assert (read.transactional_id, read.transaction_timeout_ms) == (NAME, 1500)
    assert (read.producer_id, read.producer_epoch) == ((5, 6) if version >= 3 else (-1, -1))
    assert (read.enable_two_pc, read.keep_prepared_txn) == ((True, True) if version >= 6 else (False, False))


@pytest.mark.parametrize("version", range(7))
def test_writes_init_producer_id(version: int) -> None:
    message = messages.InitProducerIdResponse(producer_id=5, producer_epoch=6)
    written = translation.write_init_producer_id(response(INIT, version), message)
    assert (written.error_code, written.producer_id, written.producer_epoch) == (NONE, 5, 6)


@pytest.mark.parametrize("version", range(4))
def test_reads_the_one_transaction_of_an_old_request(version: int) -> None:
    request = make_request(
        ADD_PARTITIONS,
        version,
        v3_and_below_transactional_id=NAME,
        v3_and_below_producer_id=5,
        v3_and_below_producer_epoch=6,
        v3_and_below_topics=TOPICS,
    )
    assert translation.read_add_partitions(request) == (
        messages.AddPartitionsToTxnRequest(
            transactional_id=NAME, producer_id=5, producer_epoch=6, partitions=(A0, A1, B0)
        ),
    )


@pytest.mark.parametrize("version", [4, 5])
def test_reads_the_batch_of_a_new_request(version: int) -> None:
    one = {"transactional_id": NAME, "producer_id": 5, "producer_epoch": 6, "verify_only": True, "topics": TOPICS}
    two = {**one, "transactional_id": "other", "verify_only": False, "topics": TOPICS[:1]}
    first, second = translation.read_add_partitions(make_request(ADD_PARTITIONS, version, transactions=[one, two]))
    assert (first.transactional_id, first.verify_only, first.partitions) == (NAME, True, (A0, A1, B0))
    assert (second.transactional_id, second.verify_only, second.partitions) == ("other", False, (A0, A1))


@pytest.mark.parametrize("version", range(6))
def test_writes_what_became_of_partitions(version: int) -> None:
    codes = {B0: NONE, A1: ErrorCode.transaction_abortable, A0: NONE}
    written = translation.write_add_partitions(response(ADD_PARTITIONS, version), [(NAME, codes)])
    if version < 4:
        topics = written.results_by_topic_v3_and_below
    else:
        (result,) = written.results_by_transaction
        assert (written.error_code, result.transactional_id) == (NONE, NAME)
        topics = result.topic_results
    again = {
        messages.TopicPartition(topic.name, one.partition_index): one.partition_error_code
        for topic in topics
        for one in topic.results_by_partition
    }
    assert again == codes


@pytest.mark.parametrize("version", range(5))
def test_reads_and_writes_add_offsets(version: int) -> None:
    request = make_request(ADD_OFFSETS, version, transactional_id=NAME, producer_id=5, producer_epoch=6, group_id="g")
    assert translation.read_add_offsets(request, OFFSETS) == messages.AddOffsetsToTxnRequest(
        transactional_id=NAME, producer_id=5, producer_epoch=6, offsets_partition=OFFSETS
    )
    written = translation.write_add_offsets(response(ADD_OFFSETS, version), ErrorCode.producer_fenced)
    assert written.error_code is ErrorCode.producer_fenced


@pytest.mark.parametrize("version", range(6))
def test_reads_and_writes_end_txn(version: int) -> None:
    request = make_request(END, version, transactional_id=NAME, producer_id=5, producer_epoch=6, committed=True)
    assert translation.read_end_txn(request) == messages.EndTxnRequest(
        transactional_id=NAME, producer_id=5, producer_epoch=6, committed=True
    )
    message = messages.EndTxnResponse(producer_id=5, producer_epoch=7)
    written = translation.write_end_txn(response(END, version), message)
    assert written.error_code is NONE
    if version >= 5:
        assert (written.producer_id, written.producer_epoch) == (5, 7)


@pytest.mark.parametrize("version", range(3))
def test_reads_and_writes_list_transactions(version: int) -> None:
    fields: dict[str, Any] = {"state_filters": ("Ongoing",), "producer_id_filters": (5,)}
    if version >= 1:
        fields["duration_filter"] = 9
    if version >= 2:
        fields["transactional_id_pattern"] = "p.*"
    read = translation.read_list_transactions(make_request(LIST, version, **fields))
    assert read == messages.ListTransactionsRequest(
        state_filters=("Ongoing",),
        producer_id_filters=(5,),
        duration_filter=9 if version >= 1 else -1,
        transactional_id_pattern="p.*" if version >= 2 else None,
    )
    message = messages.ListTransactionsResponse(
        unknown_state_filters=("Foo",), transaction_states=(messages.ListedTransaction(NAME, 5, "Ongoing"),)
    )
    written = translation.write_list_transactions(response(LIST, version), message)
    (listed,) = written.transaction_states
    assert (listed.transactional_id, listed.producer_id, listed.transaction_state) == (NAME, 5, "Ongoing")
    assert written.unknown_state_filters == ("Foo",)


def test_writes_descriptions() -> None:
    message = messages.DescribedTransaction(
        transactional_id=NAME,
        transaction_state="Ongoing",
        transaction_timeout_ms=1500,
        transaction_start_time_ms=1_700_000_000_123,
        producer_id=5,
        producer_epoch=6,
        partitions=(A0, A1, B0),
    )
    (state,) = translation.write_describe_transactions(response(DESCRIBE, 0), [message]).transaction_states
    assert state.transaction_timeout == timedelta(milliseconds=1500)
    assert state.transaction_start_time == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    assert [(topic.topic, topic.partitions) for topic in state.topics] == [("a", (0, 1)), ("b", (0,))]


def test_a_transaction_that_has_not_begun_has_kafkas_start_time_of_minus_one() -> None:
    message = messages.DescribedTransaction(transactional_id=NAME, transaction_start_time_ms=-1)
    written = encode_body(translation.write_describe_transactions(response(DESCRIBE, 0), [message]))
    assert b"\xff" * 8 in written


@pytest.mark.parametrize("version", [1, 2])
def test_writes_markers_and_reads_their_outcomes(version: int) -> None:
    marker = messages.TxnMarker(
        transactional_id=NAME,
        producer_id=5,
        producer_epoch=6,
        coordinator_epoch=7,
        committed=True,
        transaction_version=2,
        partitions=(A0, A1, B0),
    )
    request = cluster_messages.make_request(WRITE_MARKERS, version, translation.marker_values([marker]))
    (written,) = request.markers
    assert (written.producer_id, written.producer_epoch, written.coordinator_epoch) == (5, 6, 7)
    assert written.transaction_result is True
    assert getattr(written, "transaction_version", 2) == 2
    assert [(topic.name, topic.partition_indexes) for topic in written.topics] == [("a", (0, 1)), ("b", (0,))]
    kind = response(WRITE_MARKERS, version)
    module = __import__(kind.__module__, fromlist=["*"])
    topic = module.WritableTxnMarkerTopicResult(
        name="a", partitions=(module.WritableTxnMarkerPartitionResult(partition_index=1, error_code=NONE),)
    )
    results = (module.WritableTxnMarkerResult(producer_id=5, topics=(topic,)),)
    assert translation.read_marker_outcomes(kind(markers=results)) == {5: {A1: NONE}}


@pytest.mark.parametrize("version", [1, 2])
def test_reads_the_markers_that_it_writes(version: int) -> None:
    marker = messages.TxnMarker(
        transactional_id="",
        producer_id=5,
        producer_epoch=6,
        coordinator_epoch=7,
        committed=False,
        transaction_version=2 if version == 2 else 0,
        partitions=(A0, A1, B0),
    )
    request = cluster_messages.make_request(WRITE_MARKERS, version, translation.marker_values([marker]))
    assert translation.read_markers(request) == (marker,)


def test_reads_the_outcomes_of_markers_that_it_writes() -> None:
    outcomes = {5: {A1: NONE, B0: ErrorCode.invalid_producer_epoch}, 6: {A0: NONE}}
    answer = cluster_messages.make_response(WRITE_MARKERS, 2, translation.marker_outcome_values(outcomes))
    assert translation.read_marker_outcomes(answer) == outcomes


def test_a_broker_asks_for_one_transaction_and_reads_the_codes_of_its_partitions() -> None:
    asked = messages.AddPartitionsToTxnRequest(
        transactional_id=NAME, producer_id=5, producer_epoch=6, partitions=(A0, B0), verify_only=True
    )
    request = cluster_messages.make_request(ADD_PARTITIONS, 5, translation.add_partitions_values(asked))
    assert translation.read_add_partitions(request) == (asked,)
    codes = {A0: NONE, B0: ErrorCode.transaction_abortable}
    answer = translation.write_add_partitions(response(ADD_PARTITIONS, 5), [(NAME, codes)])
    assert translation.read_add_partitions_codes(asked, answer) == codes


def test_a_code_for_the_whole_request_counts_for_each_partition() -> None:
    asked = messages.AddPartitionsToTxnRequest(
        transactional_id=NAME, producer_id=5, producer_epoch=6, partitions=(A0, B0)
    )
    answer = cluster_messages.make_response(
        ADD_PARTITIONS, 5, {"error_code": ErrorCode.cluster_authorization_failed, "results_by_transaction": ()}
    )
    refused = ErrorCode.cluster_authorization_failed
    assert translation.read_add_partitions_codes(asked, answer) == {A0: refused, B0: refused}
