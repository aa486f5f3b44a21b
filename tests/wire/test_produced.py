"""The short way to a Produce response writes the bytes of the long way, at every version."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cluster.messages import make_response
from doorkeeper.wire.codec import encode_body
from doorkeeper.wire.messages import newest_version, oldest_version
from doorkeeper.wire.produced import FIRST_WITH_IDS, Written, encode_written

PRODUCE = 0
VERSIONS = range(max(3, oldest_version(PRODUCE)), newest_version(PRODUCE) + 1)
LARGEST_TIME = 253_402_300_799_000  # the last second that Python's datetime has

written = st.builds(
    Written,
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.just(-1) | st.integers(0, LARGEST_TIME // 1000).map(lambda seconds: seconds * 1000),
    st.integers(0, 2**63 - 1),
)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=200)


def the_long_way(version: int, topics: list[tuple[str | UUID, list[Written]]]) -> bytes:
    responses = [
        {
            "topic_id" if isinstance(topic, UUID) else "name": topic,
            "partition_responses": [
                {
                    "index": one.partition,
                    "base_offset": one.base_offset,
                    "log_append_time": None
                    if one.log_append_time < 0
                    else datetime.fromtimestamp(one.log_append_time / 1000, UTC),
                    "log_start_offset": one.log_start_offset,
                }
                for one in partitions
            ],
        }
        for topic, partitions in topics
    ]
    return encode_body(make_response(PRODUCE, version, {"responses": responses}))


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_bytes_are_those_of_the_long_way(version: int, data: st.DataObject) -> None:
    keys: st.SearchStrategy[str | UUID] = st.uuids() if version >= FIRST_WITH_IDS else names
    topics = data.draw(st.lists(st.tuples(keys, st.lists(written, max_size=3)), max_size=3))
    assert encode_written(version, topics) == the_long_way(version, topics)
