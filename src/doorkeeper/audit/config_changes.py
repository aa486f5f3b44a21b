"""Config changes seen in a request log: how a table carries them, and the strict judgement at both doors.

A log says what was asked, not what was in force. So a change is refused only if it breaks a rule by itself, or against
static configs that are known while nothing else is stored for its keys; if its verdict hangs on more than that, or on a
value that the log hides, it could not be judged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from doorkeeper.audit.schemas import Verdict
from doorkeeper.audit.sightings import BOTH_DOORS, BROKER_DOOR, CONTROLLER_DOOR
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
    is_reported,
    judge_changes,
)
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.redaction import HIDDEN, shown
from doorkeeper.rules.verdict import RuleId

ALTER_CONFIGS: Final = 33
INCREMENTAL_ALTER_CONFIGS: Final = 44
CHANGE_APIS: Final = frozenset((ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS))
MAX_SHOWN_VALUE: Final = 200  # characters of a config value in a change's text

HIDDEN_VALUE: Final = "a value is hidden in the log"
UNKNOWN_STATE: Final = "what was in force before is not known"

_TYPE_NAMES: Final = {
    int(ResourceType.TOPIC): "topic",
    int(ResourceType.BROKER): "broker",
    int(ResourceType.BROKER_LOGGER): "broker-logger",
    int(ResourceType.CLIENT_METRICS): "client-metrics",
    int(ResourceType.GROUP): "group",
}
_SIGNS: Final = {int(Operation.SET): "=", int(Operation.APPEND): "+=", int(Operation.SUBTRACT): "-="}
_WHATEVER_THE_VALUE: Final = frozenset(
    (
        RuleId.CONFIG_RESOURCE_REPEATED,
        RuleId.CONFIG_KEY_REPEATED,
        RuleId.CONFIG_VALUE_NULL,
        RuleId.CONFIG_RESOURCE_TYPE_UNKNOWN,
        RuleId.CONFIG_OPERATION_UNKNOWN,
        RuleId.CONFIG_RESOURCE_NAME,
        RuleId.CONFIG_KEY_UNKNOWN,
        RuleId.CONFIG_KEY_READ_ONLY,
        RuleId.CONFIG_KEY_NEEDS_LISTENER,
        RuleId.CONFIG_KEY_PER_BROKER,
        RuleId.CONFIG_KEY_NOT_A_LIST,
    )
)
_BY_THE_CONTROLLERS_CONFIGS: Final = frozenset(
    (
        RuleId.CONFIG_GROUP_BOUNDS,
        RuleId.CONFIG_RETENTION,
        RuleId.CONFIG_LOCAL_RETENTION,
        RuleId.CONFIG_COMPACTION_LAG,
        RuleId.CONFIG_REMOTE_STORAGE,
        RuleId.CONFIG_LOG_ROLL,
        RuleId.CONFIG_MIN_ISR_UNDER_ELR,
    )
)
"""Rules for topics and groups whose word hangs on the controller's static configs, which Kafka's defaults may belie."""
_TOPIC_KEYS_CHECKED_TOGETHER: Final = frozenset(
    (
        "cleanup.policy",
        "retention.ms",
        "retention.bytes",
        "local.retention.ms",
        "local.retention.bytes",
        "remote.storage.enable",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "min.compaction.lag.ms",
        "max.compaction.lag.ms",
        "min.insync.replicas",
    )
)
"""What `rules.topic_config` compares with what is stored, or with the controller's configs."""


