"""Statistics over windows, at their edges; the stories compare them with Kafka's at large."""

from __future__ import annotations

import math

from doorkeeper.metering.connections import ConnectionRates, canonical_address
from doorkeeper.metering.histogram import BUCKETS, Histogram
from doorkeeper.metering.measured import by_object_name, families, snake
from doorkeeper.metering.requests import ApiMeter, Meter, RequestBook
from doorkeeper.metering.samples import Avg, Count, Max, Rate, Windows
from doorkeeper.metering.throttling import refill_time_ms, throttle_time_ms

TWO = Windows(2, 1000)


def test_a_young_rate_is_taken_over_all_windows_but_one() -> None:
    rate = Rate(Windows(11, 1000))
    rate.record(100, 5000)
    assert rate.measure(5000) == 10.0
    assert rate.window_ms(5000) == 10_000
    assert rate.window_ms(5999) == 10_999


def test_values_leave_with_the_window_they_were_last_added_to() -> None:
    count, mean, largest = Count(TWO), Avg(TWO), Max(TWO)
    for statistic in (count, mean, largest):
        statistic.record(4, 0)
        statistic.record(8, 999)
    assert (count.measure(2998), mean.measure(2998), largest.measure(2998)) == (2, 6, 8)
    assert count.measure(2999) == 0
    assert math.isnan(mean.measure(2999))
    assert math.isnan(largest.measure(2999))


def test_throttle_time_is_rounded_as_java_rounds() -> None:
    assert throttle_time_ms(15.0, 10.0, 1000) == 500
    assert throttle_time_ms(10.0005, 10.0, 10_000) == 1
    assert throttle_time_ms(15.0, 10.0, 1000, longest_ms=100) == 100
    assert throttle_time_ms(15.0, 0.0, 1000) == 2**31 - 1
    assert refill_time_ms(-60.0, 5.0) == 12_000


def test_connections_of_an_address_beyond_its_rate_are_sent_away() -> None:
    rates = ConnectionRates(Windows(2, 1000))
    assert [rates.admit("10.0.0.1", 0) for _ in range(100)] == [0] * 100
    rates.change_limits({None: 2.0, "0:0:0:0:0:0:0:1": 5.0})
    assert [bool(rates.admit("10.0.0.1", 0)) for _ in range(4)] == [False, False, True, True]
    assert [bool(rates.admit("::1", 0)) for _ in range(6)] == [False] * 5 + [True]
    assert not rates.admit("10.0.0.2", 0)
    assert rates.admit("10.0.0.1", 0) <= 1000
    assert dict(rates.measured(0))["10.0.0.1"]["connection-accept-rate"] == 2.0
    assert rates.admit("10.0.0.1", 5000) == 0
    rates.expire(5000 + 3_600_000)
    assert dict(rates.measured(5000 + 3_600_000)) == {}


def test_an_address_has_one_spelling() -> None:
    assert canonical_address("[::1]") == canonical_address("0:0:0:0:0:0:0:1%eth0") == "::1"
    assert canonical_address("a.name") == "a.name"


def test_a_histogram_counts_every_value_once() -> None:
    histogram = Histogram()
    for value in (0, 1, 2, 3, 4, 1000, 2**50):
        histogram.record(value)
    assert histogram.count == 7
    assert histogram.largest == 2**50
    bounds = list(histogram.cumulative(1.0))
    assert bounds[0] == (0.0, 1)
    assert bounds[2] == (3.0, 4)
    assert bounds[-1] == (math.inf, 7)
    assert len(bounds) == BUCKETS
    assert histogram.percentile(0.5) <= 4
    assert histogram.percentile(1.0) <= 2**50
    assert Histogram().percentile(0.5) == Histogram().mean() == 0.0


def test_times_of_requests_answered_at_once_and_later_add_up() -> None:
    api = ApiMeter()
    api.note(100, 10)
    api.note_later(total=5000, local=200, request_bytes=20)
    api.note_throttle(7)
    times = api.times()
    assert (times.total.count, times.total.total) == (2, 5100)
    assert (times.local.count, times.local.total) == (2, 300)
    assert (times.remote.count, times.remote.total) == (2, 4800)
    assert (times.throttle.count, times.throttle.total) == (2, 7)
    assert api.request_bytes.total == 30


def test_a_meter_fades() -> None:
    meter = Meter(0)
    meter.count = 50
    meter.tick()
    assert meter.measure(5000) == {
        "Count": 50,
        "MeanRate": 10.0,
        "OneMinuteRate": 10.0,
        "FiveMinuteRate": 10.0,
        "FifteenMinuteRate": 10.0,
    }
    meter.tick()
    after = meter.measure(10_000)
    assert 0 < after["OneMinuteRate"] < after["FiveMinuteRate"] < after["FifteenMinuteRate"] < 10


def test_the_book_names_requests_as_kafka_does() -> None:
    book = RequestBook()
    api, count = book.find("Produce", 9, 0)
    count.count += 1
    api.note(1500, 10)
    book.tick()
    measured = by_object_name(book.measured(1000))
    name = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Produce,version=9"
    assert measured[name]["Count"] == 1
    assert measured["kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"]["Max"] == 1.5
    told = {one.name: one.lines for one in families(book.measured(1000))}
    counted = told["kafka_network_request_metrics_requests_per_sec"]
    assert counted == ['kafka_network_request_metrics_requests_per_sec_total{request="Produce",version="9"} 1.0']
    assert (
        'kafka_network_request_metrics_total_time_seconds_count{request="Produce"} 1'
        in told["kafka_network_request_metrics_total_time_seconds"]
    )
    assert snake("socket-server-metrics") == "socket_server_metrics"
