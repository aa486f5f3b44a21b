"""Which quota binds a client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.metering.clients import ClientBook
from doorkeeper.metering.quotas import QuotaTable, levels
from doorkeeper.rules.client_id import DEFAULT, QuotaType, sanitize

ODD = 'a b/c:d*é"\n\U0001f600'
LEVELS = levels("al ice", ODD)


@pytest.mark.parametrize("level", range(8))
def test_each_level_wins_over_all_below_it(level: int) -> None:
    limits = {entity: float(index) for index, entity in enumerate(LEVELS) if index >= level}
    found = QuotaTable(limits).find("al ice", ODD)
    assert (found.limit, found.entity) == (float(level), LEVELS[level])


def test_binds_nobody_else() -> None:
    table = QuotaTable({("al ice", ODD): 1.0, ("al ice", None): 2.0, (None, ODD): 3.0})
    assert table.find("bob", "app").limit is None
    assert table.find("al ice", "app").limit == 2.0
    assert table.find("bob", ODD).limit == 3.0


def test_client_ids_of_a_user_share_the_quota_of_the_user() -> None:
    table = QuotaTable({("alice", None): 1.0, (None, DEFAULT): 9.0})
    assert table.find("alice", "one")[:2] == table.find("alice", "two")[:2] == ("alice", "")
    assert table.find("bob", "one")[:2] == ("", "one")


def test_an_entity_stored_in_encoded_form_binds_its_literal_name_alone() -> None:
    table = QuotaTable({(None, "%2A"): 1.0})
    assert table.find("", "*").limit is None
    assert table.find("", "%2A").limit == 1.0


def test_an_empty_client_id_is_bound_by_users_only() -> None:
    assert QuotaTable({(None, DEFAULT): 1.0}).find("u", "").limit is None
    assert QuotaTable({("u", None): 1.0}).find("u", "").limit == 1.0


@given(st.lists(st.text(), unique=True, min_size=2, max_size=5))
def test_raw_names_are_told_apart_whatever_they_are(names: list[str]) -> None:
    table = QuotaTable({(None, name): float(index) for index, name in enumerate(names) if name})
    for index, name in enumerate(names):
        assert table.find("u", name).limit == (float(index) if name else None)
        encoded = sanitize(name)
        if encoded not in names:
            assert table.find("u", encoded).limit is None


def test_a_changed_quota_counts_from_the_next_request_on() -> None:
    book = ClientBook()
    sensor = book.produce(book.find("u", "app", 0))
    assert sensor.record(1_000_000, 0) == 0
    book.change_quotas({(None, "app"): {"producer_byte_rate": 1000.0}})
    assert sensor.record(1, 0) > 0
    meter = book.find("u", "app", 0)
    assert meter.epoch == book.epoch
    assert book.produce(meter) is sensor
    book.change_quotas({})
    assert book.produce(book.find("u", "app", 0)).record(1, 0) == 0


def test_says_where_the_quota_that_binds_is_set() -> None:
    book = ClientBook()
    book.change_quotas({(DEFAULT, None): {"request_percentage": 10.0}})
    found = book.binding(QuotaType.REQUEST, book.find("u", "app", 0))
    assert (found.limit, found.entity) == (10.0, (DEFAULT, None))
    assert book.binding(QuotaType.PRODUCE, book.find("u", "app", 0)).limit is None
