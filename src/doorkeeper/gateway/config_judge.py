"""Judging config changes before they go on: what Kafka's controllers let in, and brokers would refuse (KAFKA-19931).

What a broker judges (BROKER) is judged here with the brokers' own static configs; of the other types only the shape
is, for their values are judged by the active controller alike on both paths, and go on to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Final, Protocol

from doorkeeper.door.refusal import Close, Partial, Told, Whole, refuse_items
from doorkeeper.door.verdicts import Caller, VerdictRecord, write_down
from doorkeeper.door.verdicts import Mode as Became
from doorkeeper.errors import DoorkeeperError
from doorkeeper.gateway.callers import Client
from doorkeeper.gateway.config_readings import ClusterReading, changes_of
from doorkeeper.gateway.gatekeeper import COULD_NOT_JUDGE, DoorFacts
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.modes import CONFIG_CHANGE, Mode
from doorkeeper.gateway.plans import ALTER_CONFIGS
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_change import (
    BrokerDoor,
    Context,
    ControllerDoor,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
    judge_changes,
)
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.verdict import RuleId
from doorkeeper.wire.codec import Request
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

SHAPE_RULES: Final = frozenset(
    (
        RuleId.CONFIG_RESOURCE_REPEATED,
        RuleId.CONFIG_KEY_REPEATED,
        RuleId.CONFIG_VALUE_NULL,
        RuleId.CONFIG_RESOURCE_TYPE_UNKNOWN,
        RuleId.CONFIG_OPERATION_UNKNOWN,
    )
)
"""What is wrong whatever the resource is, and needs no knowledge of the cluster."""
_NOTHING_KNOWN: Final = Context(brokers={}, plugins=None)


class Cluster(Protocol):
    """Who can be asked about the cluster."""

    def read(self, brokers: frozenset[int] | None) -> Awaitable[ClusterReading]:
        """The configs of these brokers, or of all; raises DoorkeeperError when they can't be had."""


class ConfigJudge:
    """One for the whole process."""

    def __init__(self, judge: Judge, cluster: Cluster) -> None:
        self._judge = judge
        self._cluster = cluster

    async def judge(self, request: Request, facts: DoorFacts, client: Client) -> Partial | Whole | Close | None:
        """What is refused of a change; None for nothing."""
        changes = changes_of(request.body.resources, legacy=request.api_key == ALTER_CONFIGS)
        verdicts = {
            place: verdict
            for place, verdict in enumerate(judge_changes(changes, _NOTHING_KNOWN))
            if verdict.rule in SHAPE_RULES
        }
        told: dict[int, Told] = {}
        asked = [
            place for place, one in enumerate(changes) if one.type == ResourceType.BROKER and place not in verdicts
        ]
        if asked:
            try:
                verdicts |= await self._judge_brokers(changes, asked, facts)
            except DoorkeeperError as error:
                if self._judge.fail(error, api_name(request.api_key), self._judge.modes.of(CONFIG_CHANGE)):
                    told |= dict.fromkeys(asked, Told(ErrorCode.UNKNOWN_SERVER_ERROR, f"{COULD_NOT_JUDGE}: {error}"))
        for place, verdict in verdicts.items():
            if self._note(verdict, request, facts, client) is Mode.ENFORCE:
                told[place] = Told(verdict.code, verdict.message or "")
        return refuse_items(request, request.body, told) if told else None

    async def _judge_brokers(
        self, changes: list[ResourceChange], asked: list[int], facts: DoorFacts
    ) -> Mapping[int, ResourceVerdict]:
        concerned = [changes[place] for place in asked]
        reading = await self._cluster.read(_brokers_named(concerned))
        context = reading.context(_door(facts))
        verdicts = zip(asked, judge_changes(concerned, context), strict=True)
        return {place: verdict for place, verdict in verdicts if not verdict.accepted}

    def _note(self, verdict: ResourceVerdict, request: Request, facts: DoorFacts, client: Client) -> Mode:
        """Count a refusal and write it down, unless its rule is off; returns the rule's mode."""
        assert verdict.rule is not None
        mode = self._judge.modes.of_change(verdict.rule)
        if mode is not Mode.OFF:
            became = Became.ENFORCE if mode is Mode.ENFORCE else Became.EVALUATE
            api, caller = api_name(request.api_key), client.as_caller()
            self._judge.offenders.note(verdict.rule, api, became, caller, request.client_id)
            self._judge.write(_record(verdict, became, request, facts, caller, self._judge.clock()))
        return mode


def _record(
    verdict: ResourceVerdict, became: Became, request: Request, facts: DoorFacts, caller: Caller, now: float
) -> VerdictRecord:
    """A refused resource, named as `BROKER 1`; keys and values are not shown, for they may be secret."""
    assert verdict.rule is not None
    kind = ResourceType(verdict.type).name if verdict.type in list(ResourceType) else str(verdict.type)
    value, answer = f"{kind} {verdict.name}", int(verdict.code)
    return write_down(
        request, facts.door, caller, now, mode=became, rule=verdict.rule, kind=CONFIG_CHANGE, value=value, answer=answer
    )


def _brokers_named(changes: list[ResourceChange]) -> frozenset[int] | None:
    """The brokers whose configs count; None for all, which a cluster-wide default needs."""
    ids = [parse_int(one.name) for one in changes if one.name]
    return None if any(not one.name for one in changes) else frozenset(one for one in ids if one is not None)


def _door(facts: DoorFacts) -> BrokerDoor | ControllerDoor:
    if facts.door is Door.BROKER and facts.node_id is not None:
        return BrokerDoor(facts.node_id)
    return ControllerDoor()