@dataclass(frozen=True, slots=True)
class KnownConfigs:
    """What an audit knows beside the log: from the metadata log, or from server.properties files. Picklable."""

    brokers: Mapping[int, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The static configs of brokers, by id."""
    controller: Mapping[str, str] | None = field(default=None, repr=False)
    dynamic: Mapping[tuple[int, str], Mapping[str, str]] | None = field(default=None, repr=False)
    """The dynamic configs stored today, by resource type and name; None: not known."""
    features: Features | None = None


NOTHING_KNOWN: Final = KnownConfigs()


@dataclass(frozen=True, slots=True)
class Change:
    """One resource of a request."""

    change: ResourceChange
    repeated: bool = False
    """Whether the request names the resource again."""

    def to_detail(self) -> str:
        """As JSON; values that are or may be secret are hidden."""
        document = {
            "type": self.change.type,
            "name": self.change.name,
            "legacy": self.change.legacy,
            "repeated": self.repeated,
            "configs": [
                [entry.name, entry.operation, shown(self.change.type, entry.name, entry.value)]
                for entry in self.change.entries
            ],
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_detail(cls, detail: str) -> Change:
        """The inverse of `to_detail`."""
        document = json.loads(detail)
        entries = tuple(ConfigEntry(*one) for one in document["configs"])
        change = ResourceChange(document["type"], document["name"], entries, document["legacy"])
        return cls(change, document["repeated"])

    def to_text(self) -> str:
        """`broker 1: num.io.threads=0, background.threads deleted`."""
        return (
            f"{resource_text(self.change.type, self.change.name)}: {', '.join(map(self._entry, self.change.entries))}"
        )

    def _entry(self, entry: ConfigEntry) -> str:
        if not self.change.legacy and entry.operation == Operation.DELETE:
            return f"{entry.name} deleted"
        value = shown(self.change.type, entry.name, entry.value)
        if value is not None and len(value) > MAX_SHOWN_VALUE:
            value = value[:MAX_SHOWN_VALUE] + "…"
        sign = "=" if self.change.legacy else _SIGNS.get(entry.operation, f" (operation {entry.operation}) ")
        return f"{entry.name}{sign}{'null' if value is None else value}"


def resource_text(resource_type: int, name: str) -> str:
    """`topic orders`, `broker 1`; the cluster-wide default is `broker default`."""
    kind = _TYPE_NAMES.get(resource_type, f"type {resource_type}")
    return f"{kind} {name or 'default'}" if resource_type == ResourceType.BROKER else f"{kind} {name}"


def changes_in(api_key: int, request: Any) -> Iterator[Change]:
    """The changes of a logged AlterConfigs or IncrementalAlterConfigs, one per resource."""
    resources = request.get("resources") if isinstance(request, dict) else None
    if not isinstance(resources, list):
        return
    changes = [_change(api_key, one) for one in resources if isinstance(one, dict)]
    times = Counter((change.type, change.name) for change in changes)
    for change in changes:
        yield Change(change, times[change.type, change.name] > 1)


def _change(api_key: int, resource: Mapping[str, Any]) -> ResourceChange:
    legacy = api_key == ALTER_CONFIGS
    configs = [one for one in resource.get("configs") or () if isinstance(one, dict)]
    entries = tuple(
        ConfigEntry(str(one.get("name", "")), 0 if legacy else _operation(one), _text(one.get("value")))
        for one in configs
    )
    number = resource.get("resourceType")
    return ResourceChange(
        number if isinstance(number, int) else 0, str(resource.get("resourceName") or ""), entries, legacy
    )


def _operation(config: Mapping[str, Any]) -> int:
    operation = config.get("configOperation")
    return operation if isinstance(operation, int) else -1


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class ChangeVerdict:
    """What the doors say of a change."""

    verdict: Verdict
    door: str = BOTH_DOORS
    rule: str | None = None
    answer: int | None = None
    reason: str = ""
    """Kafka's words, or why it could not be judged."""


_LAWFUL: Final = ChangeVerdict(Verdict.LAWFUL)


def judge_change(seen: Change, known: KnownConfigs = NOTHING_KNOWN) -> ChangeVerdict:
    """Judge a change at the door of the broker it names, and at the controller's."""
    refusals = _refusals(seen, _blind_context(seen.change))
    hides = any(entry.value == HIDDEN for entry in seen.change.entries)
    if hides and not any(one.rule in _WHATEVER_THE_VALUE for one in refusals.values()):
        return ChangeVerdict(Verdict.COULD_NOT_JUDGE, reason=HIDDEN_VALUE)
    if seen.change.type != ResourceType.BROKER:
        refusals = {door: one for door, one in refusals.items() if one.rule not in _BY_THE_CONTROLLERS_CONFIGS}
    if refusals:
        return _refused(refusals)
    if not _depends_on_state(seen.change):
        return _LAWFUL
    context = _known_context(seen.change, known)
    if context is None:
        return ChangeVerdict(Verdict.COULD_NOT_JUDGE, reason=UNKNOWN_STATE)
    refusals = _refusals(seen, context)
    return _refused(refusals) if refusals else _LAWFUL


def _refused(refusals: Mapping[str, ResourceVerdict]) -> ChangeVerdict:
    first = next(iter(refusals.values()))
    assert first.rule is not None
    door = next(iter(refusals)) if len(refusals) == 1 else BOTH_DOORS
    return ChangeVerdict(Verdict.REFUSED, door, first.rule.value, int(first.code), first.message or "")


def _refusals(seen: Change, context: Context) -> dict[str, ResourceVerdict]:
    changes = [seen.change, seen.change] if seen.repeated else [seen.change]
    node = _node(seen.change)
    doors: dict[str, BrokerDoor | ControllerDoor] = {
        BROKER_DOOR: BrokerDoor(node),
        CONTROLLER_DOOR: ControllerDoor(node),
    }
    refusals = {}
    for door, place in doors.items():
        verdict = judge_changes(changes, _at(context, place))[0]
        if not verdict.accepted:
            refusals[door] = verdict
    return refusals


def _at(context: Context, door: BrokerDoor | ControllerDoor) -> Context:
    return Context(
        brokers=context.brokers,
        controller_static=context.controller_static,
        dynamic=context.dynamic,
        door=door,
        features=context.features,
        plugins=None,
    )


def _node(change: ResourceChange) -> int:
    """The broker that a client asks: the one named, since no other takes the change; else any."""
    number = parse_int(change.name)
    return number if number is not None and number >= 0 else 1


def _blind_context(change: ResourceChange) -> Context:
    """Knows nothing but that the broker named exists: what it refuses is wrong whatever was in force."""
    features = Features(eligible_leader_replicas_version=0)
    return Context(brokers={_node(change): BrokerContext()}, features=features)


def _depends_on_state(change: ResourceChange) -> bool:
    """Whether another state than the unknown one may refuse what the change alone does not."""
    names = {entry.name for entry in change.entries}
    if change.type == ResourceType.BROKER:
        return change.legacy or any(map(is_reported, names)) or _extends(change)
    if change.type == ResourceType.TOPIC:
        return change.legacy or bool(names & _TOPIC_KEYS_CHECKED_TOGETHER) or _extends(change)
    return change.type == ResourceType.GROUP


def _extends(change: ResourceChange) -> bool:
    return any(entry.operation in (Operation.APPEND, Operation.SUBTRACT) for entry in change.entries)


def _known_context(change: ResourceChange, known: KnownConfigs) -> Context | None:
    """The context to judge by, if it is known in full and nothing stored tells of another state before."""
    if known.dynamic is None:
        return None
    names = {entry.name for entry in change.entries}
    if change.type == ResourceType.BROKER:
        node = parse_int(change.name)
        concerned = set(known.brokers) if node is None else {node}
        if not concerned or not concerned <= known.brokers.keys():
            return None
        places = [(int(ResourceType.BROKER), ""), *((int(ResourceType.BROKER), str(one)) for one in concerned)]
    else:
        if known.controller is None:
            return None
        places = [(change.type, change.name), (int(ResourceType.BROKER), "")]
    if any(names & known.dynamic.get(place, {}).keys() for place in places):
        return None
    return Context(
        brokers={number: BrokerContext(static) for number, static in known.brokers.items()},
        controller_static=known.controller or {},
        dynamic={(ResourceType(kind), name): configs for (kind, name), configs in known.dynamic.items()},
        features=known.features or Features(),
    )
