"""How ranges become tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.audit.files import SMALLEST_RANGE
from doorkeeper.audit.range_tasks import tasks_of
from doorkeeper.audit.readers import ByteRange


def ranges(*sizes: int) -> list[ByteRange]:
    return [ByteRange(f"file-{at}", 0, size) for at, size in enumerate(sizes)]


def test_small_files_share_a_task_and_a_large_one_has_its_own() -> None:
    works = ranges(1, 2, SMALLEST_RANGE, 3, SMALLEST_RANGE)
    assert tasks_of(works) == [works[:3], works[3:]]
    assert len(tasks_of(ranges(*[100] * 5000))) == 1
    assert len(tasks_of(ranges(*[SMALLEST_RANGE] * 7))) == 7


@given(st.lists(st.integers(0, 3 * SMALLEST_RANGE), max_size=50))
def test_every_range_is_in_one_task_in_its_order(sizes: list[int]) -> None:
    works = ranges(*sizes)
    assert [one for task in tasks_of(works) for one in task] == works
    assert all(tasks_of(works))
