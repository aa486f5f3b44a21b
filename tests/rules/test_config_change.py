"""Config changes at the two doors: shape, names, whose context counts, and what is stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_change import (
    BrokerContext,
    BrokerDoor,
    ConfigEntry,
    Context,
    ControllerDoor,
    Features,
    Operation,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
    judge_changes,
)
from doorkeeper.rules.properties import parse_properties
from doorkeeper.rules.static_config import make_layer
from doorkeeper.rules.verdict import RuleId

BROKER, TOPIC, GROUP = ResourceType.BROKER, ResourceType.TOPIC, ResourceType.GROUP
METRICS, LOGGER = ResourceType.CLIENT_METRICS, ResourceType.BROKER_LOGGER
STATIC = {
    "process.roles": "broker",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
}
CONTROLLER = STATIC | {"process.roles": "controller", "node.id": "100", "listeners": "CONTROLLER://:9093"}
ONE = Context(brokers={1: BrokerContext(STATIC)}, controller_static=CONTROLLER, door=BrokerDoor(1))
THREE = Context(
    brokers={
        1: BrokerContext(STATIC),
        2: BrokerContext(STATIC | {"node.id": "2", "num.io.threads": "32"}),
        3: BrokerContext(STATIC | {"node.id": "3", "num.io.threads": "64"}),
    },
    controller_static=CONTROLLER,
)
UNREPORTED = Context(brokers={1: BrokerContext()}, controller_static=CONTROLLER)


def sets(resource_type: int, name: str, **configs: str) -> ResourceChange:
    entries = tuple(ConfigEntry(key.replace("_", "."), Operation.SET, value) for key, value in configs.items())
    return ResourceChange(resource_type, name, entries)


def judged(change: ResourceChange, context: Context = ONE) -> ResourceVerdict:
    (verdict,) = judge_changes([change], context)
    return verdict


def test_a_lawful_change_tells_what_is_stored_after_it() -> None:
    context = replace(ONE, dynamic={(BROKER, "1"): {"num.io.threads": "9", "plugin": "x"}})
    verdict = judged(sets(BROKER, "1", num_io_threads="16"), context)
    assert verdict.accepted
    assert verdict.message is None
    assert verdict.proposed == {"num.io.threads": "16", "plugin": "x"}


def test_a_refused_change_stores_nothing() -> None:
    verdict = judged(sets(BROKER, "1", num_io_threads="17"))
    assert (verdict.code, verdict.rule, verdict.proposed) == (
        ErrorCode.INVALID_REQUEST,
        RuleId.CONFIG_THREAD_POOL,
        None,
    )
    assert verdict.refused_by == (1,)


def test_a_bad_resource_fails_alone() -> None:
    changes = [sets(TOPIC, "a", retention_ms="x"), sets(TOPIC, "b", retention_ms="1"), sets(BROKER, "", node_id="1")]
    assert [verdict.code for verdict in judge_changes(changes, ONE)] == [40, 0, 42]


def test_every_copy_of_a_repeated_resource_is_refused() -> None:
    changes = [sets(TOPIC, "a", retention_ms="1"), sets(TOPIC, "b"), sets(TOPIC, "a", retention_ms="2")]
    verdicts = judge_changes(changes, ONE)
    assert [verdict.rule for verdict in verdicts] == [
        RuleId.CONFIG_RESOURCE_REPEATED,
        None,
        RuleId.CONFIG_RESOURCE_REPEATED,
    ]


def test_the_four_inconsistencies_of_the_proposal_are_invalid_requests_at_the_controllers_door() -> None:
    null = ResourceChange(BROKER, "1", (ConfigEntry("num.io.threads", Operation.SET, None),))
    twice = ResourceChange(BROKER, "1", (ConfigEntry("a", 0, "1"), ConfigEntry("a", 0, "2")))
    unknown = sets(0, "x", a="b")
    invalid = sets(BROKER, "1", num_io_threads="abc")
    for change in (null, twice, unknown, invalid):
        assert judged(change, THREE).code is ErrorCode.INVALID_REQUEST


class TestDoors:
    def test_a_broker_refuses_another_brokers_change(self) -> None:
        verdict = judged(sets(BROKER, "2", num_io_threads="9"))
        assert verdict.message == "Unexpected broker id, expected 1, but received 2"

    def test_the_controller_judges_by_the_named_brokers_static_configs(self) -> None:
        assert judged(sets(BROKER, "1", num_io_threads="64"), THREE).refused_by == (1,)
        assert judged(sets(BROKER, "2", num_io_threads="64"), THREE).accepted
        assert judged(sets(BROKER, "3", num_io_threads="31"), THREE).refused_by == (3,)

    def test_the_message_for_one_broker_is_kafkas_alone(self) -> None:
        message = judged(sets(BROKER, "1", num_io_threads="64"), THREE).message
        assert message is not None
        assert "refused by" not in message

    def test_the_controller_refuses_an_unregistered_id_with_the_brokers_code(self) -> None:
        verdict = judged(sets(BROKER, "7", num_io_threads="9"), THREE)
        assert (verdict.code, verdict.message) == (ErrorCode.INVALID_REQUEST, "No node with id 7 found.")

    @pytest.mark.parametrize("context", [ONE, THREE])
    def test_a_name_that_is_no_number_is_refused(self, context: Context) -> None:
        assert judged(sets(BROKER, "one"), context).rule is RuleId.CONFIG_RESOURCE_NAME

    @pytest.mark.parametrize("door", [BrokerDoor(1), ControllerDoor()])
    def test_a_cluster_default_is_judged_by_every_broker_and_names_who_refuses(
        self, door: BrokerDoor | ControllerDoor
    ) -> None:
        verdict = judged(sets(BROKER, "", num_io_threads="16"), replace(THREE, door=door))
        assert verdict.refused_by == (3,)
        assert str(verdict.message).endswith(" (refused by broker 3)")
        verdict = judged(sets(BROKER, "", num_io_threads="8"), replace(THREE, door=door))
        assert str(verdict.message).endswith(" (refused by brokers 2, 3)")

    def test_a_bad_value_is_everybodys_refusal(self) -> None:
        verdict = judged(sets(BROKER, "", num_io_threads="0"), THREE)
        assert verdict.refused_by == (1, 2, 3)
        assert verdict.message == "Invalid value 0 for configuration num.io.threads: Value must be at least 1"

    def test_a_broker_that_is_not_registered_is_judged_by_the_request_alone(self) -> None:
        context = Context(brokers={}, controller_static=CONTROLLER, door=BrokerDoor(1))
        assert judged(sets(BROKER, "1", num_io_threads="99"), context).accepted

    def test_loggers_are_those_of_the_node_behind_the_door(self) -> None:
        context = replace(THREE, door=ControllerDoor(100), loggers={"kafka"})
        assert judged(sets(LOGGER, "100", kafka="INFO"), context).accepted
        assert judged(sets(LOGGER, "1", kafka="INFO"), context).rule is RuleId.CONFIG_OTHER_NODE
        assert judged(sets(LOGGER, "100", other="INFO"), context).code is ErrorCode.INVALID_CONFIG

    def test_any_logger_of_any_node_may_be_changed_where_nothing_is_known(self) -> None:
        assert judged(sets(LOGGER, "5", anything="TRACE"), THREE).accepted


class TestUnreportedStatics:
    """A broker that registered at a version below 6 is judged by what the request itself says."""

    @pytest.mark.parametrize(
        "configs",
        [
            {"num.io.threads": "99"},
            {"num.network.threads": "99"},
            {"log.local.retention.ms": "999999999999"},
            {"log.local.retention.bytes": "999"},
            {"log.cleaner.threads": "50"},
            {"listeners": "PLAINTEXT://:1"},
            {"remote.log.reader.threads": "99"},
            {"max.connections.per.ip": "0"},
            {"max.connections": "0"},
            {"group.consumer.assignment.interval.ms": "99999"},
            {"log.roll.jitter.ms": "5"},
        ],
    )
    def test_no_default_of_kafkas_makes_a_refusal(self, configs: dict[str, str]) -> None:
        assert judged(sets(BROKER, "1", **configs), UNREPORTED).accepted

    @pytest.mark.parametrize(
        "configs",
        [
            {"num.io.threads": "x"},
            {"log.retention.ms": "0"},
            {"log.roll.ms": "0"},
            {"log.cleaner.threads": "0", "log.cleaner.dedupe.buffer.size": "5"},
            {"log.local.retention.ms": "6", "log.retention.ms": "5"},
            {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": ""},
            {"node.id": "2"},
        ],
    )
    def test_what_the_request_itself_shows_is_refused(self, configs: dict[str, str]) -> None:
        assert judged(sets(BROKER, "1", **configs), UNREPORTED).code is ErrorCode.INVALID_REQUEST

    @pytest.mark.parametrize("text", ["${env:THREADS}", "many"])
    def test_a_listeners_value_that_nobody_can_read_makes_no_refusal(self, text: str) -> None:
        static = STATIC | {"listener.name.plaintext.num.network.threads": text}
        context = Context(brokers={1: BrokerContext(static)}, controller_static=CONTROLLER)
        assert judged(sets(BROKER, "1", listener_name_plaintext_num_network_threads="99"), context).accepted

    def test_a_default_is_judged_by_itself_where_no_broker_is_registered(self) -> None:
        nobody = Context(brokers={}, controller_static=CONTROLLER)
        refused = judged(sets(BROKER, "", log_local_retention_ms="6", log_retention_ms="5"), nobody)
        assert (refused.code, refused.refused_by) == (ErrorCode.INVALID_REQUEST, ())
        assert judged(sets(BROKER, "", log_local_retention_ms="5", log_retention_ms="5"), nobody).accepted
        assert judged(sets(BROKER, "", num_io_threads="99"), nobody).accepted

    def test_directories_may_be_freed_but_not_cordoned(self) -> None:
        context = replace(UNREPORTED, dynamic={(BROKER, "1"): {"cordoned.log.dirs": "/a,/b"}})
        assert judged(sets(BROKER, "1", cordoned_log_dirs="/b"), context).accepted
        refused = judged(sets(BROKER, "1", cordoned_log_dirs="/b,/c"), context)
        assert (refused.code, refused.rule) == (ErrorCode.INVALID_CONFIG, RuleId.CONFIG_CORDONED_LOG_DIRS)


class TestInForce:
    """Thread pools count from the size in force."""

    def test_counts_from_the_stored_size(self) -> None:
        context = replace(ONE, dynamic={(BROKER, ""): {"num.io.threads": "16"}, (BROKER, "1"): {}})
        assert judged(sets(BROKER, "1", num_io_threads="32"), context).accepted
        assert not judged(sets(BROKER, "1", num_io_threads="7"), context).accepted

    def test_counts_from_the_size_that_the_broker_itself_reports(self) -> None:
        stored = {(BROKER, ""): {"num.io.threads": "99"}}
        context = replace(ONE, dynamic=stored, brokers={1: BrokerContext(STATIC, applied={})})
        assert not judged(sets(BROKER, "1", log_retention_ms="5"), context).accepted
        delete = ResourceChange(BROKER, "", (ConfigEntry("num.io.threads", Operation.DELETE, None),))
        assert judged(delete, context).accepted

    @pytest.mark.parametrize(
        ("default", "own", "accepted"),
        [
            ({"log.retention.ms": "0"}, {"num.io.threads": "16"}, False),
            ({"num.io.threads": "16"}, {"log.retention.ms": "0"}, False),
            ({"log.roll.ms": "0"}, {"log.retention.ms": "0"}, False),
        ],
    )
    def test_a_poisoned_store_refuses_every_change(
        self, default: dict[str, str], own: dict[str, str], accepted: bool
    ) -> None:
        context = replace(ONE, dynamic={(BROKER, ""): default, (BROKER, "1"): own})
        assert judged(sets(BROKER, "", max_connections="5"), context).accepted is accepted

    def test_an_empty_change_of_a_poisoned_broker_is_refused_too(self) -> None:
        context = replace(ONE, dynamic={(BROKER, ""): {"log.retention.ms": "0"}})
        assert judged(sets(BROKER, "1"), context).rule is RuleId.CONFIG_RETENTION

    def test_an_empty_change_of_a_poisoned_store_that_changes_nothing_is_judged_whole(self) -> None:
        context = replace(
            ONE,
            dynamic={(BROKER, "1"): {"max.connections": "5"}},
            brokers={1: BrokerContext(STATIC, applied={"max.connections": "5"})},
        )
        assert judged(sets(BROKER, "1"), context).accepted

    def test_deleting_the_poison_frees_the_broker(self) -> None:
        context = replace(ONE, dynamic={(BROKER, ""): {"log.retention.ms": "0"}})
        cure = ResourceChange(BROKER, "", (ConfigEntry("log.retention.ms", Operation.DELETE, None),))
        assert judged(cure, context).proposed == {}


class TestFeatures:
    @pytest.mark.parametrize(("level", "accepted"), [(29, False), (30, True)])
    def test_cordoning_needs_its_metadata_version(self, level: int, accepted: bool) -> None:
        context = replace(ONE, features=Features(metadata_version=level))
        assert judged(sets(BROKER, "1", cordoned_log_dirs="/data"), context).accepted is accepted

    def test_min_isr_is_pinned_under_elr(self) -> None:
        assert judged(sets(BROKER, "1", min_insync_replicas="2")).rule is RuleId.CONFIG_MIN_ISR_UNDER_ELR
        assert judged(sets(BROKER, "", min_insync_replicas="2")).accepted
        without = replace(ONE, features=Features(eligible_leader_replicas_version=0))
        assert judged(sets(BROKER, "1", min_insync_replicas="2"), without).accepted


class TestTopics:
    def test_is_judged_by_the_controllers_dynamic_configs_too(self) -> None:
        lag = {(BROKER, ""): {"log.cleaner.max.compaction.lag.ms": "5"}}
        context = replace(ONE, dynamic=lag)
        assert judged(sets(TOPIC, "t", min_compaction_lag_ms="6"), context).rule is RuleId.CONFIG_COMPACTION_LAG
        assert judged(sets(TOPIC, "t", min_compaction_lag_ms="6")).accepted

    def test_is_judged_by_the_controllers_own_dynamic_configs_too(self) -> None:
        context = replace(ONE, dynamic={(BROKER, "100"): {"log.cleaner.max.compaction.lag.ms": "5"}})
        assert not judged(sets(TOPIC, "t", min_compaction_lag_ms="6"), context).accepted

    def test_the_brokers_statics_do_not_count(self) -> None:
        brokers = {1: BrokerContext(STATIC | {"log.cleaner.max.compaction.lag.ms": "5"})}
        assert judged(sets(TOPIC, "t", min_compaction_lag_ms="6"), replace(ONE, brokers=brokers)).accepted

    def test_existence_is_asked_last(self) -> None:
        context = replace(ONE, topics=frozenset(("known",)))
        assert judged(sets(TOPIC, "known", retention_ms="1"), context).accepted
        assert judged(sets(TOPIC, "other", retention_ms="1"), context).code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert judged(sets(TOPIC, "other", retention_ms="x"), context).code is ErrorCode.INVALID_CONFIG

    def test_a_controller_with_variables_in_its_file_is_judged_as_far_as_it_is_known(self) -> None:
        static = CONTROLLER | {
            "log.cleaner.max.compaction.lag.ms": "${env:LAG}",
            "log.retention.ms": "${env:RETENTION}",
            "remote.log.storage.system.enable": "${env:TIERED}",
            "group.consumer.session.timeout.ms": "${env:SESSION}",
            "group.share.max.session.timeout.ms": "${env:SESSION}",
        }
        context = replace(ONE, controller_static=static)
        assert judged(sets(TOPIC, "t", min_compaction_lag_ms="6"), context).accepted
        assert judged(sets(TOPIC, "t", remote_storage_enable="true", local_retention_ms="5"), context).accepted
        assert judged(sets(GROUP, "g", consumer_heartbeat_interval_ms="5001"), context).accepted

    def test_a_controller_that_has_no_id_has_no_dynamic_configs_of_its_own(self) -> None:
        context = Context(brokers={}, controller_static={}, topics=None)
        assert judged(sets(TOPIC, "t", retention_ms="1"), context).accepted


class TestGroups:
    def test_a_session_is_longer_than_a_heartbeat_whatever_the_bounds(self) -> None:
        static = CONTROLLER | {"group.consumer.max.heartbeat.interval.ms": "50000"}
        context = replace(ONE, controller_static=static)
        verdict = judged(sets(GROUP, "g", consumer_heartbeat_interval_ms="45000"), context)
        assert verdict.message == "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
        assert judged(sets(GROUP, "g", consumer_heartbeat_interval_ms="44999"), context).accepted


class TestLoggers:
    @pytest.mark.parametrize(("logger", "accepted"), [("kafka", True), ("root", False), ("other", False)])
    def test_a_level_is_deleted_of_any_known_logger_but_the_root(self, logger: str, accepted: bool) -> None:
        context = replace(ONE, loggers=frozenset(("root", "kafka")))
        delete = ResourceChange(LOGGER, "1", (ConfigEntry(logger, Operation.DELETE, None),))
        assert judged(delete, context).accepted is accepted


class TestPlugins:
    def test_a_class_that_is_no_part_of_kafka_is_refused(self) -> None:
        assert judged(sets(BROKER, "", metric_reporters="com.example.Reporter")).rule is RuleId.CONFIG_CLASS

    @pytest.mark.parametrize("plugins", [None, frozenset(("com.example.Reporter", "com.example.Builder"))])
    def test_a_known_plugin_and_an_unknown_class_path_are_accepted(self, plugins: frozenset[str] | None) -> None:
        context = replace(ONE, plugins=plugins)
        assert judged(sets(BROKER, "", metric_reporters="com.example.Reporter"), context).accepted
        assert judged(sets(BROKER, "1", principal_builder_class="com.example.Builder"), context).accepted

    def test_config_providers_are_not_judged_and_resolve_nothing(self) -> None:
        providers = {"config.providers": "env", "config.providers.env.class": "x", "log.retention.ms": "5"}
        assert judged(sets(BROKER, "", **providers)).accepted


def test_may_be_asked_by_many_threads_at_once() -> None:
    changes = [sets(BROKER, "", num_io_threads=str(size)) for size in range(1, 70)]
    alone = [judge_changes([change], THREE) for change in changes]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda change: judge_changes([change], THREE), changes * 20))
    assert together == alone * 20


SECRET = "hunter2"


@pytest.mark.parametrize(
    "shown",
    [
        sets(BROKER, "1", ssl_key_password=SECRET),
        BrokerContext(static={"ssl.key.password": SECRET}, applied={"ssl.key.password": SECRET}),
        Context(
            brokers={1: BrokerContext({"ssl.key.password": SECRET})},
            controller_static={"ssl.key.password": SECRET},
            dynamic={(BROKER, "1"): {"listener.name.ssl.ssl.key.password": SECRET}},
        ),
        judge_changes([sets(BROKER, "1", listener_name_ssl_ssl_key_password=SECRET)], THREE)[0],
        make_layer({"listener.name.ssl.ssl.key.password": SECRET, "ssl.key.password": SECRET}),
        parse_properties(f"ssl.key.password={SECRET}")[0],
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_values_stay_out_of_texts(shown: object) -> None:
    assert SECRET not in repr(shown)
    assert SECRET not in f"{shown}"


_ENTRIES = st.tuples(
    st.sampled_from(
        ["num.io.threads", "log.retention.ms", "retention.ms", "node.id", "a", "cleanup.policy", "listeners"]
    ),
    st.integers(-2, 6),
    st.none() | st.text(max_size=12) | st.integers(-5, 40).map(str),
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1, 0, 1, 2, 4, 8, 16, 32]),
            st.sampled_from(["", "1", "2", "t", "a b"]),
            st.lists(_ENTRIES, max_size=3),
            st.booleans(),
        ),
        max_size=4,
    ),
    st.sampled_from([ONE, THREE, UNREPORTED]),
)
def test_never_raises_and_answers_each_resource_in_order(
    resources: list[tuple[int, str, list[tuple[str, int, str | None]], bool]], context: Context
) -> None:
    changes = [
        ResourceChange(kind, name, tuple(ConfigEntry(*entry) for entry in entries), legacy=legacy)
        for kind, name, entries, legacy in resources
    ]
    verdicts = judge_changes(changes, context)
    assert [(verdict.type, verdict.name) for verdict in verdicts] == [(change.type, change.name) for change in changes]
    for verdict in verdicts:
        assert verdict.accepted == (verdict.rule is None) == (verdict.message is None) == (verdict.proposed is not None)


PLAIN_TOPICS = replace(ONE, topics={"orders"}, dynamic={(TOPIC, "payments"): {"retention.ms": "1"}})


@given(
    st.sampled_from(["orders", "payments", "missing", "a/b", ""]),
    st.sampled_from([TOPIC, GROUP]),
    st.sampled_from(["retention.ms", "cleanup.policy", "min.compaction.lag.ms", "remote.storage.enable", "unknown"]),
    st.sampled_from(["1", "-5", "x", "delete", "true", None]) | st.text(max_size=3),
    st.sampled_from([*Operation, 9]),
    st.booleans(),
)
def test_the_fast_way_for_one_config_of_a_topic_says_what_the_long_way_says(
    name: str, resource_type: ResourceType, key: str, value: str | None, operation: int, legacy: bool
) -> None:
    change = ResourceChange(resource_type, name, (ConfigEntry(key, operation, value),), legacy)
    other = ResourceChange(TOPIC, "another", ())
    fast, _ = judge_changes([change, other], PLAIN_TOPICS)
    # A repeated neighbour sends the whole request the long way.
    long, *_ = judge_changes([change, other, other], PLAIN_TOPICS)
    assert fast == long


def test_defaults_beyond_their_bounds_refuse_every_change_of_a_group() -> None:
    context = replace(ONE, controller_static=CONTROLLER | {"group.consumer.max.heartbeat.interval.ms": "1000"})
    verdict = judged(sets(GROUP, "readers", share_session_timeout_ms="50000"), context)
    maximum = "group.consumer.max.heartbeat.interval.ms"
    assert verdict.message == f"consumer.heartbeat.interval.ms must be less than or equal to {maximum}"
