"""Subscriptions by pattern."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import BAR, FOO, GROUP, Driver, durable, topic_id

from doorkeeper.cluster.groups.consumer.regexes import resolve
from doorkeeper.cluster.groups.messages import ConsumerGroupHeartbeatResponse
from doorkeeper.cluster.groups.topics import TopicView

FOX = TopicView("fox", topic_id(3), 2)


def topics_of(response: ConsumerGroupHeartbeatResponse) -> set[int]:
    assert response.assignment is not None
    return {entry.topic_id.int for entry in response.assignment.topic_partitions}


@pytest.mark.parametrize(
    ("regex", "matches"),
    [
        ("fo.*", {"foo", "fox"}),
        ("fo", set()),
        ("foo|bar", {"foo", "bar"}),
        ("^foo$", {"foo"}),
        (r"\w{3}", {"foo", "fox", "bar"}),
        ("(?i)FOO", {"foo"}),
        (".*", {"foo", "fox", "bar"}),
        ("[^f].*", {"bar"}),
    ],
)
def test_matches_whole_names(regex: str, matches: set[str]) -> None:
    assert resolve([regex], ["foo", "fox", "bar"], None) == {regex: matches}


def test_matches_only_topics_that_the_member_may_see() -> None:
    assert resolve([".*"], ["foo", "bar"], lambda name: name == "bar") == {".*": {"bar"}}


def test_a_pattern_that_would_hang_a_backtracking_engine_is_harmless() -> None:
    assert resolve(["(a*)*b"], ["a" * 249], None) == {"(a*)*b": set()}


@pytest.mark.parametrize("regex", ["(", "[a", "a{2,1}", r"(a)\1", "(?=a)", "*"])
def test_refuses_what_is_no_re2(regex: str) -> None:
    driver = Driver()
    response = driver.consume(regex=regex)
    assert response.error_code is ErrorCode.invalid_regular_expression
    assert response.error_message is not None
    assert response.error_message.startswith(f"SubscribedTopicRegex `{regex}` is not a valid regular expression: ")
    assert not driver.log


def test_a_new_pattern_is_resolved_between_two_heartbeats() -> None:
    driver = Driver()
    first = driver.consume(regex="fo.*")
    assert topics_of(first) == set()
    records = driver.settle()
    assert [type(record.key).__name__ for record in records] == [
        "ConsumerGroupRegularExpressionKey",
        "ConsumerGroupMetadataKey",
    ]
    second = driver.consume("m1", first.member_epoch)
    assert topics_of(second) == {FOO.topic_id.int}
    assert second.member_epoch > first.member_epoch
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_names_and_a_pattern_add_up() -> None:
    driver = Driver()
    first = driver.consume(names=["bar"], regex="foo")
    assert topics_of(first) == {BAR.topic_id.int}
    driver.settle()
    assert topics_of(driver.consume("m1", first.member_epoch)) == {FOO.topic_id.int, BAR.topic_id.int}


def test_a_pattern_that_another_member_brought_is_known_at_once() -> None:
    driver = Driver()
    epoch = driver.consume("m1", regex="fo.*").member_epoch
    driver.settle()
    driver.consume("m1", epoch)
    before = driver.consumer.group_epoch
    driver.consume("m2", regex="fo.*")
    assert driver.consumer.group_epoch == before + 1
    assert driver.settle() == []


def test_a_new_topic_is_found_but_not_more_often_than_every_ten_seconds() -> None:
    driver = Driver()
    epoch = driver.consume(regex="fo.*").member_epoch
    driver.settle()
    epoch = driver.consume("m1", epoch).member_epoch
    driver.set_topics(FOO, BAR, FOX)
    driver.advance(10_000)
    driver.consume("m1", epoch)
    assert driver.settle() == []
    driver.advance(1)
    driver.consume("m1", epoch)
    assert driver.settle() != []
    assert topics_of(driver.consume("m1", epoch)) == {FOO.topic_id.int, FOX.topic_id.int}


def test_patterns_are_resolved_again_after_the_refresh_interval() -> None:
    driver = Driver()
    epoch = driver.consume(regex="fo.*").member_epoch
    driver.settle()
    epoch = driver.consume("m1", epoch).member_epoch
    for _ in range(15):
        driver.advance(40_000)
        driver.consume("m1", epoch)
    assert driver.settle() == []
    driver.advance(1)
    driver.consume("m1", epoch)
    records = driver.settle()
    assert [type(record.key).__name__ for record in records] == ["ConsumerGroupRegularExpressionKey"]


def test_a_pattern_that_nobody_uses_any_more_is_forgotten() -> None:
    driver = Driver()
    epoch = driver.consume(regex="fo.*").member_epoch
    driver.settle()
    epoch = driver.consume("m1", epoch).member_epoch
    driver.consume("m1", epoch, regex="", names=["bar"])
    assert "-ConsumerGroupRegularExpression" in driver.kinds()
    assert driver.consumer.resolved == {}
    assert driver.consumer.subscribed_topics() == {"bar"}


def test_the_pattern_of_a_member_that_leaves_goes_with_it_unless_shared() -> None:
    driver = Driver()
    for member in ("m1", "m2"):
        driver.consume(member, regex="fo.*")
        driver.settle()
    driver.consume("m1", -1)
    assert "-ConsumerGroupRegularExpression" not in driver.kinds()
    driver.consume("m2", -1)
    assert "-ConsumerGroupRegularExpression" in driver.kinds()
    assert driver.consumer.resolved == {}


def test_members_with_different_patterns_share_the_partitions_of_common_topics() -> None:
    driver = Driver()
    driver.consume("m1", regex="foo|bar")
    driver.settle()
    driver.advance(10_001)
    driver.consume("m2", regex="foo")
    driver.settle()
    driver.consume("m2", driver.consumer.members["m2"].member_epoch)
    target = driver.consumer.target
    assert BAR.topic_id not in target["m2"]
    assert len(target["m1"][BAR.topic_id]) == BAR.partition_count
    assert sum(len(t.get(FOO.topic_id, ())) for t in target.values()) == FOO.partition_count


def test_a_job_for_a_group_that_is_gone_does_nothing() -> None:
    driver = Driver()
    driver.consume(regex="fo.*")
    driver.consume("m1", -1)
    driver.take(driver.coordinator.delete_groups([GROUP], "delete", driver.now_ms))
    assert driver.settle() == []


def test_the_members_right_to_see_topics_counts() -> None:
    driver = Driver()
    epoch = driver.consume(regex=".*", may_describe=lambda name: name == "bar").member_epoch
    driver.settle()
    assert topics_of(driver.consume("m1", epoch)) == {BAR.topic_id.int}
