"""The judgement of config changes (KAFKA-19931): one function for both paths, one verdict per resource.

The order per resource is that of Kafka 4.3.1's broker path: what `ConfigAdminManager.preprocess` refuses first, then
what the controller refuses of the rest (`ConfigurationControlManager`). A verdict belongs to its resource; resources of
one request don't see one another.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.broker_config import (
    InForce,
    apply_entries,
    in_force,
    judge_values,
    refusal_of_change,
    stored_in_force,
)
from doorkeeper.rules.class_names import class_test
from doorkeeper.rules.client_metrics_config import refusal_of_client_metrics
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_context import BrokerContext, BrokerDoor, Context, ControllerDoor, Features
from doorkeeper.rules.config_request import (
    ConfigEntry,
    Operation,
    Refusal,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
)
from doorkeeper.rules.controller_config import (
    MAX_VALUE_LENGTH,
    refusal_of_storing,
    refusal_of_unseen_log_dirs,
    stored_after,
)
from doorkeeper.rules.group_config import refusal_of_group
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.logger_config import refusal_of_loggers
from doorkeeper.rules.reported_config import is_reported, reported_static_keys, select_reported
from doorkeeper.rules.server_properties import PropertyViolation, check_properties
from doorkeeper.rules.static_config import EMPTY_LAYER, View, differing, make_layer
from doorkeeper.rules.topic_config import is_lawful_alone, refusal_of_topic, refusal_of_topic_name
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.rules.static_config import Layer

__all__ = [
    "BrokerContext",
    "BrokerDoor",
    "ConfigEntry",
    "Context",
    "ControllerDoor",
    "Features",
    "Operation",
    "PropertyViolation",
    "ResourceChange",
    "ResourceType",
    "ResourceVerdict",
    "check_properties",
    "is_reported",
    "judge_changes",
    "reported_static_keys",
    "select_reported",
]

_OPERATIONS: Final = frozenset(map(int, Operation))
_BROKER, _BROKER_LOGGER, _GROUP, _CLIENT_METRICS = (
    int(one)
    for one in (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.GROUP, ResourceType.CLIENT_METRICS)
)
_TOPIC: Final = int(ResourceType.TOPIC)
_SET, _DELETE = int(Operation.SET), int(Operation.DELETE)
_NONE: Final = ErrorCode.NONE
_STORED_TYPES: Final = frozenset((_TOPIC, _GROUP, _CLIENT_METRICS))


def judge_changes(changes: Sequence[ResourceChange], context: Context) -> list[ResourceVerdict]:
    """Judge every resource of a request; the verdicts come in the order of the request."""
    if len({change[:2] for change in changes}) < len(changes):
        times = Counter([(change.type, change.name) for change in changes])
        return [_judge(change, context, repeated=times[change.type, change.name] > 1) for change in changes]
    topics, stored = context.topics or (), context.dynamic
    return [
        (_plain(change, context) if change.name in topics and change[:2] not in stored else None)
        or _judge(change, context, repeated=False)
        for change in changes
    ]


def _plain(change: ResourceChange, context: Context) -> ResourceVerdict | None:
    """The verdict on one lawful config of a topic that exists and has none yet; nothing for any other change.

    A request may bring ten thousand of these. `_judge` says the same of them, as a test proves.
    """
    resource_type, name, entries, legacy = change
    if resource_type != _TOPIC or legacy or len(entries) != 1:
        return None
    key, operation, value = entries[0]
    if operation != _SET or value is None or len(value) > MAX_VALUE_LENGTH // 2:
        return None
    if not is_lawful_alone(key, value, context.topic_defaults):
        return None
    return ResourceVerdict(resource_type, name, _NONE, None, None, (), {key: value})


def _judge(change: ResourceChange, context: Context, *, repeated: bool) -> ResourceVerdict:
    refusal = _refusal_of_shape(change, repeated=repeated)
    if refusal is not None:
        return _refused(change, refusal)
    if change.type in _STORED_TYPES:
        return _judge_stored(change, context)
    if change.type == _BROKER:
        return _judge_broker(change, context)
    if change.type == _BROKER_LOGGER and not change.legacy:
        refusal = refusal_of_loggers(change.name, change.entries, context.door.id, context.loggers)
        return _refused(change, refusal) if refusal else _accepted(change, {})
    text = f"Unknown resource type {change.type}"
    return _refused(change, _request(RuleId.CONFIG_RESOURCE_TYPE_UNKNOWN, text))


def _request(rule: RuleId, message: str) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_REQUEST, message)


def _refused(change: ResourceChange, refusal: Refusal, refused_by: Sequence[int] = ()) -> ResourceVerdict:
    return ResourceVerdict(
        change.type, change.name, refusal.code, refusal.message, refusal.rule, refused_by=tuple(refused_by)
    )


def _accepted(change: ResourceChange, proposed: Mapping[str, str]) -> ResourceVerdict:
    return ResourceVerdict(change.type, change.name, _NONE, None, None, (), proposed)


def _refusal_of_shape(change: ResourceChange, *, repeated: bool) -> Refusal | None:
    """What is wrong whatever the resource is: the same one twice, a key twice, a null that is no deletion."""
    if repeated:
        return _request(RuleId.CONFIG_RESOURCE_REPEATED, "Each resource must appear at most once.")
    if len(change.entries) > 1 and len({entry.name for entry in change.entries}) != len(change.entries):
        return _request(RuleId.CONFIG_KEY_REPEATED, "Error due to duplicate config keys")
    nulls = [entry for entry in change.entries if entry.value is None]
    if nulls and not change.legacy:
        nulls = [entry for entry in nulls if entry.operation != _DELETE]
    if nulls:
        return _request(
            RuleId.CONFIG_VALUE_NULL, f"Null value not supported for : {', '.join(entry.name for entry in nulls)}"
        )
    return None


def _refusal_of_operations(change: ResourceChange) -> Refusal | None:
    """An operation that Kafka does not know; on TOPIC, GROUP and CLIENT_METRICS Kafka crashes on it."""
    if change.legacy:
        return None
    for entry in change.entries:
        if entry.operation not in _OPERATIONS:
            return _request(RuleId.CONFIG_OPERATION_UNKNOWN, f"Unknown operations type {entry.operation}")
    return None


def _judge_stored(change: ResourceChange, context: Context) -> ResourceVerdict:
    """A TOPIC, GROUP or CLIENT_METRICS change, which only the controller looks at."""
    stored = context.stored(change.type, change.name)
    refusal = _refusal_of_operations(change)
    proposed: Mapping[str, str] = {}
    if refusal is None:
        proposed, refusal = stored_after(change, stored)
    if refusal is None:
        refusal = refusal_of_storing(change, stored, proposed, context.features)
    if refusal is None:
        refusal = _refusal_by_type(change.type, change.name, stored, proposed, context)
    return _refused(change, refusal) if refusal else _accepted(change, proposed)


def _refusal_by_type(
    resource_type: int, name: str, stored: Mapping[str, str], proposed: Mapping[str, str], context: Context
) -> Refusal | None:
    if resource_type == _GROUP:
        return refusal_of_group(name, proposed, context.controller)
    if resource_type == _CLIENT_METRICS:
        return refusal_of_client_metrics(name, proposed)
    exists = context.topics is not None and name in context.topics
    refusal = (None if exists else refusal_of_topic_name(name)) or refusal_of_topic(
        stored, proposed, context.topic_defaults
    )
    if refusal is not None or exists or context.topics is None:
        return refusal
    text = f"The topic '{name}' does not exist."
    return Refusal(RuleId.CONFIG_TOPIC_MISSING, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)


def _judge_broker(change: ResourceChange, context: Context) -> ResourceVerdict:
    refusal = _refusal_of_broker_name(change.name, context) or _refusal_of_operations(change)
    if refusal is not None:
        return _refused(change, refusal)
    per_broker = bool(change.name)
    stored = context.stored(ResourceType.BROKER, change.name)
    stored_layer = stored_in_force(stored, per_broker=per_broker)
    class_exists = class_test(context.plugins)
    if change.legacy:
        props = {entry.name: entry.value for entry in change.entries if entry.value is not None}
    else:
        props = dict(stored_layer.texts)
        refusal = apply_entries(change.entries, props)
    layer = EMPTY_LAYER
    if refusal is None:
        layer, refusal = judge_values(props, per_broker=per_broker, class_exists=class_exists)
    if refusal is not None:
        return _refused(change, refusal, _brokers_concerned(change.name, context))
    default = stored_in_force(context.stored(ResourceType.BROKER, ""), per_broker=False) if per_broker else stored_layer
    refusals = _refusals_of_brokers(change.name, layer, default, context)
    if refusals:
        return _refused(change, _summed_up(change.name, refusals, context), sorted(refusals.keys() - {_NOBODY}))
    return _store_broker(change, stored, context)


def _store_broker(change: ResourceChange, stored: Mapping[str, str], context: Context) -> ResourceVerdict:
    """What the controller says to a change that the brokers accept."""
    proposed, refusal = stored_after(change, stored)
    refusal = refusal or refusal_of_storing(change, stored, proposed, context.features)
    if refusal is None and change.name and not _reported(change.name, context):
        refusal = refusal_of_unseen_log_dirs(stored, proposed)
    return _refused(change, refusal) if refusal else _accepted(change, proposed)


def _refusal_of_broker_name(name: str, context: Context) -> Refusal | None:
    if not name:
        return None
    broker_id = parse_int(name)
    if broker_id is None:
        return _request(RuleId.CONFIG_RESOURCE_NAME, f"Node id must be an integer, but it is: {name}")
    if isinstance(context.door, BrokerDoor):
        if broker_id == context.door.id:
            return None
        text = f"Unexpected broker id, expected {context.door.id}, but received {name}"
        return _request(RuleId.CONFIG_OTHER_NODE, text)
    if broker_id in context.brokers:
        return None
    return _request(RuleId.CONFIG_BROKER_NOT_REGISTERED, f"No node with id {broker_id} found.")


def _brokers_concerned(name: str, context: Context) -> tuple[int, ...]:
    """The one broker that is named, or all of them."""
    broker_id = parse_int(name)
    return tuple(sorted(context.brokers)) if broker_id is None else (broker_id,)


_UNKNOWN_BROKER: Final = BrokerContext()
_NOBODY: Final = -1
"""Who judges a cluster-wide default where no broker is registered: one that knows only the change itself."""


def _reported(name: str, context: Context) -> bool:
    (broker_id,) = _brokers_concerned(name, context)
    return context.brokers.get(broker_id, _UNKNOWN_BROKER).static is not None


def _refusals_of_brokers(name: str, proposed: Layer, default: Layer, context: Context) -> dict[int, Refusal]:
    """The brokers that would refuse the resulting configs, each by its own static and dynamic ones."""
    class_exists = class_test(context.plugins)
    changed = differing(proposed.texts, default.texts)
    refusals = {}
    for broker_id in _brokers_concerned(name, context) or (_NOBODY,):
        broker = context.brokers.get(broker_id, _UNKNOWN_BROKER)
        static = broker.config
        own = stored_in_force(context.stored(ResourceType.BROKER, str(broker_id)), per_broker=True)
        new = View(static, default, proposed) if name else View(static, proposed, own)
        if broker.applied is None:
            current = in_force(static, default, own)
        else:
            current = InForce(View(static, make_layer(broker.applied)), complete=False)
        among = None if name else changed - own.texts.keys()
        refusal = refusal_of_change(new, current, class_exists, among)
        if refusal is not None:
            refusals[broker_id] = refusal
    return refusals


def _summed_up(name: str, refusals: Mapping[int, Refusal], context: Context) -> Refusal:
    """One refusal for all: Kafka's own words, and who says so where there is more than one broker to say it."""
    refusal = refusals[min(refusals)]
    if name or len(context.brokers) <= 1:
        return refusal
    who = ", ".join(str(broker_id) for broker_id in sorted(refusals))
    noun = "broker" if len(refusals) == 1 else "brokers"
    return Refusal(refusal.rule, refusal.code, f"{refusal.message} (refused by {noun} {who})")
