"""Throttle times, mutations let through and metrics equal those of Kafka's own quota managers, story by story."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorkeeper.metering.clients import ClientBook, ClientMeter
from doorkeeper.metering.quotas import Entity, Name
from doorkeeper.metering.samples import Windows
from doorkeeper.metering.sensors import MutationQuota, QuotaSensor
from doorkeeper.rules.client_id import DEFAULT, desanitize

VECTORS = Path(__file__).parent.parent / "vectors" / "quotas-4.3.1.jsonl.gz"
START_MS = 1_700_000_000_000
UNBOUNDED = 1.7976931348623157e308
KEYS = {
    "Produce": "producer_byte_rate",
    "Fetch": "consumer_byte_rate",
    "Request": "request_percentage",
    "ControllerMutation": "controller_mutation_rate",
}


def stories() -> Iterator[tuple[dict[str, Any], list[Any], list[Any]]]:
    lines = gzip.decompress(VECTORS.read_bytes()).decode("ascii").splitlines()
    assert json.loads(lines[0])["rows"] == len(lines) - 1 > 200
    for line in lines[1:]:
        story, answers, metrics = json.loads(line)
        yield story, answers, metrics


def named(name: str | None) -> Name:
    return DEFAULT if name == "<default>" else name


class Teller:
    """Tells a story to a ClientBook."""

    def __init__(self, samples: int, seconds: int) -> None:
        self.windows = Windows(samples, seconds * 1000)
        self.book = ClientBook(self.windows)
        self.now = START_MS
        self.quotas: dict[Entity, dict[str, float]] = {}

    def meter(self, user: str, client_id: str) -> ClientMeter:
        return self.book.find(user, client_id, self.now)

    def sensor(self, kind: str, user: str, client_id: str) -> QuotaSensor:
        find = {"Produce": self.book.produce, "Fetch": self.book.fetch, "Request": self.book.request}[kind]
        return find(self.meter(user, client_id))

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds

    def quota(self, kind: str, user: str | None, client_id: str | None, value: float | None) -> None:
        values = self.quotas.setdefault((named(user), named(client_id)), {})
        values.pop(KEYS[kind], None)
        if value is not None:
            values[KEYS[kind]] = value
        self.book.change_quotas(self.quotas)

    def record(self, kind: str, user: str, client_id: str, value: float) -> int:
        return self.sensor(kind, user, client_id).record(value, self.now)

    def unrecord(self, kind: str, user: str, client_id: str, value: float) -> None:
        self.sensor(kind, user, client_id).record_only(-value, self.now)

    def most(self, kind: str, user: str, client_id: str) -> str:
        most = self.sensor(kind, user, client_id).most_in_window(self.windows)
        return repr(UNBOUNDED if most is None else most)

    def mutate(self, strict: bool, user: str, client_id: str, counts: list[int]) -> list[bool | int]:
        if not any("controller_mutation_rate" in values for values in self.quotas.values()):
            # Kafka counts nothing while there is no such quota at all; Doorkeeper does, for the metrics.
            return [*(True for _ in counts), 0]
        quota = MutationQuota(self.book.mutation(self.meter(user, client_id)), strict=strict)
        return [*(quota.charge(count, self.now) for count in counts), quota.throttle_ms(self.now)]


@pytest.fixture(scope="module")
def all_stories() -> list[tuple[dict[str, Any], list[Any], list[Any]]]:
    return list(stories())


def test_answers_as_kafka_does(all_stories: list[tuple[dict[str, Any], list[Any], list[Any]]]) -> None:
    for number, (story, expected, metrics) in enumerate(all_stories):
        teller = Teller(story["samples"], story["seconds"])
        for index, (step, wanted) in enumerate(zip(story["steps"], expected, strict=True)):
            answer = getattr(teller, step[0])(*step[1:])
            if step[0] == "most":
                assert float(answer) == pytest.approx(float(wanted)), (number, index, step)
            else:
                assert answer == wanted, (number, index, step)
        check_metrics(teller, metrics, number)


def check_metrics(teller: Teller, metrics: list[Any], number: int) -> None:
    ours = {
        (kind.value, name, user, client_id): value
        for (kind, user, client_id, _), attributes in teller.book.measured(teller.now)
        for name, value in attributes.items()
    }
    for kind, name, user, client_id, text in metrics:
        value, wanted = ours[kind, name, desanitize(user), client_id], float(text)
        if math.isnan(wanted):
            assert math.isnan(value)
        else:
            assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9), (number, kind, name, user, client_id)


def test_the_stories_throttle_and_refuse(all_stories: list[tuple[dict[str, Any], list[Any], list[Any]]]) -> None:
    answers = [answer for _, expected, _ in all_stories for answer in expected]
    throttled = [one for one in answers if isinstance(one, int) and one > 0]
    refused = [one for one in answers if isinstance(one, list) and False in one]
    assert len(throttled) > 500
    assert len(refused) > 50
