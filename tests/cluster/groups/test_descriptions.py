"""ListGroups, DescribeGroups, ConsumerGroupDescribe, DeleteGroups, and where groups are kept."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.groups.driver import BAR, FOO, GROUP, Driver, durable, subscription

from doorkeeper.cluster.broker.coordinated_topic import coordinator_partition
from doorkeeper.cluster.groups.messages import DeletedGroup, DescribedGroupMember, RequestContext
from doorkeeper.cluster.groups.settings import GroupConfigs, GroupSettings, MigrationPolicy, settings_from_config
from doorkeeper.cluster.groups.topics import TopicsView


def three_groups() -> Driver:
    """A stable classic group, an empty one, and a consumer group that is reconciling."""
    driver = Driver()
    driver.commit(group="simple")
    first = driver.consume("m1", group="consumer").member_epoch
    driver.consume("m2", group="consumer")
    driver.consume("m1", first, group="consumer")
    driver.stable_group()
    return driver


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        ([], [], {GROUP, "simple", "consumer"}),
        (["Stable"], [], {GROUP}),
        (["sTABLE", " empty "], [], {GROUP, "simple"}),
        (["Reconciling"], [], {"consumer"}),
        ([], ["Classic"], {GROUP, "simple"}),
        ([], ["consumer"], {"consumer"}),
        (["Stable"], ["consumer"], set()),
        ([], ["share"], set()),
        ([], ["nonsense"], set()),
        (["nonsense"], [], set()),
    ],
)
def test_lists_groups_by_state_and_type(states: list[str], types: list[str], names: set[str]) -> None:
    driver = three_groups()
    assert {group.group_id for group in driver.coordinator.list_groups(states, types)} == names


def test_lists_what_kind_of_group_it_is() -> None:
    listed = {group.group_id: group for group in three_groups().coordinator.list_groups()}
    assert (listed["simple"].protocol_type, listed["simple"].group_type) == ("", "classic")
    assert (listed["consumer"].protocol_type, listed["consumer"].group_type) == ("consumer", "consumer")
    assert (listed[GROUP].protocol_type, listed[GROUP].group_state) == ("consumer", "Stable")


def test_describes_a_stable_classic_group_with_its_members() -> None:
    driver = Driver()
    (member,) = driver.stable_group()
    (described,) = driver.coordinator.describe_groups(RequestContext(6), [GROUP])
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "range")
    assert described.members == (
        DescribedGroupMember(
            member_id=member,
            client_id="client",
            client_host="/127.0.0.1",
            member_metadata=subscription("foo"),
            member_assignment=member.encode(),
        ),
    )


def test_leaves_metadata_out_while_a_group_rebalances() -> None:
    driver = Driver()
    leader, _ = driver.stable_group(2)
    driver.start_join(leader)
    (described,) = driver.coordinator.describe_groups(RequestContext(6), [GROUP])
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert {member.member_metadata for member in described.members} == {b""}


@pytest.mark.parametrize(
    ("version", "group", "code", "message"),
    [
        (5, "nope", ErrorCode.none, None),
        (6, "nope", ErrorCode.group_id_not_found, "Group nope not found."),
        (5, "consumer", ErrorCode.none, None),
        (6, "consumer", ErrorCode.group_id_not_found, "Group consumer is not a classic group."),
    ],
)
def test_describes_a_missing_classic_group_as_dead(
    version: int, group: str, code: ErrorCode, message: str | None
) -> None:
    driver = three_groups()
    (described,) = driver.coordinator.describe_groups(RequestContext(version), [group])
    assert (described.group_state, described.error_code, described.error_message) == ("Dead", code, message)


def test_describes_a_consumer_group_with_what_members_have_and_shall_have() -> None:
    driver = Driver()
    first = driver.consume("m1", instance_id="i", rack_id="r").member_epoch
    driver.consume("m2")
    driver.consume("m1", first, instance_id="i")
    (group,) = driver.coordinator.describe_consumer_groups([GROUP])
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert group.assignor_name == "uniform"
    one, two = sorted(group.members, key=lambda member: member.member_id)
    assert (one.instance_id, one.rack_id, one.member_epoch, one.member_type) == ("i", "r", 2, 1)
    assert one.subscribed_topic_names == ("foo",)
    assert one.assignment.topic_partitions[0].topic_name == "foo"
    assert one.assignment.topic_partitions[0].partitions == (0, 1, 2, 3, 4, 5)  # what it still has to let go included
    assert one.target_assignment.topic_partitions[0].partitions == (0, 1, 2)
    assert two.assignment.topic_partitions == ()
    assert two.target_assignment.topic_partitions[0].partitions == (3, 4, 5)


def test_leaves_deleted_topics_out_of_descriptions() -> None:
    driver = Driver()
    driver.consume("m1", names=["foo", "bar"])
    driver.set_topics(BAR)
    (group,) = driver.coordinator.describe_consumer_groups([GROUP])
    assert [entry.topic_name for entry in group.members[0].assignment.topic_partitions] == ["bar"]


@pytest.mark.parametrize(
    ("group", "code", "message"),
    [
        ("", ErrorCode.invalid_group_id, None),
        ("nope", ErrorCode.group_id_not_found, "Group nope not found."),
        (GROUP, ErrorCode.group_id_not_found, "Group g is not a consumer group."),
    ],
)
def test_says_why_it_does_not_describe(group: str, code: ErrorCode, message: str | None) -> None:
    driver = Driver()
    driver.stable_group()
    (described,) = driver.coordinator.describe_consumer_groups([group])
    assert (described.error_code, described.error_message) == (code, message)


def test_classic_members_show_as_such_in_a_consumer_group() -> None:
    driver = Driver()
    driver.consume("m1", names=["bar"])
    driver.join(version=3)
    (group,) = driver.coordinator.describe_consumer_groups([GROUP])
    assert sorted(member.member_type for member in group.members) == [0, 1]


# --- DeleteGroups ------------------------------------------------------------------------------------------------


def test_deletes_empty_groups_with_their_offsets_and_no_others() -> None:
    driver = three_groups()
    driver.consume("x", group="empty")
    driver.consume("x", -1, group="empty")
    driver.take(driver.coordinator.delete_groups(["simple", GROUP, "nope", "consumer", "empty"], "t", driver.now_ms))
    assert driver.replies["t"] == [
        DeletedGroup("simple"),
        DeletedGroup(GROUP, ErrorCode.non_empty_group),
        DeletedGroup("nope", ErrorCode.group_id_not_found),
        DeletedGroup("consumer", ErrorCode.non_empty_group),
        DeletedGroup("empty"),
    ]
    assert {group.group_id for group in driver.coordinator.list_groups()} == {GROUP, "consumer"}
    assert driver.fetch(group="simple") == -1
    assert durable(driver.replayed()) == durable(driver.coordinator)


def test_deleting_a_group_twice_in_one_request_is_deleting_it_once() -> None:
    driver = Driver()
    driver.commit()
    driver.take(driver.coordinator.delete_groups([GROUP, GROUP], "t", driver.now_ms))
    assert driver.replies["t"] == [DeletedGroup(GROUP)]


def test_a_deleted_group_leaves_no_deadline_behind() -> None:
    driver = Driver()
    driver.new_member_id()
    driver.take(driver.coordinator.delete_groups([GROUP], "t", driver.now_ms))
    assert driver.advance(60_000) == []


# --- around ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "partitions", "expected"),
    [
        ("", 50, 0),
        ("group", 50, 98629247 % 50),
        ("polygenelubricants", 50, 0),  # its hash is the smallest int, which has no positive counterpart
        ("😀", 50, 1772899 % 50),
        ("a", 1, 0),
    ],
)
def test_keeps_a_group_where_kafka_keeps_it(group: str, partitions: int, expected: int) -> None:
    assert coordinator_partition(group, partitions) == expected


def test_reads_settings_from_parsed_broker_configs() -> None:
    settings = settings_from_config(
        {
            "group.max.size": 7,
            "offsets.retention.minutes": 2,
            "group.consumer.assignors": ["range"],
            "group.consumer.migration.policy": "Upgrade",
            "log.dirs": "/x",
        }
    )
    assert settings == GroupSettings(
        classic_max_size=7,
        offsets_retention_ms=120_000,
        consumer_assignors=("range",),
        consumer_migration_policy=MigrationPolicy.UPGRADE,
    )
    assert settings_from_config({}) == GroupSettings()


@pytest.mark.parametrize(
    ("value", "in_force"), [(44_999, 45_000), (45_000, 45_000), (60_000, 60_000), (60_001, 60_000)]
)
def test_moves_a_groups_own_value_into_the_brokers_bounds(value: int, in_force: int) -> None:
    configs = GroupConfigs(overrides={"g": {"consumer.session.timeout.ms": value}})
    assert configs.session_timeout_ms("g") == in_force
    assert configs.session_timeout_ms("other") == 45_000


def test_the_metadata_hash_depends_on_everything_that_matters_and_on_no_order() -> None:
    view = TopicsView.of([FOO, BAR])
    assert view.metadata_hash(["foo", "bar"]) == TopicsView.of([BAR, FOO]).metadata_hash(["bar", "foo"])
    assert view.metadata_hash(["foo", "nope"]) == view.metadata_hash(["foo"])
    assert view.metadata_hash(["foo"]) != view.metadata_hash(["bar"])
    assert view.metadata_hash([]) == view.metadata_hash(["nope"]) == 0
    assert -(2**63) <= view.metadata_hash(["foo"]) < 2**63
