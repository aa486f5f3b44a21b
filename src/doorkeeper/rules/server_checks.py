"""Conditions among keys that only a restart changes: they judge a server.properties, never a change of a running node.

Source: `KafkaConfig.scala` (constructor, validateValues), `QuorumConfig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.listener_checks import ROLES, roles
from doorkeeper.rules.listener_config import CONTROLLER_NAMES
from doorkeeper.rules.static_config import Check, View
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable

VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
AUTO_JOIN: Final = "controller.quorum.auto.join.enable"
PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_FAILED: Final = "requirement failed: "


def _classic_protocol(view: View) -> str | None:
    enabled = {protocol.lower() for protocol in view.items(PROTOCOLS)}
    return None if "classic" in enabled else "Disabling the 'Classic' protocol is not supported."


def _one_id(view: View) -> str | None:
    if view.integer("node.id") == view.integer("broker.id"):
        return None
    return "You must set `node.id` to the same value as `broker.id`."


def _fetch_waits(view: View) -> str | None:
    wait = view.integer("replica.fetch.wait.max.ms")
    if wait > view.integer("replica.socket.timeout.ms"):
        return (
            f"{_FAILED}replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
            " to prevent unnecessary socket timeouts"
        )
    if wait > view.integer("replica.lag.time.max.ms"):
        return (
            f"{_FAILED}replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms"
            " to prevent frequent changes in ISR"
        )
    return None


def _voter_ids(view: View) -> frozenset[int | None]:
    return frozenset(parse_int(entry.partition("@")[0]) for entry in view.items(VOTERS))


def _quorum_is_named(view: View) -> str | None:
    if view.items(VOTERS) or view.items(BOOTSTRAP):
        return None
    return (
        f"If using {ROLES}, either {BOOTSTRAP} must contain the set of bootstrap controllers or {VOTERS} must contain "
        "a parseable set of controllers."
    )


def _voters_and_node(view: View) -> str | None:
    voters = _voter_ids(view)
    node = view.integer("node.id")
    shown = f"{VOTERS}=Set({', '.join(str(voter) for voter in sorted(voters - {None}, key=str))})"
    found = roles(view)
    if found == {"broker"}:
        if node in voters:
            return (
                f"{_FAILED}If {ROLES} contains just the 'broker' role, the node id {node} must not be included in "
                f"the set of voters {shown}"
            )
        if view.flag(AUTO_JOIN):
            return f"{_FAILED}{AUTO_JOIN} is only supported when {ROLES} contains the 'controller' role."
        return None
    if not voters or node in voters:
        return None
    return (
        f"{_FAILED}If {ROLES} contains the 'controller' role, the node id {node} must be included in the set of "
        f"voters {shown}"
    )


def _queue(view: View) -> str | None:
    queued = view.integer("queued.max.request.bytes")
    if queued <= 0 or queued >= view.integer("socket.request.max.bytes"):
        return None
    return f"{_FAILED}queued.max.request.bytes must be larger or equal to socket.request.max.bytes"


def _idle(view: View) -> str | None:
    idle = view.integer("connections.max.idle.ms")
    delay = view.integer("connection.failed.authentication.delay.ms")
    if idle < 0 or delay < idle:
        return None
    return (
        f"{_FAILED}connection.failed.authentication.delay.ms={delay} should always be less than "
        f"connections.max.idle.ms={idle} to prevent failed authentication responses from timing out"
    )


def _check(judge: Callable[[View], str | None], *reads: str) -> tuple[Check]:
    return (Check(RuleId.CONFIG_SERVER_PROPERTIES, frozenset(reads), judge),)


PROTOCOL_CHECKS: Final = _check(_classic_protocol, PROTOCOLS)
IDENTITY_CHECKS: Final = _check(_one_id, "node.id", "broker.id")
FETCH_CHECKS: Final = _check(
    _fetch_waits, "replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "replica.lag.time.max.ms"
)
QUORUM_CHECKS: Final = (
    *_check(_quorum_is_named, VOTERS, BOOTSTRAP),
    *_check(_voters_and_node, VOTERS, "node.id", ROLES, AUTO_JOIN, CONTROLLER_NAMES),
)
QUEUE_CHECKS: Final = _check(_queue, "queued.max.request.bytes", "socket.request.max.bytes")
IDLE_CHECKS: Final = _check(_idle, "connections.max.idle.ms", "connection.failed.authentication.delay.ms")
