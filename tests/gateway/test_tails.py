"""The end of a response, written anew: freely, or as long as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.tails import Endpoint, Tail, fit_tail, read_tail, write_tail

ENDPOINTS = st.builds(
    Endpoint,
    node_id=st.integers(-(2**31), 2**31 - 1),
    host=st.text(max_size=300),
    port=st.integers(0, 65535),
    rack=st.sampled_from([b"\0", b"\5rack"]),
    tags=st.just(b"\0"),
)
TAGS = st.lists(st.tuples(st.integers(1, 100), st.binary(max_size=200)), max_size=3).map(tuple)
TAILS = st.builds(Tail, endpoints=st.lists(ENDPOINTS, max_size=3).map(tuple), tagged=st.booleans(), tags=TAGS)


@given(TAILS)
def test_reads_what_it_writes(tail: Tail) -> None:
    assert read_tail(write_tail(tail), tagged=tail.tagged) == tail


@given(TAILS.filter(lambda tail: tail.endpoints), st.text(max_size=40))
def test_fits_into_the_room_that_the_old_end_had(tail: Tail, host: str) -> None:
    room = len(write_tail(tail))
    moved = tail._replace(endpoints=tuple(one._replace(host=host) for one in tail.endpoints))
    fitted = fit_tail(moved, room)
    assert len(fitted) == room
    got = read_tail(fitted, tagged=tail.tagged)
    assert got.endpoints in (moved.endpoints, ())
    assert got.tags[: len(tail.tags)] == tail.tags


def test_padding_fills_any_number_of_bytes_but_one() -> None:
    plain = Tail((), True, ())
    for size in (1, *range(3, 400)):
        assert len(fit_tail(plain, size)) == size
    with pytest.raises(RemoteProtocolError):
        fit_tail(plain, 2)


@pytest.mark.parametrize("data", [b"", b"\1", b"\1\0", b"\1\0\5", b"\1\0\3\2\0\0"])
def test_bytes_that_are_no_end_are_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        read_tail(data, tagged=True)
