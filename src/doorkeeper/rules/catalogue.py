"""Every rule: what it says, where it comes from, since when. The reference page is made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.names import LIMITS
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """One rule of the book."""

    rule: RuleId
    text: str
    """What the rule asks, in one sentence."""
    codes: tuple[ErrorCode, ...]
    """The answer to a client that knows every code; where it depends on the resource, all of them."""
    codes_old: tuple[ErrorCode, ...]
    """The answer at RPC versions older than the new error code."""
    governed: bool
    """Whether `resource.identifier.limit.enable` turns it on."""
    source: str
    """The proposal or the class of Apache Kafka that it is taken from."""
    since: str
    """The first Kafka release line that enforces it by default, on the broker's path."""


_ALWAYS: Final = "before 4.0"
_REQUEST: Final = (ErrorCode.INVALID_REQUEST,)
_CONFIG: Final = (ErrorCode.INVALID_CONFIG,)
_EITHER: Final = (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG)
"""INVALID_REQUEST for a broker's configs, INVALID_CONFIG for those of topics and groups."""
_TOPIC_SOURCE: Final = "Topic"
_NOT_KIP_1233: Final = {
    RuleId.TOPIC_NAME_TOO_LONG: _TOPIC_SOURCE,
    RuleId.OFFSET_METADATA_TOO_LONG: "OffsetMetadataManager",
}


def _kafkas(rule: RuleId, text: str, codes: tuple[ErrorCode, ...], source: str) -> RuleInfo:
    return RuleInfo(rule, text, codes, codes, governed=False, source=source, since=_ALWAYS)


def _topic_rule(rule: RuleId, text: str) -> RuleInfo:
    return _kafkas(rule, text, (ErrorCode.INVALID_TOPIC_EXCEPTION,), _TOPIC_SOURCE)


def _length_rules() -> list[RuleInfo]:
    return [
        RuleInfo(
            rule=row.rule,
            text=f"{row.label} has at most {row.limit} {row.unit}.",
            codes=(row.code,),
            codes_old=(row.code_old,),
            governed=row.governed,
            source=_NOT_KIP_1233.get(row.rule, "KIP-1233"),
            since="5.0" if row.governed else _ALWAYS,
        )
        for row in LIMITS.values()
    ]


def _request_rules() -> list[RuleInfo]:
    """What is wrong with a config change before its values are looked at."""
    proposal = "KAFKA-19931, ConfigAdminManager"
    missing = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)
    names = "ConfigAdminManager, ControllerConfigurationValidator"
    return [
        _kafkas(
            RuleId.CONFIG_RESOURCE_REPEATED, "A resource stands in a request once.", _REQUEST, "ConfigAdminManager"
        ),
        _kafkas(RuleId.CONFIG_KEY_REPEATED, "A key stands in a resource's change once.", _REQUEST, proposal),
        _kafkas(RuleId.CONFIG_VALUE_NULL, "A value is null only where the key is deleted.", _REQUEST, proposal),
        _kafkas(RuleId.CONFIG_RESOURCE_TYPE_UNKNOWN, "The type of the resource is known.", _REQUEST, proposal),
        _kafkas(RuleId.CONFIG_OPERATION_UNKNOWN, "The operation is known.", _REQUEST, "ConfigAdminManager"),
        _kafkas(RuleId.CONFIG_RESOURCE_NAME, "The name fits the type of the resource.", _REQUEST, names),
        _kafkas(
            RuleId.CONFIG_OTHER_NODE,
            "A broker's door takes changes for its own id only.",
            _REQUEST,
            "ConfigAdminManager",
        ),
        _kafkas(RuleId.CONFIG_BROKER_NOT_REGISTERED, "The broker of that id is registered.", _REQUEST, "KAFKA-19931"),
        _kafkas(RuleId.CONFIG_TOPIC_MISSING, "The topic exists.", missing, "ConfigurationControlManager"),
    ]


def _key_rules() -> list[RuleInfo]:
    """What a key may be."""
    broker = "DynamicBrokerConfig"
    return [
        _kafkas(
            RuleId.CONFIG_KEY_UNKNOWN,
            "The key is known, unless it is a broker's, which a plugin may read.",
            _EITHER,
            "LogConfig, GroupConfig, ClientMetricsConfigs",
        ),
        _kafkas(
            RuleId.CONFIG_KEY_READ_ONLY, "A broker's read-only key is not changed while it runs.", _REQUEST, broker
        ),
        _kafkas(RuleId.CONFIG_KEY_NEEDS_LISTENER, "A security key is changed per listener only.", _REQUEST, broker),
        _kafkas(RuleId.CONFIG_KEY_PER_BROKER, "A per-broker key is not set for the whole cluster.", _REQUEST, broker),
        _kafkas(
            RuleId.CONFIG_KEY_NOT_A_LIST,
            "Only a list is appended to or subtracted from.",
            _CONFIG,
            "ConfigAdminManager",
        ),
    ]


