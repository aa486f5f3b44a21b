"""What a gateway is to be: the options of `doorkeeper gateway` and its YAML file alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from doorkeeper.gateway.addresses import Address
from doorkeeper.gateway.limits import GatewayLimits
from doorkeeper.gateway.modes import Modes
from doorkeeper.gateway.node_ranks import PortRange


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of node: where the real ones are, where the gateway listens, and which ports its nodes get."""

    upstream: tuple[Address, ...]
    listen: Address
    node_ports: PortRange | None = None


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Everything about a gateway."""

    brokers: Side
    controllers: Side | None = None
    advertised_host: str | None = None
    """The host that clients are told; None: the listening one, or the address that they came to."""
    modes: Modes = field(default_factory=Modes)
    unstable_versions: bool = False
    """`unstable.api.versions.enable`"""
    pass_unknown: bool = False
    """Pass APIs and versions that can't be judged."""
    state: Path | None = None
    """Where the map of node ports is kept."""
    verdict_log: Path | None = None
    identity_log: Path | None = None
    limits: GatewayLimits = field(default_factory=GatewayLimits)
    refresh_seconds: float = 30.0
    """How often the gateway asks the cluster itself where its nodes are."""
    client_id: str = "doorkeeper-gateway"
    """What the gateway calls itself upstream."""
