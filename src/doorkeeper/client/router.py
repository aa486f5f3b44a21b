"""Which node a request goes to, and what happens when it fails: routing and retries as in Kafka's KafkaAdminClient.

A call is tried until it is answered, refused for good, or out of time. Lost connections and retriable codes of a whole
answer are retried after a back-off, with the cluster's nodes asked for anew; an error of one item is its caller's.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.client.channel import Channel, connect
from doorkeeper.client.errors import (
    KafkaError,
    NetworkError,
    NotControllerError,
    RequestTimedOutError,
    UnsupportedEndpointTypeError,
    raise_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.client.settings import ClientSettings

METADATA: Final = 3
DESCRIBE_CLUSTER: Final = 60
BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
_JITTER: Final = 0.2  # CommonClientConfigs.RETRY_BACKOFF_JITTER


class Node(NamedTuple):
    """A broker, or a controller when the bootstrap addresses are controllers'."""

    id: int
    host: str
    port: int
    rack: str | None = None


class Target(Enum):
    """Who may answer. With bootstrap controllers only those that say so."""

    ANY_BROKER = "any broker"
    ANY = "any broker, or the active controller with bootstrap controllers"
    CONTROLLER_BROKER = "the broker that stands for the controller"
    CONTROLLER = "the same, or the active controller with bootstrap controllers"


class Router:
    """The nodes we know, the connections we have, and `call`."""

    def __init__(self, addresses: Sequence[tuple[str, int]], settings: ClientSettings, *, controllers: bool) -> None:
        self._addresses = tuple(addresses)
        self._settings = settings
        self.controllers = controllers
        self.nodes: dict[int, Node] = {}
        self.controller_id = -1
        self._stale = True
        self._channels: dict[tuple[str, int], Channel] = {}
        self._connecting: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def close(self) -> None:
        """Close every connection."""
        channels, self._channels = list(self._channels.values()), {}
        await asyncio.gather(*(channel.close() for channel in channels))

    async def call(
        self,
        target: Target | int,
        api_key: int,
        values: Mapping[str, Any],
        check: Callable[[Any], None] = lambda answer: None,
    ) -> Any:
        """Ask `target` (a kind of node, or a node's id) and return the answer.

        `check` raises for an error of the whole answer; it is retried if retriable.

        :raises RequestTimedOutError: after `default.api.timeout.ms`, caused by what went wrong last.
        """
        self._require_endpoint(target)
        last: KafkaError | None = None
        attempt = 0
        try:
            async with asyncio.timeout(self._settings.api_timeout):
                while True:
                    try:
                        return await self._attempt(target, api_key, values, check)
                    except KafkaError as error:
                        if not error.retriable or attempt >= self._settings.retries:
                            raise
                        last = error
                        self._stale = True
                    await asyncio.sleep(self._backoff(attempt))
                    attempt += 1
        except TimeoutError:
            seconds = self._settings.api_timeout
            reason = f": {last.message}" if last else ""
            raise RequestTimedOutError(
                f"No success within {seconds:g} s after {attempt + 1} attempt(s){reason}"
            ) from last

    def _require_endpoint(self, target: Target | int) -> None:
        if self.controllers and target in (Target.ANY_BROKER, Target.CONTROLLER_BROKER):
            raise UnsupportedEndpointTypeError(
                "This Admin API is not yet supported when communicating directly with the controller quorum."
            )

    async def _attempt(
        self, target: Target | int, api_key: int, values: Mapping[str, Any], check: Callable[[Any], None]
    ) -> Any:
        if self._stale:
            await self.refresh()
        channel = await self._channel_to(self._pick(target))
        answer = await channel.request(api_key, values)
        if NotControllerError.code in codes_in(answer):  # wherever it stands: then no item was looked at
            raise NotControllerError
        check(answer)
        return answer

    def _pick(self, target: Target | int) -> Node:
        if isinstance(target, int):
            if target not in self.nodes:
                raise NetworkError(f"Node {target} is not in the cluster ({_listed(self.nodes)})")
            return self.nodes[target]
        if target in (Target.CONTROLLER, Target.CONTROLLER_BROKER) or self.controllers:
            if self.controller_id not in self.nodes:
                raise NotControllerError("The cluster has no controller at the moment.")
            return self.nodes[self.controller_id]
        connected = [node for node in self.nodes.values() if (node.host, node.port) in self._channels]
        return random.choice(connected or list(self.nodes.values()))  # noqa: S311 - spreads load, guards nothing

    async def _channel_to(self, node: Node) -> Channel:
        address = (node.host, node.port)
        async with self._connecting[address]:  # calls that overlap share one connection
            channel = self._channels.get(address)
            if channel is None or channel.closed:
                channel = await connect(*address, self._settings)
                self._channels[address] = channel
            return channel

    async def refresh(self) -> None:
        """Ask any reachable node who is in the cluster: those known first, then the bootstrap addresses.

        :raises NetworkError: when none answers; the last reason is in the message.
        """
        known = [(node.host, node.port) for node in self.nodes.values()]
        failure: KafkaError | None = None
        for address in dict.fromkeys([*self._channels, *known, *self._addresses]):
            try:
                channel = await self._channel_to(Node(-1, *address))
                await (self._ask_controllers(channel) if self.controllers else self._ask_brokers(channel))
            except (NetworkError, RequestTimedOutError) as error:
                self._channels.pop(address, None)
                failure = error
                continue
            if self.nodes:
                self._stale = False
                return
        raise failure or NetworkError("The cluster names no node")

    async def _ask_brokers(self, channel: Channel) -> None:
        answer = await channel.request(METADATA, {"topics": (), "allow_auto_topic_creation": False})
        self.nodes = {one.node_id: Node(one.node_id, one.host, one.port, one.rack) for one in answer.brokers}
        self.controller_id = answer.controller_id

    async def _ask_controllers(self, channel: Channel) -> None:
        version = channel.version_of(DESCRIBE_CLUSTER)
        if version < 1:
            raise UnsupportedEndpointTypeError("DescribeCluster version 0 can't list controllers")
        answer = await channel.request(DESCRIBE_CLUSTER, {"endpoint_type": CONTROLLER_ENDPOINTS, **NO_OPERATIONS})
        raise_for(answer.error_code, answer.error_message)
        self.nodes = {one.broker_id: Node(one.broker_id, one.host, one.port, one.rack) for one in answer.brokers}
        self.controller_id = answer.controller_id

    def _backoff(self, attempt: int) -> float:
        """Exponential with jitter, bounded (org.apache.kafka.common.utils.ExponentialBackoff)."""
        grown = self._settings.retry_backoff * (1 << min(attempt, 30))
        bounded = min(grown, self._settings.retry_backoff_max)
        return bounded * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - spreads load, guards nothing


NO_OPERATIONS: Final = {"include_cluster_authorized_operations": False}


def codes_in(answer: Any) -> set[int]:
    """Every error code of an answer, at whatever depth."""
    found: set[int] = set()
    stack = [answer]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(item for item in value if is_dataclass(item))
            continue
        for one in fields(value):
            part = getattr(value, one.name)
            if one.name == "error_code":
                found.add(part)
            elif isinstance(part, tuple):
                stack.append(part)
    return found


def _listed(nodes: Mapping[int, Node]) -> str:
    return ", ".join(map(str, sorted(nodes))) or "none"
