"""Series of clients: at most so many, and gone after an hour of silence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.metering import clients
from doorkeeper.metering.clients import IDLE_MS, NANOSECONDS_TO_PERCENT, OTHER, ClientBook
from doorkeeper.metering.samples import Windows
from doorkeeper.rules.client_id import DEFAULT, QuotaType

HOUR = IDLE_MS


def use(book: ClientBook, client_id: str, now_ms: int, size: int = 100) -> int:
    meter = book.find("ANONYMOUS", client_id, now_ms)
    meter.last_ms = now_ms
    meter.requests += 1
    meter.bytes_in += size
    return book.produce(meter).record(size, now_ms)


def shown(book: ClientBook) -> dict[str, int]:
    return {one.client_id: one.requests for one, _ in book.meters()}


def test_clients_beyond_the_limit_are_counted_as_others() -> None:
    book = ClientBook(limit=2)
    for client_id in ("a", "b", "c", "d", "a"):
        use(book, client_id, 0)
    assert shown(book) == {"a": 2, "b": 1, OTHER: 2}
    assert book.refused == 2
    assert {key[2] for key, _ in book.measured(0)} == {"a", "b", OTHER}


def test_client_ids_together_have_no_more_characters_than_lawful_ones() -> None:
    book = ClientBook(limit=100)
    lawful = [f"{number:249}" for number in range(100)]
    for client_id in lawful:
        use(book, client_id, 0)
    assert set(shown(book)) == set(lawful)
    book.expire(HOUR + 1)
    for number in range(100):
        use(book, f"{number:30000}", HOUR + 1)
    assert shown(book) == {OTHER: 100}
    assert book.refused == 100
    use(book, "a", HOUR + 1)
    assert shown(book)["a"] == 1


def test_unlisted_client_ids_together_have_no_more_characters_than_lawful_ones() -> None:
    book = ClientBook(limit=0)
    book.change_quotas({(None, DEFAULT): {"producer_byte_rate": 1.0}})
    for number in range(200):
        use(book, f"{number:30000}", number)
    assert sum(len(client_id) for _, client_id in book._unlisted) == book.unlisted_characters
    assert 0 < book.unlisted_characters <= clients.UNLISTED_LIMIT * 249
    assert shown(book) == {OTHER: 200}
    book.expire(HOUR + 200)
    assert book.unlisted_characters == 0


def test_a_client_that_is_called_other_is_not_taken_for_the_others() -> None:
    book = ClientBook(limit=1)
    use(book, "other", 0)
    use(book, "late", 0)
    assert shown(book) == {"other": 1, OTHER: 1}


def test_not_even_a_client_with_the_name_of_the_others() -> None:
    book = ClientBook(limit=1)
    use(book, OTHER, 0)
    use(book, "late", 0)
    use(book, "later", 0)
    assert [(one.client_id, one.requests, is_other) for one, is_other in book.meters()] == [
        (OTHER, 1, False),
        (OTHER, 2, True),
    ]
    assert len(list(book.measured(0))) == 2


def test_a_quota_binds_who_comes_too_late_for_series_of_its_own() -> None:
    book = ClientBook(limit=1)
    book.change_quotas({(None, "late"): {"producer_byte_rate": 10.0}})
    use(book, "early", 0)
    assert use(book, "late", 0, size=10_000) > 0
    assert use(book, "later", 0, size=10_000) == 0
    assert shown(book) == {"early": 1, OTHER: 2}
    assert all(key[2] != "late" for key, _ in book.measured(0))


def test_unlisted_clients_make_room_for_one_another() -> None:
    book = ClientBook(limit=0)
    book.change_quotas(
        {(None, clients.OTHER): {"producer_byte_rate": 1.0}, ("ANONYMOUS", None): {"request_percentage": 1}}
    )
    limit = clients.UNLISTED_LIMIT
    for number in range(limit + 5):
        use(book, str(number), number)
    assert len(book._unlisted) == limit
    assert shown(book) == {OTHER: limit + 5}


def test_a_forgotten_meter_says_so_to_who_kept_it() -> None:
    book = ClientBook()
    use(book, "a", 0)
    kept = book.find("ANONYMOUS", "a", 0)
    book.expire(HOUR)
    assert kept.epoch == book.epoch
    book.expire(HOUR + 1)
    assert kept.epoch != book.epoch
    assert shown(book) == {}
    assert list(book.measured(HOUR + 1)) == []


def test_who_speaks_stays() -> None:
    book = ClientBook()
    use(book, "a", 0)
    use(book, "b", 0)
    use(book, "a", HOUR)
    book.expire(HOUR + 1)
    assert set(shown(book)) == {"a"}
    assert [key for key, _ in book.measured(HOUR + 1)] == [(QuotaType.PRODUCE, "", "a", False)]


def test_what_a_client_does_again_after_an_hour_is_shown_again() -> None:
    book = ClientBook()
    use(book, "a", 0)
    meter = book.find("ANONYMOUS", "a", 0)
    book.fetch(meter).record(100, HOUR)
    meter.last_ms = HOUR
    book.expire(HOUR + 1)
    assert [key.kind for key, _ in book.measured(HOUR + 1)] == [QuotaType.FETCH]
    use(book, "a", HOUR + 2)
    assert {key.kind for key, _ in book.measured(HOUR + 2)} == {QuotaType.FETCH, QuotaType.PRODUCE}


def test_a_quota_that_clients_share_is_one_after_an_hour_without_its_use() -> None:
    book = ClientBook()
    book.change_quotas({("ANONYMOUS", None): {"producer_byte_rate": 10.0}})
    use(book, "a", 0)
    book.find("ANONYMOUS", "a", 0).last_ms = HOUR
    book.expire(HOUR + 1)
    assert use(book, "a", HOUR + 2, size=10_000) > 0
    assert use(book, "b", HOUR + 2, size=1) > 0


def test_room_that_is_free_again_is_used() -> None:
    book = ClientBook(limit=1)
    use(book, "a", 0)
    use(book, "b", 0)
    book.expire(HOUR + 1)
    use(book, "b", HOUR + 1)
    assert "b" in shown(book)


@given(st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 5000), st.integers(0, 10**9)), max_size=40))
def test_noting_produce_requests_comes_to_the_same_as_recording_them(story: list[tuple[int, int, int]]) -> None:
    noting, recording = ClientBook(Windows(3, 1000)), ClientBook(Windows(3, 1000))
    one, other = noting.find("u", "a", 0), recording.find("u", "a", 0)
    noting.produce(one)
    noting.request(one)
    now = 0
    for wait, size, spent_ns in story:
        now += wait
        noting.note_produce(one, size, spent_ns, now)
        recording.produce(other).record(size, now)
        recording.request(other).record(spent_ns * NANOSECONDS_TO_PERCENT, now)
    noted = dict(noting.measured(now))
    recorded = dict(recording.measured(now))
    for key, values in recorded.items():
        for name in ("byte-rate", "request-time"):
            if name in values:
                assert noted[key][name] == pytest.approx(values[name])
    if story:
        assert (one.requests, one.bytes_in) == (len(story), sum(size for _, size, _ in story))


def test_what_is_noted_is_not_lost_when_quotas_change() -> None:
    book = ClientBook()
    meter = book.find("u", "a", 0)
    book.produce(meter)
    book.request(meter)
    book.note_produce(meter, 1_000_000, 1, 0)
    book.change_quotas({(None, "a"): {"producer_byte_rate": 1000.0}})
    assert book.produce(book.find("u", "a", 1)).record(1, 1) > 0
