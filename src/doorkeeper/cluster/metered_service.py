"""Meters what a door answers, and lets quotas bite (KIP-124, KIP-219, KIP-599).

Stands between a listener and the door's own service. An answer leaves at once, whatever the quotas say; it says for how
long the client is throttled, and for that time its connection is left unread. From RequestHandlerHelper,
KafkaApis.handleProduceRequest and KafkaApis.handleFetchRequest.

Of `request_percentage` 100 is the whole time of the node's event loop, on which requests are read, handled and
answered: Kafka's 100 is one of its threads, and a node has one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from time import monotonic_ns
from typing import Any, Final, Literal

from doorkeeper.cluster.broker.channel import SOFTWARE as OUR_BROKERS
from doorkeeper.cluster.exchange import AT_ONCE, Asked, Exchange, Watcher
from doorkeeper.cluster.handlers.call import BulkAnswer
from doorkeeper.cluster.metering import NodeMeter
from doorkeeper.cluster.throttled_answers import read_throttle_ms, with_throttle_ms
from doorkeeper.metering.clients import NANOSECONDS_TO_PERCENT, ClientMeter
from doorkeeper.metering.requests import ApiMeter, Meter
from doorkeeper.metering.sensors import MutationSensor, QuotaSensor
from doorkeeper.net.service import DECODE, Answer, Decode, Peer, Service
from doorkeeper.wire.codec import Request, RequestHeader, encode_answer
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.messages import api_class_name
from doorkeeper.wire.registry import Door, Registry

PRODUCE: Final = 0
FETCH: Final = 1
MUTATIONS: Final = frozenset((19, 20, 37))
"""CreateTopics, DeleteTopics, CreatePartitions: the controller says how long their sender is to be throttled."""
CLUSTER_ACTIONS: Final = frozenset((4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70))
"""What only nodes of the cluster ask (ApiKeys.clusterAction), and the snapshots they fetch: exempt."""
VERSION_BITS: Final = 16


class MeteredService:
    """A door's service, metered (`net.service.Service`)."""

    def __init__(
        self,
        inner: Service,
        door: Door,
        meter: NodeMeter,
        watcher: Watcher | None = None,
    ) -> None:
        self.registry: Registry = inner.registry
        self._inner = inner
        self._at_controller = door is Door.CONTROLLER
        self._meter = meter
        self._clients = meter.clients
        self._watcher = watcher
        self._started_ns = 0
        """When the request began that is being dispatched."""
        self._apis: dict[int, tuple[ApiMeter, Meter]] = {}
        """By API key and version, in one number."""

    # --- the listener's side -------------------------------------------------------------------------------------

    def handle_opaque(
        self, header: RequestHeader, frame: Frame, peer: Peer
    ) -> Answer | Awaitable[Answer] | Literal[Decode.DECODE]:
        self._started_ns = monotonic_ns()
        answer = self._inner.handle_opaque(header, frame, peer)
        if answer is DECODE:
            return DECODE
        return self._answered(header, frame, peer, answer)

    def handle(self, request: Request, peer: Peer) -> Answer | Awaitable[Answer]:
        answer = self._inner.handle(request, peer)
        client = peer.meter
        if (
            client is not None
            and client.is_free
            and request.api_key == PRODUCE
            and client.client_id == request.client_id
            and client.epoch == self._clients.epoch
            and request.api_version in self._apis
            and self._watcher is None
            and not self._at_controller
            and not hasattr(type(answer), "__await__")
        ):
            return self._count_produce(request, client, answer)
        return self._answered(request, request.frame, peer, answer)

    def _count_produce(self, request: Request, client: ClientMeter, answer: Answer) -> Answer:
        """The hot path: what `_settle` does for a producer that no quota binds, and nothing else."""
        if answer is not None and not isinstance(answer, bytes | memoryview | tuple):
            answer = encode_answer(PRODUCE, request.api_version, answer)
        end_ns = monotonic_ns()
        spent_ns = end_ns - self._started_ns
        size = len(request.frame)
        self._clients.note_produce(client, size, spent_ns, end_ns // 1_000_000)
        if answer is not None:
            client.bytes_out += sum(map(len, answer)) if isinstance(answer, tuple) else len(answer)
        api, count = self._apis[request.api_version]
        count.count += 1
        api.note(spent_ns // 1000, size)
        return answer

    def _answered(self, asked: Asked, frame: Frame, peer: Peer, answer: Any) -> Any:
        exchange = Exchange(asked, frame, peer, self._started_ns)
        if hasattr(type(answer), "__await__"):
            return self._settle_later(exchange, _Timed(answer, monotonic_ns() - self._started_ns))
        return self._settle(exchange, answer)

    async def _settle_later(self, exchange: Exchange, timed: _Timed) -> Answer:
        answer = await timed
        exchange.local_ns = timed.spent_ns
        return self._settle(exchange, answer)

    # --- one answer ----------------------------------------------------------------------------------------------

    def _settle(self, exchange: Exchange, answer: Any) -> Answer:
        asked, peer = exchange.asked, exchange.peer
        now_ns = monotonic_ns()
        now = now_ns // 1_000_000
        client = peer.meter
        if client is None or client.client_id != asked.client_id or client.epoch != self._clients.epoch:
            client = peer.meter = self._meter.find(peer.principal, asked.client_id, now)
        size = len(exchange.frame)
        request = client.request or self._clients.request(client)
        key = asked.api_key
        if key == PRODUCE and not self._at_controller:
            produce = client.produce or self._clients.produce(client)
            throttle_ms = produce.record(size, now)
            client.is_free = produce.limit is None and request.limit is None
            if throttle_ms or request.limit is not None:
                answer = self._throttle_produce(exchange, client, answer, throttle_ms, now)
        elif isinstance(answer, BulkAnswer):
            answer = self._settle_bulk(exchange, client, answer, now)
        elif request.limit is not None or key in MUTATIONS:
            answer = self._throttle_other(exchange, client, answer, now)
        shown = answer
        if isinstance(answer, BulkAnswer):
            shown, answer = answer.response, answer.parts
        elif answer is not None and not isinstance(answer, bytes | memoryview | tuple):
            answer = encode_answer(key, asked.api_version, answer)
        self._count(exchange, client, request, answer)
        if self._watcher is not None:
            self._watcher(exchange, shown)
        return answer

    def _count(self, exchange: Exchange, client: ClientMeter, request: QuotaSensor, answer: Answer) -> None:
        asked = exchange.asked
        end_ns = monotonic_ns()
        exchange.total_ns = total_ns = end_ns - exchange.started_ns
        local_ns = total_ns if exchange.local_ns == AT_ONCE else exchange.local_ns
        now = end_ns // 1_000_000
        if request.limit is None:
            request.record_only(local_ns * NANOSECONDS_TO_PERCENT, now)
        size = len(exchange.frame)
        client.last_ms = now
        client.requests += 1
        client.bytes_in += size
        if answer is not None:
            client.bytes_out += sum(map(len, answer)) if isinstance(answer, tuple) else len(answer)
        number = asked.api_key << VERSION_BITS | asked.api_version
        found = self._apis.get(number)
        if found is None:
            found = self._meter.requests.find(api_class_name(asked.api_key), asked.api_version, now)
            self._apis[number] = found
        api, count = found
        count.count += 1
        if exchange.local_ns == AT_ONCE:
            api.note(total_ns // 1000, size)
        else:
            api.note_later(total_ns // 1000, local_ns // 1000, size)
        if exchange.throttle_ms:
            api.note_throttle(exchange.throttle_ms)

    # --- quotas --------------------------------------------------------------------------------------------------

    def _throttle_produce(
        self, exchange: Exchange, client: ClientMeter, answer: Answer, bandwidth_ms: int, now: int
    ) -> Answer:
        """Without acks nobody is throttled for the time a request takes."""
        request_ms = 0 if answer is None else self._request_throttle_ms(exchange, client, now)
        produce = self._clients.produce(client)
        return self._throttled(exchange, client, answer, (produce, bandwidth_ms), request_ms, now)

    def _settle_bulk(self, exchange: Exchange, client: ClientMeter, answer: BulkAnswer, now: int) -> Answer:
        """A throttled consumer gets nothing, and nothing is counted (ClientQuotaManager.unrecordQuotaSensor)."""
        fetch = client.fetch or self._clients.fetch(client)
        request_ms = self._request_throttle_ms(exchange, client, now)
        bandwidth_ms = fetch.record(answer.size, now)
        if not request_ms and not bandwidth_ms:
            answer.confirm()
            return answer
        fetch.record_only(-answer.size, now)
        return self._throttled(exchange, client, answer.withheld(), (fetch, bandwidth_ms), request_ms, now)

    def _throttle_other(self, exchange: Exchange, client: ClientMeter, answer: Answer, now: int) -> Answer:
        asked = exchange.asked
        mutation_ms = 0
        if asked.api_key in MUTATIONS:
            mutation_ms = read_throttle_ms(asked.api_key, asked.api_version, answer)
        request_ms = self._request_throttle_ms(exchange, client, now)
        mutation = self._clients.mutation(client)
        return self._throttled(exchange, client, answer, (mutation, mutation_ms), request_ms, now)

    def _request_throttle_ms(self, exchange: Exchange, client: ClientMeter, now: int) -> int:
        request = self._clients.request(client)
        if request.limit is None or exchange.asked.api_key in CLUSTER_ACTIONS:
            return 0
        spent_ns = monotonic_ns() - exchange.started_ns if exchange.local_ns == AT_ONCE else exchange.local_ns
        return request.record(spent_ns * NANOSECONDS_TO_PERCENT, now)

    def _throttled(
        self,
        exchange: Exchange,
        client: ClientMeter,
        answer: Answer,
        specific: tuple[QuotaSensor | MutationSensor, int],
        request_ms: int,
        now: int,
    ) -> Answer:
        """Mute the connection for the longer of two times, and have the answer say it."""
        sensor, specific_ms = specific
        throttle_ms = max(specific_ms, request_ms)
        if not throttle_ms or self._is_exempt(exchange.peer):
            return answer
        (sensor if specific_ms > request_ms else self._clients.request(client)).note_throttle(throttle_ms, now)
        exchange.throttle_ms = throttle_ms
        client.throttles += 1
        client.throttle_ms += throttle_ms
        exchange.peer.mute_for(throttle_ms / 1000)
        return with_throttle_ms(exchange.asked.api_key, exchange.asked.api_version, answer, throttle_ms)

    def _is_exempt(self, peer: Peer) -> bool:
        """At the controller's door a broker's connection carries many clients' requests: they are throttled there."""
        return self._at_controller and peer.software_name == OUR_BROKERS


class _Timed:
    """Awaits something, and adds up the time for which it holds the event loop."""

    __slots__ = ("_awaitable", "spent_ns")

    def __init__(self, awaitable: Awaitable[Answer], spent_ns: int) -> None:
        self._awaitable = awaitable
        self.spent_ns = spent_ns

    def __await__(self) -> Generator[Any, Any, Answer]:
        steps: Generator[Any, Any, Answer] = self._awaitable.__await__()
        send: Callable[[Any], Any] = steps.send
        value: Any = None
        while True:
            started_ns = monotonic_ns()
            try:
                awaited = send(value)
            except StopIteration as end:
                return end.value
            finally:
                self.spent_ns += monotonic_ns() - started_ns
            try:
                send, value = steps.send, (yield awaited)
            except BaseException as error:
                send, value = steps.throw, error
