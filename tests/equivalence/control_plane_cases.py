"""What both are asked about topics, configs, quotas, ACLs, credentials, features and the cluster, at either door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from doorkeeper.wire.registry import Door

Values = dict[str, Any]

SECONDS: Final = timedelta(seconds=5)
BOTH: Final = (Door.BROKER, Door.CONTROLLER)
BROKER: Final = (Door.BROKER,)
CONTROLLER: Final = (Door.CONTROLLER,)
NOBODY: Final = UUID(int=9)
LONG: Final = "x" * 250
ODD: Final = 'a b/c:d*é"\n😀'


class Case(NamedTuple):
    """One question; `values` may depend on where and at which version it is asked."""

    api_key: int
    doors: Sequence[Door]
    values: Values | Callable[[str], Values]
    since: int = 0
    """The first version that can ask it."""
    differs: tuple[str, ...] = ()
    """Fields that may differ, wherever they stand; EVERYTHING for the whole answer."""
    because: str = ""

    def asked(self, door: Door, version: int) -> Values:
        return self.values(f"{door}-v{version}") if callable(self.values) else self.values


EVERYTHING: Final = "*"
CRASHES: Final = "Kafka has a fault of its own here: UNKNOWN_SERVER_ERROR, or a closed connection"
CUT: Final = "a name that is too long is shown cut"
HOLE: Final = "what Kafka's controller lets through or words otherwise is what KAFKA-19931 is about"
OURS: Final = (
    "versions and levels that the proposals add, and APIs that only one of both serves (docs/reference/protocol.md)"
)
NULL: Final = "an empty array where Kafka sends null beside an error: the safer one for clients"
TOPICS: Final = "everything that there is was asked for, and the two do not have all the same at that moment"
NAMED: Final = "says which resource type it was, where Kafka has a general sentence"
STRICT: Final = "an operation that nobody knows is refused, where Kafka finds nothing"


def created(name: str, **values: Any) -> Values:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, **values}
    return {"topics": [topic], "timeout": SECONDS}


def config(kind: int, name: str, key: str, value: str | None, operation: int = 0) -> Values:
    entry = {"name": key, "config_operation": operation, "value": value}
    return {"resources": [{"resource_type": kind, "resource_name": name, "configs": [entry]}]}


def described(kind: int, name: str, keys: list[str] | None = None, **values: Any) -> Values:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    return {"resources": [resource], "include_synonyms": True, **values}


def quota(entity: dict[str, str | None], key: str, value: float, *, remove: bool = False) -> Values:
    named = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    return {"entries": [{"entity": named, "ops": [{"key": key, "value": value, "remove": remove}]}]}


def acl(name: str, **values: Any) -> Values:
    rule = {"resource_type": 2, "resource_name": name, "resource_pattern_type": 3, "principal": "User:a", "host": "*"}
    return {"creations": [{**rule, "operation": 3, "permission_type": 3, **values}]}


def acl_filter(**values: Any) -> Values:
    anything = {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "operation": 1}
    return {"principal_filter": None, "host_filter": None, "permission_type": 1, **anything, **values}


def registration(**values: Any) -> Values:
    listener = {"name": "PLAINTEXT", "host": "localhost", "port": 9092, "security_protocol": 0}
    usual = {"broker_id": 1, "incarnation_id": UUID(int=5), "listeners": [listener], "features": [], "rack": None}
    return {**usual, "cluster_id": "another-cluster", "log_dirs": [UUID(int=7)], "previous_broker_epoch": -1, **values}


def new_producer(transactional_id: str | None, **values: Any) -> Values:
    usual = {"transactional_id": transactional_id, "transaction_timeout": SECONDS}
    return {**usual, "producer_id": -1, "producer_epoch": -1, **values}


CASES: Final[tuple[Case, ...]] = (
    # Metadata
    Case(3, BROKER, {"topics": [{"name": "three"}]}),
    Case(3, BROKER, {"topics": [{"name": "missing"}], "allow_auto_topic_creation": False}, since=4),
    Case(3, BROKER, {"topics": [{"name": "a/b"}], "allow_auto_topic_creation": True}),
    Case(3, BROKER, {"topics": [{"topic_id": NOBODY, "name": None}]}, since=10),
    Case(3, BROKER, {"topics": []}, since=1),
    Case(3, BROKER, {"topics": None}, since=1, differs=("topics",), because=TOPICS),
    # nothing asked for: null and empty arrays are where clients and servers part first
    *(Case(key, BOTH, {"topics": [], "topic_names": [], "timeout": SECONDS}) for key in (19, 20, 37, 45, 46)),
    *(Case(key, BOTH, {"resources": []}) for key in (32, 33, 44)),
    Case(30, BOTH, {"creations": []}),
    Case(31, BOTH, {"filters": []}),
    Case(49, BOTH, {"entries": []}),
    Case(50, BROKER, {"users": []}),
    Case(51, BOTH, {"deletions": [], "upsertions": []}),
    Case(57, BOTH, {"feature_updates": [], "timeout": SECONDS}),
    Case(74, BROKER, {"resource_types": []}, since=1, differs=("config_resources",), because=TOPICS),
    Case(75, BROKER, {"topics": [], "response_partition_limit": 1}, differs=("topics", "next_cursor"), because=TOPICS),
    # ApiVersions, Sasl
    Case(18, BOTH, {"client_software_name": "test", "client_software_version": "1"},
         differs=("api_keys", "supported_features", "finalized_features"), because=OURS),
    Case(18, BOTH, {"client_software_name": " ", "client_software_version": "1"}, since=3),
    Case(17, BOTH, {"mechanism": "PLAIN"}),
    Case(36, BOTH, {"auth_bytes": b"\0a\0b"}),
    # topics
    Case(19, BOTH, lambda where: created(f"made-{where}")),
    Case(19, BOTH, lambda where: {**created(f"dry-{where}", num_partitions=-1, replication_factor=-1),
                                  "validate_only": True}),
    Case(19, BOTH, lambda where: created(f"conf-{where}", configs=[{"name": "retention.ms", "value": "5"}])),
    Case(19, BOTH, created("three")),
    Case(19, BOTH, created("a/b")),
    Case(19, BOTH, created(LONG), differs=("error_message",), because=CUT),
    Case(19, BOTH, created("zero", num_partitions=0)),
    Case(19, BOTH, created("bad", configs=[{"name": "retention.ms", "value": "x"}])),
    Case(19, BOTH, created("bad", configs=[{"name": "no.such.key", "value": "x"}])),
    Case(19, BOTH, created("bad", configs=[{"name": "retention.ms", "value": None}])),
    Case(19, BOTH, {"topics": [*created("twice")["topics"], *created("twice")["topics"]], "timeout": SECONDS}),
    Case(19, BOTH, created("bad", assignments=[{"partition_index": 0, "broker_ids": [9]}],
                           num_partitions=-1, replication_factor=-1)),
    Case(19, BOTH, created("bad", assignments=[{"partition_index": 1, "broker_ids": [1]}],
                           num_partitions=-1, replication_factor=-1)),
    Case(20, BOTH, lambda where: {"topics": [{"name": f"doomed-{where}"}], "topic_names": [f"doomed-{where}"],
                                  "timeout": SECONDS}),
    Case(20, BOTH, {"topics": [{"name": "missing"}], "topic_names": ["missing"], "timeout": SECONDS}),
    Case(20, BOTH, {"topics": [{"name": None, "topic_id": NOBODY}], "topic_names": [], "timeout": SECONDS}),
    Case(37, BOTH, lambda where: {"topics": [{"name": f"grown-{where}", "count": 3, "assignments": None}],
                                  "timeout": SECONDS}),
    Case(37, BOTH, {"topics": [{"name": "three", "count": 1, "assignments": None}], "timeout": SECONDS}),
    Case(37, BOTH, {"topics": [{"name": "missing", "count": 4, "assignments": None}], "timeout": SECONDS}),
    Case(37, BOTH, {"topics": [{"name": "three", "count": 2, "assignments": []}], "timeout": SECONDS}),
    Case(37, BOTH, {"topics": [{"name": "three", "count": 0, "assignments": None}], "timeout": SECONDS}),
    Case(75, BROKER, {"topics": [{"name": "three"}, {"name": "missing"}, {"name": "a/b"}],
                      "response_partition_limit": 10}),
    Case(75, BROKER, {"topics": [{"name": "three"}], "cursor": {"topic_name": "three", "partition_index": 5},
                      "response_partition_limit": 10}),
    Case(75, BROKER, {"topics": [{"name": "three"}], "response_partition_limit": 0}),
    Case(43, BOTH, {"topic_partitions": [{"topic": "three", "partitions": [0, 7]},
                                         {"topic": "no", "partitions": [0]}]}),
    Case(43, BOTH, {"topic_partitions": [{"topic": "three", "partitions": [0]}], "election_type": 1}),
    Case(43, BOTH, {"topic_partitions": [], "election_type": 5}),
    Case(43, BOTH, {"topic_partitions": [{"topic": "three", "partitions": [0]}], "election_type": 5}),
    Case(43, BOTH, {"topic_partitions": None}, differs=("replica_election_results",),
         because=TOPICS),
    Case(45, BOTH, {"topics": [{"name": "three", "partitions": [{"partition_index": 0, "replicas": [1]}]}]}),
    Case(45, BOTH, {"topics": [{"name": "three", "partitions": [{"partition_index": 0, "replicas": None}]}]}),
    Case(45, BOTH, {"topics": [{"name": "three", "partitions": [{"partition_index": 0, "replicas": []}]}]}),
    Case(45, BOTH, {"topics": [{"name": "three", "partitions": [{"partition_index": 0, "replicas": [9]}]}]}),
    Case(45, BOTH, {"topics": [{"name": "three", "partitions": [{"partition_index": 7, "replicas": [1]}]}]}),
    Case(45, BOTH, {"topics": [{"name": "no", "partitions": [{"partition_index": 0, "replicas": [1]}]}]}),
    Case(46, BOTH, {"topics": None}),
    Case(46, BOTH, {"topics": [{"name": "three", "partition_indexes": [0]}]}),
    # configs
    Case(32, BOTH, described(2, "three")),
    Case(32, BOTH, described(2, "three", ["retention.ms", "no.such.key"])),
    Case(32, BOTH, described(2, "missing")),
    Case(32, BOTH, described(2, "a/b")),
    Case(32, BOTH, described(4, "x")),
    Case(32, BOTH, described(4, "1", ["log.retention.ms", "num.io.threads"])),
    Case(32, BOTH, described(4, "", ["log.retention.ms"])),
    Case(32, BOTH, described(16, "no-such-subscription")),
    Case(32, BOTH, described(32, "no-such-group")),
    Case(32, BOTH, described(77, "x"), differs=("error_message",), because=NAMED),
    Case(33, BOTH, config(2, "tuned", "max.message.bytes", "7777")),
    Case(33, BOTH, config(2, "missing", "max.message.bytes", "7777")),
    Case(33, BOTH, config(2, "tuned", "max.message.bytes", "x")),
    Case(33, BOTH, config(32, "", "consumer.session.timeout.ms", "50000")),
    Case(44, BOTH, config(2, "tuned", "max.message.bytes", "7777")),
    Case(44, BROKER, config(2, "tuned", "max.message.bytes", None)),
    Case(44, CONTROLLER, config(2, "tuned", "max.message.bytes", None), differs=(EVERYTHING,), because=HOLE),
    Case(44, BOTH, config(2, "tuned", "retention.ms", "-7")),
    Case(44, BOTH, config(2, "tuned", "cleanup.policy", "delete", operation=2)),
    Case(44, BOTH, config(2, "tuned", "retention.ms", "5", operation=2)),
    Case(44, BOTH, config(32, "g", "consumer.session.timeout.ms", "50000")),
    Case(44, BOTH, config(32, "g", "consumer.session.timeout.ms", "1")),
    Case(44, BOTH, config(16, "m", "interval.ms", "5000")),
    Case(44, BOTH, config(16, "m", "interval.ms", "5")),
    Case(44, BROKER, config(77, "m", "interval.ms", "5")),
    Case(44, CONTROLLER, config(77, "m", "interval.ms", "5"), differs=(EVERYTHING,), because=HOLE),
    Case(74, BROKER, {"resource_types": [16]}),
    Case(74, BROKER, {"resource_types": [2, 4]}),
    Case(74, BROKER, {"resource_types": [77]}),
    # quotas
    Case(48, BROKER, {"components": [{"entity_type": "client-id", "match_type": 2, "match": None}]}),
    Case(48, BROKER, {"components": [], "strict": True}),
    *(Case(48, BROKER, {"components": [{"entity_type": kind, "match_type": way, "match": name}]},
           differs=("entries",), because=NULL)
      for kind, way, name in (("nonsense", 0, "a"), ("user", 9, "a"), ("user", 0, None))),
    Case(49, BOTH, quota({"client-id": ODD}, "producer_byte_rate", 1024)),
    # Large enough to throttle nobody: it is in force from then on.
    Case(49, BOTH, quota({"user": None, "client-id": None}, "request_percentage", 1_000_000.5)),
    Case(49, BOTH, quota({"user": "u"}, "producer_byte_rate", 0.5)),
    Case(49, BOTH, quota({"user": "u"}, "nonsense", 1)),
    Case(49, BOTH, quota({"ip": "no address"}, "connection_creation_rate", 1)),
    Case(49, BOTH, quota({"nonsense": "u"}, "producer_byte_rate", 1)),
    Case(49, BOTH, quota({}, "producer_byte_rate", 1)),
    # ACLs
    Case(30, BOTH, acl("t")),
    Case(30, BOTH, acl("t", permission_type=1), differs=(EVERYTHING,), because=CRASHES),
    Case(30, BOTH, acl("t", operation=77)),
    Case(30, BOTH, acl("")),
    Case(30, BOTH, acl("t", principal="nobody")),
    Case(29, BOTH, acl_filter(resource_name_filter="t", pattern_type_filter=3)),
    Case(29, BOTH, acl_filter(resource_name_filter="nothing", pattern_type_filter=3)),
    Case(29, BOTH, acl_filter(operation=77), differs=(EVERYTHING,), because=STRICT),
    Case(31, BOTH, {"filters": [acl_filter(resource_name_filter="nothing")]}),
    Case(31, BOTH, {"filters": [acl_filter(operation=0)]}, differs=(EVERYTHING,), because=CRASHES),
    # credentials and tokens
    Case(50, BROKER, {"users": [{"name": "nobody"}]}),
    Case(50, BROKER, {"users": [{"name": "nobody"}, {"name": "nobody"}]}),
    Case(50, BROKER, {"users": None}),
    Case(50, CONTROLLER, {"users": [{"name": "nobody"}]}, differs=(EVERYTHING,), because=CRASHES),
    Case(51, BOTH, {"deletions": [{"name": "nobody", "mechanism": 1}]}),
    Case(51, BOTH, {"upsertions": [{"name": "a", "mechanism": 7, "iterations": 8192, "salt": b"s",
                                    "salted_password": b"p"}]}),
    Case(51, BOTH, {"upsertions": [{"name": "a", "mechanism": 1, "iterations": 1, "salt": b"s",
                                    "salted_password": b"p"}]}),
    Case(51, BOTH, {"upsertions": [{"name": "", "mechanism": 1, "iterations": 8192, "salt": b"s",
                                    "salted_password": b"p"}]}),
    Case(38, BOTH, {"renewers": [], "max_lifetime": SECONDS}),
    Case(39, BOTH, {"hmac": b"x", "renew_period": SECONDS}),
    Case(40, BOTH, {"hmac": b"x", "expiry_time_period": SECONDS}),
    Case(41, BROKER, {"owners": None}),
    Case(41, CONTROLLER, {"owners": None}, differs=(EVERYTHING,), because=CRASHES),
    # log directories
    *(Case(34, BROKER, {"dirs": [{"path": "/nowhere", "topics": [{"name": name, "partitions": [0]}]}]})
      for name in ("three", "missing", "x" * 220)),
    Case(34, BROKER, {"dirs": []}),
    # the cluster
    Case(55, BOTH, {"topics": [{"topic_name": "other", "partitions": [{"partition_index": 0}]}]}),
    Case(57, BOTH, {"feature_updates": [{"feature": "nonsense", "max_version_level": 1, "upgrade_type": 1}],
                    "timeout": SECONDS}),
    Case(57, BOTH, {"feature_updates": [{"feature": "group.version", "max_version_level": 1, "upgrade_type": 1}],
                    "timeout": SECONDS}),
    Case(57, BOTH, {"feature_updates": [{"feature": "group.version", "max_version_level": 9, "upgrade_type": 1}],
                    "timeout": SECONDS}),
    Case(60, BOTH, {"include_cluster_authorized_operations": True, "endpoint_type": 1}),
    Case(60, BOTH, {"endpoint_type": 2}),
    Case(60, BOTH, {"endpoint_type": 7}),
    Case(64, BOTH, {"broker_id": 99}),
    # between brokers and controller
    Case(1, CONTROLLER, {"cluster_id": "another-cluster", "replica_id": -1, "max_bytes": 100, "topics": []}),
    Case(58, CONTROLLER, {"request_data": b"", "request_principal": b"", "client_host_address": b"123"}),
    Case(59, CONTROLLER, {"cluster_id": "another-cluster", "topics": []}),
    Case(59, CONTROLLER, {"topics": [{"name": "other", "partitions": [{"partition": 0}]}], "max_bytes": 100},
         differs=(EVERYTHING,), because=CRASHES),
    Case(62, CONTROLLER, registration()),
    Case(63, CONTROLLER, {"broker_id": 99, "broker_epoch": 5}),
    Case(63, CONTROLLER, {"broker_id": 1, "broker_epoch": 5_000_000}),
    Case(67, CONTROLLER, {"broker_id": 99, "broker_epoch": 5}),
    Case(67, CONTROLLER, {"broker_id": 1, "broker_epoch": 5_000_000}),
    # producers
    Case(22, BROKER, new_producer(None)),
    Case(22, BROKER, new_producer("")),
    Case(22, BROKER, new_producer(None, producer_id=5)),
)  # fmt: skip
