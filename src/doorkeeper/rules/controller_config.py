"""What the controller does with a change that it is to store: the configs that result, and its own refusals.

Source: `ConfigurationControlManager.java` (incrementalAlterConfigResource, legacyAlterConfigResource,
validateAlterConfig).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.broker_config import is_list_key
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_request import Operation, Refusal, ResourceType
from doorkeeper.rules.javatext import split_java, split_list, utf16_length
from doorkeeper.rules.static_config import SCHEMA as BROKER_SCHEMA
from doorkeeper.rules.topic_config import SCHEMA as TOPIC_SCHEMA
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from doorkeeper.rules.config_context import Features
    from doorkeeper.rules.config_request import ConfigEntry, ResourceChange

MIN_ISR: Final = "min.insync.replicas"
CORDONED: Final = "cordoned.log.dirs"
_SET, _DELETE = int(Operation.SET), int(Operation.DELETE)
MAX_VALUE_LENGTH: Final = 32767  # UTF-16 code units; Short.MAX_VALUE, although the message says bytes


def stored_after(change: ResourceChange, stored: Mapping[str, str]) -> tuple[dict[str, str], Refusal | None]:
    """The configs of the resource once the change is stored, or why it can't be carried out."""
    if change.legacy:
        return {entry.name: entry.value for entry in change.entries if entry.value is not None}, None
    after = dict(stored)
    for entry in change.entries:
        value = entry.value
        if entry.operation == _SET and value is not None:
            after[entry.name] = value
        elif entry.operation == _DELETE or value is None:
            after.pop(entry.name, None)
        elif _is_list(change.type, entry.name):
            after[entry.name] = _merged(change.type, entry, stored.get(entry.name), value)
        else:
            verb = Operation(entry.operation).name
            text = f"Can't {verb} to key {entry.name} because its type is not LIST."
            return {}, _invalid(RuleId.CONFIG_KEY_NOT_A_LIST, text)
    return after, None


def _invalid(rule: RuleId, message: str) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_CONFIG, message)


def _is_list(resource_type: int, name: str) -> bool:
    """The controller knows the lists among broker and topic keys only (`KafkaRaftServer.configSchema`)."""
    if resource_type == ResourceType.BROKER:
        return is_list_key(name) is True
    return resource_type == ResourceType.TOPIC and name in TOPIC_SCHEMA and TOPIC_SCHEMA[name].is_list


def _merged(resource_type: int, entry: ConfigEntry, old: str | None, value: str) -> str:
    """The stored entries, or Kafka's default, with the named ones added or taken away; nothing is trimmed."""
    schema = BROKER_SCHEMA if resource_type == ResourceType.BROKER else TOPIC_SCHEMA
    text = schema[entry.name].default if old is None else old
    entries = [part for part in split_java(text or "") if part]
    for part in split_java(value):
        if entry.operation == Operation.APPEND and part not in entries:
            entries.append(part)
        elif entry.operation == Operation.SUBTRACT and part in entries:
            entries.remove(part)
    return ",".join(entries)


def refusal_of_storing(
    change: ResourceChange, stored: Mapping[str, str], after: Mapping[str, str], features: Features
) -> Refusal | None:
    """The controller's own conditions on what is to be stored, those that no validator of values has."""
    if change.type == ResourceType.BROKER:
        touched = [entry.name for entry in change.entries]
        if change.legacy:
            touched += stored.keys() - after.keys()
        refusal = _refusal_of_features(change.name, touched, after, features)
        if refusal is not None:
            return refusal
    if not after or max(map(len, after.values())) <= MAX_VALUE_LENGTH // 2:
        return None  # no text of so few characters is too long, whatever they are
    if any(utf16_length(after[entry.name]) > MAX_VALUE_LENGTH for entry in change.entries if entry.name in after):
        text = (
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{MAX_VALUE_LENGTH} bytes."
        )
        return _invalid(RuleId.CONFIG_VALUE_TOO_LONG, text)
    return None


def _refusal_of_features(
    name: str, touched: Collection[str], after: Mapping[str, str], features: Features
) -> Refusal | None:
    """What the finalized features forbid: a broker's own min ISR under ELR, cordoning before 4.3-IV0."""
    if MIN_ISR in touched and features.elr_enabled:
        if name:
            text = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
            return _invalid(RuleId.CONFIG_MIN_ISR_UNDER_ELR, text)
        if MIN_ISR not in after:
            text = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
            return _invalid(RuleId.CONFIG_MIN_ISR_UNDER_ELR, text)
    if CORDONED in touched and not features.cordoned_log_dirs_supported:
        text = f"The {CORDONED} configuration value cannot be set because it requires metadata.version >= 4.3-IV0"
        return _invalid(RuleId.CONFIG_CORDONED_LOG_DIRS, text)
    return None


def refusal_of_unseen_log_dirs(stored: Mapping[str, str], after: Mapping[str, str]) -> Refusal | None:
    """Where nobody can tell a broker's log directories, directories may be freed, but no more be cordoned."""
    proposed = split_list(after.get(CORDONED, ""))
    if set(proposed) <= set(split_list(stored.get(CORDONED, ""))):
        return None
    text = (
        f"When updating {CORDONED} via controllers,  the new value must be a subset of the current configuration value."
    )
    return _invalid(RuleId.CONFIG_CORDONED_LOG_DIRS, text)
