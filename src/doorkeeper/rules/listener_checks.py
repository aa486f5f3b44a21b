"""What must hold between listeners, advertised listeners, roles and the inter-broker listener.

Source: `KafkaConfig.scala` (earlyStartListeners, validateValues).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.javatext import trim
from doorkeeper.rules.listener_config import (
    ADVERTISED,
    ADVERTISED_KEYS,
    CONTROLLER_NAMES,
    INTER_BROKER_KEYS,
    INTER_BROKER_NAME,
    LISTENER_KEYS,
    LISTENERS,
    NOT_ROUTABLE,
    PROTOCOL_MAP,
    advertised_broker_endpoints,
    advertised_controller_endpoints,
    bad_listener_value,
    controller_endpoints,
    endpoints,
    inter_broker,
    names_of,
    normalised,
    security_protocols,
)
from doorkeeper.rules.static_config import Check, View
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable

ROLES: Final = "process.roles"
EARLY_START: Final = "early.start.listeners"
MECHANISMS: Final = "sasl.enabled.mechanisms"
INTER_BROKER_MECHANISM: Final = "sasl.mechanism.inter.broker.protocol"
_FAILED: Final = "requirement failed: "
_BROKER_ONLY: Final = frozenset(("broker",))
_CONTROLLER_ONLY: Final = frozenset(("controller",))


def roles(view: View) -> frozenset[str]:
    """What the node is."""
    return frozenset(view.items(ROLES))


def _early_start(view: View) -> str | None:
    bound = names_of(endpoints(view))
    early = view.optional_items(EARLY_START) or []
    for name in filter(None, map(trim, early)):
        if name not in bound:
            known = f"{LISTENERS} or {CONTROLLER_NAMES}"
            return f"{EARLY_START} contains listener {name}, but this is not contained in {known}"
    return None


def _advertised_are_lawful(view: View) -> str | None:
    advertised_broker_endpoints(view)
    return None


def _broker_only(view: View) -> str | None:
    if controller_endpoints(view):
        return (
            f"{_FAILED}{CONTROLLER_NAMES} must not contain a value appearing in the '{LISTENERS}' configuration "
            "when running KRaft with just the broker role"
        )
    protocols = security_protocols(view)
    for name in map(normalised, view.items(CONTROLLER_NAMES)):
        if name not in protocols:
            return (
                f"Controller listener with name {name} defined in {CONTROLLER_NAMES} not found in {PROTOCOL_MAP}  "
                f"(an explicit security mapping for each controller listener is required if {PROTOCOL_MAP} is "
                "non-empty, or if there are security protocols other than PLAINTEXT in use)"
            )
    return None


def _controller_only(view: View) -> str | None:
    if len(advertised_controller_endpoints(view)) != len(endpoints(view)):
        return (
            f"{_FAILED}The {LISTENERS} config must only contain KRaft controller listeners from {CONTROLLER_NAMES} "
            f"when {ROLES}=controller"
        )
    if view.optional_text(INTER_BROKER_NAME) is not None and inter_broker(view)[0] in view.items(CONTROLLER_NAMES):
        return (
            f"{_FAILED}{CONTROLLER_NAMES} must not contain an explicitly set {INTER_BROKER_NAME} configuration value "
            f"when {ROLES}=controller'"
        )
    return _controller(view)


def _controller(view: View) -> str | None:
    running = "configuration when running the KRaft controller role"
    if not advertised_controller_endpoints(view):
        return f"{_FAILED}{CONTROLLER_NAMES} must contain at least one value appearing in the '{LISTENERS}' {running}"
    if not names_of(endpoints(view)).issuperset(view.items(CONTROLLER_NAMES)):
        return f"{_FAILED}{CONTROLLER_NAMES} must only contain values appearing in the '{LISTENERS}' {running}"
    return None


def _roles_and_listeners(view: View) -> str | None:
    found = roles(view)
    if found == _BROKER_ONLY:
        return _broker_only(view)
    return _controller_only(view) if found == _CONTROLLER_ONLY else _controller(view)


def _broker_listeners(view: View) -> str | None:
    if "broker" not in roles(view):
        return None
    advertised = names_of(advertised_broker_endpoints(view))
    if not advertised:
        hint = f" Perhaps all listeners appear in {CONTROLLER_NAMES}?"
        return f"{_FAILED}There must be at least one broker advertised listener.{hint}"
    shown = ",".join(sorted(advertised))
    if inter_broker(view)[0] not in advertised:
        return (
            f"{_FAILED}{INTER_BROKER_NAME} must be a listener name defined in {ADVERTISED}. "
            f"The valid options based on currently configured listeners are {shown}"
        )
    bound = names_of(endpoints(view))
    if not advertised <= bound:
        return (
            f"{_FAILED}{ADVERTISED} listener names must be equal to or a subset of the ones defined in {LISTENERS}. "
            f"Found {shown}. The valid options based on the current configuration are {','.join(sorted(bound))}"
        )
    return None


def _routable(view: View) -> str | None:
    advertised = advertised_broker_endpoints(view) + advertised_controller_endpoints(view)
    if all(endpoint.host != NOT_ROUTABLE for endpoint in advertised):
        return None
    return f"{_FAILED}{ADVERTISED} cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."


def _inter_broker_sasl(view: View) -> str | None:
    listener, protocol = inter_broker(view)
    if not protocol.startswith("SASL_"):
        return None
    message = bad_listener_value(view, listener)
    if message is not None:
        return message
    enabled = view.listener_value(listener, MECHANISMS)
    if isinstance(enabled, list) and view.optional_text(INTER_BROKER_MECHANISM) in enabled:
        return None
    return (
        f"{_FAILED}{INTER_BROKER_MECHANISM} must be included in {MECHANISMS} when SASL is used for "
        "inter-broker communication"
    )


def _check(reads: frozenset[str], judge: Callable[[View], str | None]) -> Check:
    return Check(RuleId.CONFIG_LISTENERS, reads, judge)


EARLY_START_CHECKS: Final = (_check(LISTENER_KEYS | {EARLY_START}, _early_start),)
ADVERTISED_CHECKS: Final = (_check(ADVERTISED_KEYS, _advertised_are_lawful),)
ROLE_CHECKS: Final = (_check(ADVERTISED_KEYS | INTER_BROKER_KEYS | {ROLES}, _roles_and_listeners),)
LISTENER_CHECKS: Final = (_check(ADVERTISED_KEYS | INTER_BROKER_KEYS | {ROLES}, _broker_listeners),)
ROUTABLE_CHECKS: Final = (_check(ADVERTISED_KEYS, _routable),)
SASL_CHECKS: Final = (
    Check(
        RuleId.CONFIG_SASL_MECHANISMS,
        INTER_BROKER_KEYS | {MECHANISMS, INTER_BROKER_MECHANISM},
        _inter_broker_sasl,
        listener_reads=frozenset((MECHANISMS,)),
    ),
)
