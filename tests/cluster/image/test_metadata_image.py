"""Images and deltas as a whole: the laws that hold for every sequence of records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.image import samples
from tests.cluster.image.samples import PLACE, of, record_sequences, replayed

from doorkeeper.cluster.image.loader import ImageLoader
from doorkeeper.cluster.image.metadata import _REPLAYS, MetadataDelta, MetadataImage, Provenance
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import (
    UnknownRecord,
    VersionedRecord,
    read_metadata_record,
    write_metadata_record,
)

Records = list[Message | UnknownRecord]
BEGIN, END, ABORT = (
    VersionedRecord(types.BeginTransactionRecord(name="t"), 0),
    VersionedRecord(types.EndTransactionRecord(), 0),
    VersionedRecord(types.AbortTransactionRecord(), 0),
)
RETENTION = VersionedRecord(samples.RETENTION, 0)


def no_loss(what: str) -> None:
    raise AssertionError(f"lost: {what}")


class TestLaws:
    @given(record_sequences())
    def test_every_prefix_in_one_delta_equals_one_delta_per_record(self, records: Records) -> None:
        step_by_step = MetadataImage.EMPTY
        for end, record in enumerate(records, start=1):
            step_by_step = replayed(step_by_step, record)
            assert of(*records[:end]) == step_by_step

    @given(record_sequences(), st.data())
    def test_two_deltas_equal_one(self, records: Records, data: st.DataObject) -> None:
        middle = data.draw(st.integers(0, len(records)))
        assert replayed(of(*records[:middle]), *records[middle:]) == of(*records)

    @given(record_sequences())
    def test_records_of_an_image_replay_to_an_equal_one_through_their_bytes(self, records: Records) -> None:
        image = of(*records)
        written = [write_metadata_record(record) for record in image.to_records(no_loss)]
        assert of(*(read_metadata_record(value).message for value in written)) == image

    @given(record_sequences())
    def test_a_delta_never_changes_the_image_it_starts_from(self, records: Records) -> None:
        middle = len(records) // 2
        before = of(*records[:middle])
        replayed(before, *records[middle:])
        assert before == of(*records[:middle])

    def test_empty_image_has_no_records(self) -> None:
        assert list(MetadataImage.EMPTY.to_records(no_loss)) == []

    def test_metadata_version_comes_first(self) -> None:
        image = of(samples.CONTROLLER, types.FeatureLevelRecord(name="a", feature_level=1), samples.LEVEL)
        first, *_ = image.to_records(no_loss)
        assert first.message == samples.LEVEL

    def test_image_without_metadata_version_can_not_be_written(self) -> None:
        with pytest.raises(ReplayError, match="does not say its metadata"):
            list(of(samples.TOPIC).to_records(no_loss))


class TestLoss:
    def test_says_what_an_old_metadata_version_can_not_hold(self) -> None:
        image = of(
            types.FeatureLevelRecord(name="metadata.version", feature_level=int(MetadataVersion.IBP_3_3_IV3)),
            samples.BROKER,
            samples.CONTROLLER,
            samples.TOPIC,
            samples.PARTITION,
            types.PartitionChangeRecord(partition_id=0, topic_id=samples.TOPIC.topic_id, last_known_elr=(1,)),
            samples.SCRAM,
            samples.TOKEN,
        )
        lost: list[str] = []
        written = list(image.to_records(lost.append))
        topic = samples.TOPIC.topic_id
        assert lost == [
            "log_dirs of broker 1",
            "static_configs of broker 1",
            "controller registrations",
            f"directories of partition 0 of topic {topic}",
            f"eligible leader replicas of partition 0 of topic {topic}",
            "SCRAM credentials",
            "delegation tokens",
        ]
        for record in written:
            write_metadata_record(record)

    def test_kafkas_newest_version_loses_static_configs_only(self) -> None:
        level = types.FeatureLevelRecord(name="metadata.version", feature_level=int(MetadataVersion.IBP_4_3_IV0))
        lost: list[str] = []
        records = list(of(level, samples.BROKER, samples.CONTROLLER).to_records(lost.append))
        assert lost == ["static_configs of broker 1"]
        assert [record.version for record in records] == [0, 4, 0]


class TestUnknownRecords:
    def test_are_kept_in_their_order_and_written_again(self) -> None:
        unknown = [UnknownRecord(99, 1, b"a"), UnknownRecord(98, 0, b"b")]
        image = of(samples.LEVEL, unknown[0], samples.TOPIC, unknown[1])
        assert [record.message for record in image.unknown] == unknown
        assert list(image.to_records(no_loss))[-2:] == [VersionedRecord(unknown[0], 1), VersionedRecord(unknown[1], 0)]


class TestTransactions:
    def test_become_visible_at_their_end(self) -> None:
        loader = ImageLoader()
        loader.replay_batch([BEGIN, RETENTION], Provenance(1, 1, 0))
        assert loader.in_transaction
        assert loader.image.configs.of(2, "orders") == {}
        loader.replay_batch([END], Provenance(2, 1, 0))
        assert not loader.in_transaction
        assert loader.image.configs.of(2, "orders") == {"retention.ms": "5"}
        assert loader.image.provenance == Provenance(2, 1, 0)

    def test_leave_no_trace_when_aborted(self) -> None:
        loader = ImageLoader()
        loader.replay_batch([RETENTION], Provenance(0, 1, 0))
        before = loader.image.configs
        other = VersionedRecord(types.ConfigRecord(resource_type=2, resource_name="orders", name="x", value="y"), 0)
        loader.replay_batch([BEGIN, other, ABORT], Provenance(3, 1, 0))
        assert loader.image.configs == before
        assert loader.image.provenance.offset == 3

    def test_what_precedes_one_in_its_batch_is_visible(self) -> None:
        loader = ImageLoader()
        loader.replay_batch([RETENTION, BEGIN], Provenance(1, 1, 0))
        assert loader.image.configs.of(2, "orders") == {"retention.ms": "5"}

    def test_can_not_begin_inside_another(self) -> None:
        with pytest.raises(ReplayError, match="begins inside another"):
            ImageLoader().replay_batch([BEGIN, BEGIN], PLACE)

    @pytest.mark.parametrize("record", [END, ABORT])
    def test_can_not_end_before_they_begin(self, record: VersionedRecord) -> None:
        with pytest.raises(ReplayError, match="never began"):
            ImageLoader().replay_batch([record], PLACE)

    @pytest.mark.parametrize("record", [BEGIN, END, ABORT])
    def test_are_no_business_of_a_delta(self, record: VersionedRecord) -> None:
        with pytest.raises(ReplayError, match="can't be replayed on its own"):
            MetadataDelta(MetadataImage.EMPTY).replay(record.message)


class TestEveryType:
    def test_is_replayed_or_a_transaction_marker(self) -> None:
        markers: set[type[Message]] = {type(one.message) for one in (BEGIN, END, ABORT)}  # type: ignore[misc]
        assert set(types.METADATA_RECORDS) - set(_REPLAYS) == markers


class TestSecrets:
    def test_stay_out_of_repr(self) -> None:
        image = of(samples.LEVEL, samples.PASSWORD, samples.RETENTION, samples.SCRAM)
        assert "hush" not in repr(image)
        assert "'retention.ms': '5'" in repr(image)
        assert "'ssl.key.password': '[hidden]'" in repr(image)
