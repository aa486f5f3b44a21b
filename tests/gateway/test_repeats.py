"""Frames like the one before pass without another look: only if every byte that decides is the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.rig import Rig, cut, framed_request
from tests.kafka.requests import make_request

from doorkeeper.gateway.modes import parse_modes
from doorkeeper.wire.messages import PRODUCE
from doorkeeper.wire.records import Record, write_batch

HEARTBEAT = 12
ENOUGH = 3
"""Frames of one API after which its like is known."""


def heartbeat(group: str, client_id: str = "client", correlation_id: int = 1) -> bytes:
    body = make_request(HEARTBEAT, 4, group_id=group, generation_id=1, member_id="m", group_instance_id=None)
    return framed_request(body, correlation_id, client_id)


def produce(topic: str, acks: int, correlation_id: int = 1, value: bytes = b"1") -> bytes:
    partition = {"index": 0, "records": write_batch([Record(value, timestamp=0)], base_offset=0)}
    topics = [{"name": topic, "partition_data": [partition]}]
    body = make_request(PRODUCE, 9, transactional_id=None, acks=acks, timeout=timedelta(seconds=30), topic_data=topics)
    return framed_request(body, correlation_id)


def asked(rig: Rig) -> list[int | None]:
    return [one[0] for one in rig.pending]


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]), st.integers(0, 9)), max_size=30),
    st.lists(st.integers(1, 300), min_size=1, max_size=4),
)
def test_any_mixture_goes_on_as_it_came(frames: list[tuple[str, str, int]], sizes: list[int]) -> None:
    rig = Rig("enforce")
    sent = [heartbeat(group, client_id, number) for group, client_id, number in frames]
    for chunk in cut(b"".join(sent), sizes):
        rig.requests.feed(chunk)
    assert rig.take_upstream() == b"".join(sent)
    assert asked(rig) == [number for _, _, number in frames]
    assert rig.requests.held_bytes == 0


POOL = [
    heartbeat("g" * 249, "cc"),
    heartbeat("g" * 250, "c"),
    heartbeat("g", "c" * 249),
    heartbeat("", "c" * 250),
    produce("orders", 1),
    produce("orders", 0),
    produce("others", 1),
]
"""Lawful ones and breaches, some of them of one size."""


def judged_alone(framed: bytes) -> bytes:
    rig = Rig("enforce")
    rig.requests.feed(framed)
    return rig.take_upstream()


ALONE = {framed: judged_alone(framed) for framed in POOL}


@given(st.lists(st.tuples(st.sampled_from(POOL), st.integers(1, 5)), max_size=12), st.integers(1, 2000))
def test_what_came_before_decides_nothing(runs: list[tuple[bytes, int]], size: int) -> None:
    rig = Rig("enforce")
    frames = [framed for framed, count in runs for _ in range(count)]
    for chunk in cut(b"".join(frames), [size]):
        rig.requests.feed(chunk)
    assert rig.take_upstream() == b"".join(ALONE[framed] for framed in frames)


def test_the_pool_has_both() -> None:
    assert {len(POOL[0]) == len(POOL[1]), len(POOL[2]) == len(POOL[3])} == {True}
    assert [bool(ALONE[framed]) for framed in POOL] == [True, False, True, False, True, True, True]


@pytest.mark.parametrize("together", [True, False])
def test_a_breach_of_the_same_size_is_seen(together: bool) -> None:
    """A shorter client id makes room for a group id of 250."""
    rig = Rig("enforce")
    lawful, breach = heartbeat("g" * 249, "cc"), heartbeat("g" * 250, "c")
    assert len(lawful) == len(breach)
    frames = [lawful] * ENOUGH + [breach, lawful]
    for chunk in [b"".join(frames)] if together else frames:
        rig.requests.feed(chunk)
    assert rig.take_upstream() == lawful * (ENOUGH + 1)
    assert [record.length for record in rig.records] == [250]


def test_other_settings_count_from_the_next_frame_on() -> None:
    rig = Rig("off")
    breach = heartbeat("g" * 250)
    rig.requests.feed(breach * ENOUGH)
    assert rig.take_upstream() == breach * ENOUGH
    modes = parse_modes(["enforce"])
    rig.judge.modes = modes
    rig.plans.change(modes, unstable_versions=False, pass_unknown=False)
    rig.requests.feed(breach)
    assert rig.take_upstream() == b""


@pytest.mark.parametrize(("first", "then"), [(0, 1), (1, 0)])
def test_acks_are_read_in_every_frame(first: int, then: int) -> None:
    rig = Rig("enforce")
    rig.requests.feed(produce("orders", first, 1) * ENOUGH + produce("orders", then, 2) + produce("orders", first, 3))
    assert asked(rig) == ([2] if first == 0 else [1] * ENOUGH + [3])


def test_what_follows_the_identifiers_may_differ() -> None:
    rig = Rig("enforce")
    sent = b"".join(produce("orders", 1, number, b"%d" % number) for number in range(10))
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    assert asked(rig) == list(range(10))


def test_a_frame_that_is_cut_off_after_its_identifiers_passes_as_it_comes() -> None:
    rig = Rig("enforce")
    one = produce("orders", 1)
    rig.requests.feed(one * ENOUGH + one[:-5])
    assert rig.take_upstream() == one * ENOUGH + one[:-5]
    assert not rig.requests.is_between_frames
    rig.requests.feed(one[-5:] + heartbeat("readers", correlation_id=7))
    assert rig.take_upstream() == one[-5:] + heartbeat("readers", correlation_id=7)
    assert asked(rig)[-1] == 7


def test_every_frame_is_noted_where_somebody_notes_them() -> None:
    noted: list[Any] = []

    class Observer:
        def note(self, header: Any, frame: bytes, client: Any) -> None:
            noted.append(header.correlation_id)

    rig = Rig("enforce", observer=Observer())
    rig.requests.feed(b"".join(heartbeat("readers", correlation_id=number) for number in range(5)))
    assert noted == list(range(5))
