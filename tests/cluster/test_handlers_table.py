"""What the doors serve: held against Kafka's own schemas."""

from __future__ import annotations

import csv
from importlib import resources

import pytest

from doorkeeper.cluster.handlers.envelope import FORWARDABLE
from doorkeeper.cluster.handlers.table import MODULES, handlers_for, registry_for
from doorkeeper.wire.broker_registration import BROKER_REGISTRATION
from doorkeeper.wire.registry import Door

INIT_PRODUCER_ID = 22
BEYOND_KAFKA = {BROKER_REGISTRATION: 6, INIT_PRODUCER_ID: 6}
"""Versions that Kafka does not offer by itself: a proposal's, and one that is in its schemas but not finished."""


def kafkas() -> dict[int, dict[str, str]]:
    text = resources.files("doorkeeper.rules").joinpath("facts", "apis.csv").read_text(encoding="utf-8")
    return {int(row["api_key"]): row for row in csv.DictReader(text.splitlines())}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_api_is_served_at_the_doors_and_versions_that_kafka_serves_it_at(module: object) -> None:
    served = module.SERVED  # type: ignore[attr-defined]
    theirs = kafkas()[served.api_key]
    assert set(served.doors) == {Door(one) for one in theirs["listeners"].split()}
    assert served.highest == BEYOND_KAFKA.get(served.api_key, int(theirs["stable_version"]))
    assert served.lowest == int(theirs["first_version"])


@pytest.mark.parametrize("door", list(Door))
def test_every_api_of_a_door_has_a_handler_and_none_is_idle(door: Door) -> None:
    assert set(registry_for(door, unstable_versions=True)) == set(handlers_for(door))


def test_registration_above_kafkas_version_is_withdrawn_where_unstable_versions_are_off() -> None:
    assert registry_for(Door.CONTROLLER, unstable_versions=True)[BROKER_REGISTRATION].highest == 6
    assert registry_for(Door.CONTROLLER, unstable_versions=False)[BROKER_REGISTRATION].highest == 4


def test_what_a_broker_sends_on_is_served_by_the_controller() -> None:
    sent_on = {
        module.SERVED.api_key
        for module in MODULES
        if getattr(getattr(module, "at_broker", None), "__name__", "") == "forward"
    }
    assert sent_on
    assert sent_on <= FORWARDABLE & set(registry_for(Door.CONTROLLER, unstable_versions=True))
