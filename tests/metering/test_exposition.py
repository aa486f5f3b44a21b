"""The text for Prometheus holds whatever clients are called."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import parser as prometheus
from prometheus_client.openmetrics import parser as openmetrics

from doorkeeper.metering.exposition import Family, json_text, prometheus_text
from doorkeeper.metering.histogram import Histogram

names = st.text(st.characters(codec="utf-8"))


def filled(values: list[str]) -> str:
    gauge = Family("kafka_server_produce_byte_rate", "gauge", 'with "quotes" and \\ in its\nhelp')
    counter = Family("doorkeeper_client_requests", "counter", "requests")
    for index, value in enumerate(values):
        gauge.add([("user", ""), ("client_id", value)], index / 2)
        counter.add([("client_id", value)], index)
    histogram = Histogram()
    histogram.record(3)
    times = Family("kafka_network_time_seconds", "histogram", "times")
    times.add_histogram([("request", "Produce")], histogram, 1e-6)
    return prometheus_text([gauge, Family("nobody_home", "gauge", "left out"), counter, times])


@given(st.lists(names, unique=True, max_size=5))
def test_any_name_passes_the_strict_parser_and_comes_back(values: list[str]) -> None:
    families = {one.name: one for one in openmetrics.text_string_to_metric_families(filled(values))}  # type: ignore[no-untyped-call]
    found = families.get("kafka_server_produce_byte_rate")
    assert [sample.labels["client_id"] for sample in found.samples] == values if found else not values
    assert families["kafka_network_time_seconds"].type == "histogram"
    assert "nobody_home" not in families


@given(st.lists(names, unique=True, max_size=5))
def test_any_name_passes_the_parser_of_the_older_format(values: list[str]) -> None:
    samples = [one for family in prometheus.text_string_to_metric_families(filled(values)) for one in family.samples]
    assert [one.labels["client_id"] for one in samples if one.name == "doorkeeper_client_requests_total"] == values


def test_json_has_null_for_what_is_no_number() -> None:
    text = json_text({"kafka.server:type=Produce": {"throttle-time": math.nan, "byte-rate": 1.5, "quota": "none"}})
    assert json.loads(text) == {"kafka.server:type=Produce": {"throttle-time": None, "byte-rate": 1.5, "quota": "none"}}
