"""Stored dynamic configs that no broker would accept today, and those that nobody can judge.

Kafka's controllers store BROKER values that brokers refuse (KAFKA-19931): such a value shows as dynamic, is applied
nowhere, and has every later change on the broker path refused. The values are let in one by one, and those that the
rulebook refuses beside the others are told, each by itself.

A pool may double or halve at a time, so its size is judged by the sizes before: the log tells them. Where a snapshot
stands for them, or a broker's static configs are not known, a value that is not bad by itself can't be judged.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

from doorkeeper.audit.config_changes import Change
from doorkeeper.audit.metadata_state import MetadataState, Place
from doorkeeper.audit.sightings import Sighting
from doorkeeper.rules.broker_config import base_name
from doorkeeper.rules.config_change import (
    BrokerContext,
    ConfigEntry,
    Context,
    Operation,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
    is_reported,
    judge_changes,
)
from doorkeeper.rules.javatext import escape_for_display, parse_int
from doorkeeper.rules.listener_parts import NETWORK_THREADS
from doorkeeper.rules.reconfiguration import PARTS
from doorkeeper.rules.redaction import HIDDEN, is_sensitive
from doorkeeper.rules.verdict import Kind, RuleId

BROKER: Final = ResourceType.BROKER
DEFAULT: Final = ""
SHOWN_MESSAGE: Final = 1000  # characters
WHERE: Final = "ConfigRecord"
STATEFUL_KEYS: Final = frozenset((NETWORK_THREADS,)).union(
    *(
        part.reads & part.triggers
        for part in PARTS
        if part.rule in (RuleId.CONFIG_THREAD_POOL, RuleId.CONFIG_CLEANER_THREADS)
    )
)
"""Keys whose value is judged by the value before it: the sizes of pools."""
NO_STATIC_CONFIGS: Final = "the static configs of a broker that it concerns are not known"
NO_HISTORY: Final = "what was in force before is not known: a snapshot stands for it"
NO_CONTROLLER: Final = "the controller's own configs are not known"
_WRONG_ANYWHERE: Final = frozenset(
    (RuleId.CONFIG_VALUE_INVALID, RuleId.CONFIG_KEY_UNKNOWN, RuleId.CONFIG_CLIENT_MATCH, RuleId.CONFIG_VALUE_TOO_LONG)
)
"""What is refused of a TOPIC, GROUP or CLIENT_METRICS config whatever the controller's own configs are."""

Told = tuple[Sighting, Place]


def is_stateful(key: str) -> bool:
    """Whether a key's value is judged by the value before it; also for keys with a listener's prefix."""
    return base_name(key) in STATEFUL_KEYS


@dataclass(frozen=True, slots=True)
class Known:
    """What a stored config is judged with."""

    static: Mapping[int, Mapping[str, str] | None]
    """Every registered broker's static configs; None: not known."""
    applied: Mapping[int, Mapping[str, str]]
    """The stateful keys that each broker runs with, as far as the log tells."""
    unsure: Mapping[int, frozenset[str]]
    """Stateful keys of each broker whose history is not known."""


def config_sightings(state: MetadataState, given: Mapping[str, Mapping[str, str]]) -> Iterator[Told]:
    """Every stored config that is refused, or can't be judged."""
    known = _known(state, given)
    own = {(BROKER, str(number)): _lawful_alone(str(number), state, known) for number in known.static}
    kept = yield from _sift(DEFAULT, state, known, own)
    for resource_type, name in sorted(state.configs):
        if resource_type != BROKER:
            yield from _judge_other(resource_type, name, state, controller_of(given), kept)
        elif name != DEFAULT:
            yield from _sift(name, state, known, {(BROKER, DEFAULT): kept})


def _lawful_alone(name: str, state: MetadataState, known: Known) -> dict[str, str]:
    """A broker's own configs without those that it refuses whatever the default is: the default is not to blame."""
    sifting = _sift(name, state, known, {})
    while True:
        try:
            next(sifting)
        except StopIteration as end:
            kept: dict[str, str] = end.value
            return kept


def _stored(state: MetadataState, name: str) -> dict[str, str]:
    return {key: value for key, (value, _) in state.configs.get((BROKER, name), {}).items()}


def _known(state: MetadataState, given: Mapping[str, Mapping[str, str]]) -> Known:
    numbers = sorted(state.brokers.keys() | {int(one) for one in given})
    static = {}
    for number in numbers:
        own = given.get(str(number))
        broker = state.brokers.get(number)
        static[number] = own if own is not None else broker.static if broker is not None else None
    applied, unsure = {}, {}
    for number, configs in static.items():
        applied[number], unsure[number] = _history(number, configs, state)
    return Known(static, applied, unsure)


def _history(
    number: int, static: Mapping[str, str] | None, state: MetadataState
) -> tuple[dict[str, str], frozenset[str]]:
    """What a broker runs with of the stateful keys, as the log tells; and the keys it tells too little of.

    A change that the broker refuses, the controller stored all the same: the broker goes on with what it has.
    """
    if static is None:
        return {}, frozenset()
    applied: dict[str, str] = {}
    stored: dict[tuple[str, str], str] = {}
    unsure = set()
    for (_, name), key, value, is_history in state.events:
        if not is_stateful(key) or name not in (DEFAULT, str(number)):
            continue
        if value is None:
            stored.pop((name, key), None)
        else:
            stored[name, key] = value
        wanted = stored.get((str(number), key), stored.get((DEFAULT, key)))
        if not is_history:
            unsure.add(key)
        elif wanted is None:
            applied.pop(key, None)
        elif _accepts(number, static, applied, key, wanted):
            applied[key] = wanted
    return applied, frozenset(unsure)