def _value_rules() -> list[RuleInfo]:
    """What the resulting configs may be."""
    return [
        _kafkas(
            RuleId.CONFIG_VALUE_INVALID, "The value has the key's type and lies in its range.", _EITHER, "ConfigDef"
        ),
        _kafkas(
            RuleId.CONFIG_VALUE_TOO_LONG,
            "The value fits into a record of the metadata log.",
            _CONFIG,
            "ConfigurationControlManager",
        ),
        _kafkas(
            RuleId.CONFIG_CLASS,
            "A class that is named exists and is of the right kind.",
            _REQUEST,
            "KafkaConfig, DynamicMetricsReporters",
        ),
        _kafkas(
            RuleId.CONFIG_THREAD_POOL,
            "A thread pool is at most halved or doubled in one step.",
            _REQUEST,
            "DynamicThreadPool, DynamicRemoteLogConfig",
        ),
        _kafkas(
            RuleId.CONFIG_CLEANER_THREADS,
            "The log cleaner's threads are at most halved or doubled.",
            _REQUEST,
            "LogCleaner",
        ),
        _kafkas(
            RuleId.CONFIG_CLEANER_BUFFER, "The log cleaner's buffer suffices for its threads.", _REQUEST, "KafkaConfig"
        ),
        _kafkas(
            RuleId.CONFIG_LOG_ROLL, "Logs roll after some time, and jitter is not negative.", _REQUEST, "KafkaConfig"
        ),
        _kafkas(RuleId.CONFIG_RETENTION, "Logs are kept for ever (-1) or for some time.", _REQUEST, "KafkaConfig"),
        _kafkas(
            RuleId.CONFIG_LOCAL_RETENTION,
            "Local retention is not above retention.",
            _EITHER,
            "DynamicLogConfig, LogConfig",
        ),
        _kafkas(
            RuleId.CONFIG_COMPACTION_LAG, "The least compaction lag is not above the greatest.", _CONFIG, "LogConfig"
        ),
        _kafkas(
            RuleId.CONFIG_REMOTE_STORAGE,
            "Remote storage is used as the cluster and the topic allow.",
            _CONFIG,
            "LogConfig",
        ),
        _kafkas(
            RuleId.CONFIG_CORDONED_LOG_DIRS,
            "Cordoned log directories are log directories, and supported.",
            _EITHER,
            "DynamicLogConfig, ConfigurationControlManager",
        ),
        _kafkas(
            RuleId.CONFIG_LISTENERS,
            "Listeners, their map and what is advertised agree.",
            _REQUEST,
            "KafkaConfig, DynamicListenerConfig",
        ),
        _kafkas(RuleId.CONFIG_SASL_MECHANISMS, "The brokers' own SASL mechanism is enabled.", _REQUEST, "KafkaConfig"),
        _kafkas(
            RuleId.CONFIG_CONNECTION_LIMITS,
            "Connection limits can be met and name valid addresses.",
            _REQUEST,
            "KafkaConfig, SocketServer",
        ),
        _kafkas(
            RuleId.CONFIG_GROUP_BOUNDS,
            "A group's value lies between its least and its greatest.",
            _EITHER,
            "GroupCoordinatorConfig, ShareGroupConfig, GroupConfig",
        ),
        _kafkas(
            RuleId.CONFIG_MIN_ISR_UNDER_ELR,
            "min.insync.replicas stays as eligible leader replicas need it.",
            _CONFIG,
            "ConfigurationControlManager",
        ),
        _kafkas(
            RuleId.CONFIG_CLIENT_MATCH,
            "A client metrics match is a known selector and a pattern.",
            _CONFIG,
            "ClientMetricsConfigs",
        ),
        _kafkas(RuleId.CONFIG_LOGGER_UNKNOWN, "The logger exists.", _CONFIG, "RuntimeLoggerManager"),
        _kafkas(RuleId.CONFIG_LOGGER_LEVEL, "The level of a logger is a level.", _CONFIG, "RuntimeLoggerManager"),
        _kafkas(
            RuleId.CONFIG_LOGGER_OPERATION,
            "A logger's level is set or deleted; the root's is not deleted.",
            _REQUEST,
            "RuntimeLoggerManager",
        ),
        _kafkas(
            RuleId.CONFIG_SERVER_PROPERTIES,
            "A server.properties file is one that a node starts with.",
            _REQUEST,
            "KafkaConfig",
        ),
    ]


def _notice(rule: RuleId, text: str, source: str) -> RuleInfo:
    return RuleInfo(rule, text, (), (), governed=False, source=source, since="never refused")


def _notices() -> list[RuleInfo]:
    """What nobody is refused for, but an audit tells: something will change, or is not what it seems."""
    return [
        _notice(RuleId.IDENTIFIER_NOT_UTF8, "An identifier is UTF-8.", "RequestHeader, the request log"),
        _notice(
            RuleId.CLIENT_ID_NOT_PLAIN,
            "A client id that is not plain has another name in metrics and quota paths: it is URL-encoded.",
            "KIP-190",
        ),
        _notice(
            RuleId.CLIENT_ID_LOOKS_ALIKE,
            "Client ids stay apart where an exporter makes '_' of special characters.",
            "KIP-190",
        ),
        _notice(
            RuleId.QUOTA_ENTITY_ENCODED_TWICE, "A quota's entity is given as it is, not URL-encoded already.", "KIP-190"
        ),
        _notice(RuleId.API_VERSION_REMOVED, "A request has a version that Kafka 4 still serves.", "KIP-896"),
    ]


CATALOGUE: Final[Mapping[RuleId, RuleInfo]] = {
    info.rule: info
    for info in (
        _topic_rule(RuleId.TOPIC_NAME_EMPTY, "Topic name is not empty."),
        _topic_rule(RuleId.TOPIC_NAME_DOT, "Topic name is neither '.' nor '..'."),
        _topic_rule(
            RuleId.TOPIC_NAME_ILLEGAL_CHARACTER, "Topic name has only ASCII letters, digits, '.', '_' and '-'."
        ),
        *_length_rules(),
        *_request_rules(),
        *_key_rules(),
        *_value_rules(),
        *_notices(),
    )
}
