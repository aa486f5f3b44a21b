"""Frames come out whole, however their bytes come in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.framing import MAX_FRAME_BYTES, NEED_DATA, SMALL_FRAME_BYTES, FrameReader, frame

LARGE = bytes(range(256)) * (SMALL_FRAME_BYTES // 256 + 1)
PAYLOADS = st.lists(st.binary(max_size=40) | st.just(LARGE), max_size=6)


def drain(reader: FrameReader) -> list[bytes]:
    found = []
    while (one := reader.next_frame()) is not NEED_DATA:
        found.append(bytes(one))
    return found


@given(payloads=PAYLOADS)
def test_reads_frames_fed_whole(payloads: list[bytes]) -> None:
    reader = FrameReader()
    reader.receive_data(b"".join(map(frame, payloads)))
    assert drain(reader) == payloads
    assert reader.buffered_bytes == 0


def test_reads_frames_fed_byte_by_byte() -> None:
    payloads = [b"one", b"", LARGE, b"four"]
    reader = FrameReader()
    found = []
    for byte in b"".join(map(frame, payloads)):
        reader.receive_data(bytes((byte,)))
        found += drain(reader)
    assert found == payloads


@given(payloads=PAYLOADS, data=st.data())
def test_reads_the_same_frames_however_the_stream_is_cut(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    looks = data.draw(st.lists(st.booleans(), min_size=len(cuts) + 1, max_size=len(cuts) + 1))
    reader = FrameReader()
    found = []
    for start, end, look in zip([0, *cuts], [*cuts, len(stream)], looks, strict=True):
        reader.receive_data(stream[start:end])
        if look:
            found += drain(reader)
    assert found + drain(reader) == payloads


def test_keeps_trailing_bytes_for_the_next_frame() -> None:
    reader = FrameReader()
    second = frame(b"second")
    reader.receive_data(frame(b"first") + second[:7])
    assert drain(reader) == [b"first"]
    assert reader.buffered_bytes == 7
    reader.receive_data(second[7:])
    assert drain(reader) == [b"second"]


def test_hands_out_a_large_frame_as_a_view_of_what_was_received() -> None:
    reader = FrameReader()
    chunk = frame(LARGE)
    reader.receive_data(chunk)
    found = reader.next_frame()
    assert isinstance(found, memoryview)
    assert found.obj is chunk
    assert found.readonly


def test_keeps_a_view_unchanged_while_more_arrives() -> None:
    reader = FrameReader()
    stream = frame(LARGE)
    reader.receive_data(stream[:100])
    assert reader.next_frame() is NEED_DATA
    reader.receive_data(stream[100:] + b"\0\0")
    view = reader.next_frame()
    assert reader.next_frame() is NEED_DATA
    reader.receive_data(b"\0\1x")
    assert reader.next_frame() == b"x"
    assert view == LARGE


def test_refuses_a_negative_size() -> None:
    reader = FrameReader()
    reader.receive_data(b"\xff\xff\xff\xff")
    with pytest.raises(RemoteProtocolError, match=r"Invalid receive \(size = -1\)"):
        reader.next_frame()


def test_refuses_a_size_one_above_the_fence_before_its_bytes_arrive() -> None:
    reader = FrameReader(max_bytes=1000)
    reader.receive_data((1001).to_bytes(4, "big"))
    with pytest.raises(RemoteProtocolError, match="1001 larger than 1000"):
        reader.next_frame()


def test_takes_a_size_at_the_fence() -> None:
    reader = FrameReader(max_bytes=1000)
    reader.receive_data(frame(bytes(1000)))
    assert reader.next_frame() == bytes(1000)


def test_waits_for_a_frame_of_kafkas_largest_size() -> None:
    reader = FrameReader()
    reader.receive_data(MAX_FRAME_BYTES.to_bytes(4, "big"))
    assert reader.next_frame() is NEED_DATA
    assert reader.buffered_bytes == 4


def test_refuses_text_sent_to_the_port() -> None:
    reader = FrameReader()
    reader.receive_data(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(RemoteProtocolError, match="larger than"):
        reader.next_frame()
