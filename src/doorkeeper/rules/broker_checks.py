"""The conditions on a node's whole configuration, in the order in which Kafka asks them.

Kafka builds a new `KafkaConfig` from static, dynamic and proposed configs; whatever its constructor refuses, the
change is refused for. Those of its conditions that read no dynamic key can't fail on a node that runs; they count
for a server.properties alone (`server_properties`).

Source: `KafkaConfig.scala` (constructor, validateValues) and what it builds. Scala's `require` says
"requirement failed: " before the message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.class_names import KAFKA_CLASSES
from doorkeeper.rules.config_schema import Scope
from doorkeeper.rules.group_checks import GROUP_CHECKS
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.listener_checks import (
    ADVERTISED_CHECKS,
    EARLY_START_CHECKS,
    LISTENER_CHECKS,
    ROLE_CHECKS,
    ROUTABLE_CHECKS,
    SASL_CHECKS,
)
from doorkeeper.rules.listener_config import parse_csv_map
from doorkeeper.rules.log_checks import CORDONED_CHECKS, LOG_CHECKS
from doorkeeper.rules.server_checks import (
    FETCH_CHECKS,
    IDENTITY_CHECKS,
    IDLE_CHECKS,
    PROTOCOL_CHECKS,
    QUEUE_CHECKS,
    QUORUM_CHECKS,
)
from doorkeeper.rules.static_config import SCHEMA, Check, UnlawfulError, View, touching
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Mapping

PER_IP: Final = "max.connections.per.ip"
PER_IP_OVERRIDES: Final = "max.connections.per.ip.overrides"
PRINCIPAL_BUILDER: Final = "principal.builder.class"
_FAILED: Final = "requirement failed: "
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")  # Utils.VALID_HOST_CHARACTERS


def per_ip_overrides(view: View) -> Mapping[str, int]:
    """Connection limits of single addresses (`maxConnectionsPerIpOverrides`)."""
    limits = {}
    for address, text in parse_csv_map(PER_IP_OVERRIDES, view.text(PER_IP_OVERRIDES)).items():
        limit = parse_int(text)
        if limit is None:
            raise UnlawfulError(f'For input string: "{text}"')
        limits[address] = limit
    return limits


def _connections_per_ip(view: View) -> str | None:
    if view.integer(PER_IP) == 0 and not per_ip_overrides(view):
        return f"{_FAILED}{PER_IP} can be set to zero only if {PER_IP_OVERRIDES} property is set."
    invalid = sorted(address for address in per_ip_overrides(view) if not _HOST.fullmatch(address))
    return f"{PER_IP_OVERRIDES} contains invalid addresses : {','.join(invalid)}" if invalid else None


def _principal_builder(view: View) -> str | None:
    builder = view.optional_text(PRINCIPAL_BUILDER)
    if builder == SCHEMA[PRINCIPAL_BUILDER].default or builder not in KAFKA_CLASSES:
        return None
    return f"{_FAILED}{PRINCIPAL_BUILDER} must implement KafkaPrincipalSerde"


CONNECTION_CHECKS: Final = (
    Check(RuleId.CONFIG_CONNECTION_LIMITS, frozenset((PER_IP, PER_IP_OVERRIDES)), _connections_per_ip),
)
PRINCIPAL_CHECKS: Final = (Check(RuleId.CONFIG_CLASS, frozenset((PRINCIPAL_BUILDER,)), _principal_builder),)

ALL_CHECKS: Final = (
    *GROUP_CHECKS,
    *EARLY_START_CHECKS,
    *PROTOCOL_CHECKS,
    *IDENTITY_CHECKS,
    *LOG_CHECKS,
    *FETCH_CHECKS,
    *ADVERTISED_CHECKS,
    *QUORUM_CHECKS,
    *ROLE_CHECKS,
    *LISTENER_CHECKS,
    *CORDONED_CHECKS,
    *ROUTABLE_CHECKS,
    *SASL_CHECKS,
    *QUEUE_CHECKS,
    *CONNECTION_CHECKS,
    *IDLE_CHECKS,
    *PRINCIPAL_CHECKS,
)
"""In Kafka's order."""

DYNAMIC_KEYS: Final = frozenset(name for name, key in SCHEMA.items() if key.scope is not Scope.READ_ONLY)
READ_ONLY_KEYS: Final = frozenset(SCHEMA) - DYNAMIC_KEYS
CHANGE_CHECKS: Final = touching(ALL_CHECKS, DYNAMIC_KEYS)
"""The checks whose verdict a change can turn."""