def _accepts(number: int, static: Mapping[str, str], applied: Mapping[str, str], key: str, value: str) -> bool:
    context = Context(brokers={number: BrokerContext(static, dict(applied))}, plugins=None)
    return _judge(str(number), {key: value}, context).accepted


def _judge(name: str, configs: Mapping[str, str], context: Context, resource_type: int = BROKER) -> ResourceVerdict:
    entries = tuple(ConfigEntry(key, Operation.SET, value) for key, value in configs.items())
    (verdict,) = judge_changes([ResourceChange(resource_type, name, entries)], context)
    return verdict


def _sift(
    name: str, state: MetadataState, known: Known, others: Mapping[tuple[ResourceType, str], Mapping[str, str]]
) -> Generator[Told, None, dict[str, str]]:
    """Let the values of a BROKER resource in one by one, in the order they were stored in; return those let in.

    Of two that exclude each other the later one is told.
    """
    number = parse_int(name)
    concerned = sorted(known.static) if number is None else [number]
    stored = state.configs.get((BROKER, name), {})
    others_set = {key for configs in others.values() for key in configs}
    kept: dict[str, str] = {}
    for key in sorted(stored, key=lambda one: (stored[one][1][:2], one)):
        value, place = stored[key]
        proposed = {**kept, key: value}
        contexts = {one: _broker_context(one, known, state, proposed.keys() | others_set) for one in concerned}
        context = Context(brokers=contexts, dynamic=others, features=state.features, plugins=None)
        verdict = _judge(name, proposed, context)
        if not verdict.accepted:
            yield _refused(BROKER, name, key, value, verdict), place
            continue
        kept[key] = value
        reason = _doubt(key, value, concerned, known)
        if reason is not None:
            yield _unjudged(BROKER, name, key, value, reason), place
    return kept


def _broker_context(number: int, known: Known, state: MetadataState, judged: Set[str]) -> BrokerContext:
    """A broker that runs with the pools it is known to run with, as far as they are part of what is judged."""
    static = known.static.get(number)
    if static is None:
        return BrokerContext()
    stored = {**_stored(state, DEFAULT), **_stored(state, str(number))}
    running = {**known.applied[number], **{key: stored[key] for key in known.unsure[number] & stored.keys()}}
    return BrokerContext(static, {key: value for key, value in running.items() if key in judged})


def _doubt(key: str, value: str, concerned: list[int], known: Known) -> str | None:
    """Why a value that nothing speaks against is not known to be lawful; None: it is."""
    if not concerned and is_reported(key):
        return NO_STATIC_CONFIGS
    for number in concerned:
        static = known.static.get(number)
        if static is None:
            if is_reported(key):
                return NO_STATIC_CONFIGS
        elif key in known.unsure[number] and not _accepts(number, static, {}, key, value):
            return NO_HISTORY
    return None


def controller_of(given: Mapping[str, Mapping[str, str]]) -> Mapping[str, str] | None:
    """The server.properties of a controller, if one was given: topics and groups are judged by it."""
    for _, properties in sorted(given.items()):
        if "controller" in properties.get("process.roles", ""):
            return properties
    return None


def _judge_other(
    resource_type: int,
    name: str,
    state: MetadataState,
    controller: Mapping[str, str] | None,
    default: Mapping[str, str],
) -> Iterator[Told]:
    """A topic's, group's or client metrics subscription's configs: Kafka's controller judged them when they came."""
    context = Context(
        brokers={},
        controller_static=controller or {},
        dynamic={(BROKER, DEFAULT): default},
        features=replace(state.features, eligible_leader_replicas_version=0),
        plugins=None,
    )
    stored = state.configs[resource_type, name]
    if _judge(name, {key: value for key, (value, _) in stored.items()}, context, resource_type).accepted:
        return
    kept: dict[str, str] = {}
    for key in sorted(stored, key=lambda one: (stored[one][1][:2], one)):
        value, place = stored[key]
        verdict = _judge(name, {**kept, key: value}, context, resource_type)
        if verdict.accepted:
            kept[key] = value
        elif controller is not None or verdict.rule in _WRONG_ANYWHERE:
            yield _refused(resource_type, name, key, value, verdict), place
        else:
            yield _unjudged(resource_type, name, key, value, NO_CONTROLLER), place


def _seen(resource_type: int, name: str, key: str, value: str) -> Sighting:
    change = Change(ResourceChange(resource_type, name, (ConfigEntry(key, Operation.SET, value),)))
    return Sighting(Kind.CONFIG_CHANGE, change.to_text(), WHERE)


def _refused(resource_type: int, name: str, key: str, value: str, verdict: ResourceVerdict) -> Sighting:
    assert verdict.rule is not None
    message = _without(value, verdict.message or "") if is_sensitive(resource_type, key) else verdict.message or ""
    return _seen(resource_type, name, key, value)._replace(
        rule=verdict.rule.value,
        answer_new=int(verdict.code),
        answer_old=int(verdict.code),
        detail=escape_for_display(message, SHOWN_MESSAGE),
    )


def _without(secret: str, message: str) -> str:
    """Kafka's words without the value, which may be a password."""
    return message.replace(secret, HIDDEN) if secret else message


def _unjudged(resource_type: int, name: str, key: str, value: str, reason: str) -> Sighting:
    return _seen(resource_type, name, key, value)._replace(could_not_judge=True, detail=reason)
