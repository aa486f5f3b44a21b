"""The request log, line for line in the form of Kafka 4.3.1's (`kafka.request.logger`).

From RequestChannel.updateRequestMetrics and RequestConvertToJson: each line is what log4j writes with Kafka's own
pattern, `[date] DEBUG Completed request:{json} (kafka.request.logger)`. There are no queues here, so their times are 0.
Config values that Kafka hides are hidden; so are the salted passwords of AlterUserScramCredentials, which Kafka shows.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from doorkeeper.cluster.exchange import AT_ONCE, Exchange
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.net.line_log import LineLog
from doorkeeper.net.rotated_file import Rotation
from doorkeeper.net.service import Answer
from doorkeeper.rules.redaction import HIDDEN, is_sensitive
from doorkeeper.wire.cloning import with_plain_codes
from doorkeeper.wire.codec import RequestHeader, decode_body, decode_request
from doorkeeper.wire.json_text import show_text, shower
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import api_name, message_classes

LOGGER: Final = logging.getLogger("doorkeeper.request_log")

ENVELOPE: Final = 58
"""Not logged: what is in it is."""
ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, ALTER_USER_SCRAM_CREDENTIALS = 33, 44, 51
NO_RESPONSE: Final = '""'
ALL: Final = 1.0
MAX_KNOWN: Final = 1000
"""Ends of lines that are kept; clients may say what they like of their software."""


@dataclass(frozen=True, slots=True)
class RequestLogWish:
    """What is to be logged, and where."""

    folder: Path
    sample: float = ALL
    """The share of requests that is logged."""
    rotation: Rotation = field(default_factory=Rotation)
    listeners: frozenset[str] = frozenset()
    """Empty: all."""


def open_request_log(wish: RequestLogWish, node_id: int, listener: str, protocol: str) -> RequestLog | None:
    """The log of one listener, `kafka-request-<node>-<listener>.log`; None if that listener is not to be logged.

    :raises OSError: when the file can't be opened.
    """
    if wish.listeners and listener not in wish.listeners:
        return None
    wish.folder.mkdir(parents=True, exist_ok=True)
    lines = LineLog(wish.folder / f"kafka-request-{node_id}-{listener}.log", wish.rotation)
    return RequestLog(lines, listener, protocol, sample=wish.sample)


class RequestLog:
    """One listener's log (`exchange.Watcher`)."""

    def __init__(
        self,
        lines: LineLog,
        listener: str,
        protocol: str,
        *,
        sample: float = ALL,
        clock: Callable[[], float] = time.time,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.lines = lines
        self.listener = listener
        self._sample = sample
        self._clock = clock
        self._draw = draw
        self._protocol = protocol
        self._known: dict[tuple[str, str, str], str] = {}
        self._second = -1
        self._stamp = ""

    def __call__(self, exchange: Exchange, answer: Answer) -> None:
        if exchange.asked.api_key == ENVELOPE or (self._sample < ALL and self._draw() >= self._sample):
            return
        try:
            line = f"[{self._date()}] DEBUG Completed request:{self.show(exchange, answer)} (kafka.request.logger)"
        except Exception:
            # A log that fails must not fail the request.
            LOGGER.exception("%s can't be shown", api_name(exchange.asked.api_key))
            return
        self.lines.write(line)

    def _date(self) -> str:
        """`2026-11-16 03:18:06,123`, local time, as log4j writes it."""
        now = self._clock()
        second = int(now)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
        return f"{self._stamp},{int((now - second) * 1000):03d}"

    def show(self, exchange: Exchange, answer: Answer) -> str:
        """The JSON of one request."""
        asked, peer = exchange.asked, exchange.peer
        key, version = asked.api_key, asked.api_version
        total = exchange.total_ns // 1000
        local = total if exchange.local_ns == AT_ONCE else exchange.local_ns // 1000
        lead, name = _api_parts(key, version)
        return (
            f'{{"isForwarded":{"true" if exchange.is_forwarded else "false"},{lead}{asked.correlation_id},'
            f'"clientId":{show_text(asked.client_id or "")},{name}'
            f'"request":{_shown_request(exchange)},"response":{_shown_response(key, version, answer)},'
            f'"connection":"{peer.connection_id}","totalTimeMs":{total / 1000},"requestQueueTimeMs":0.0,'
            f'"localTimeMs":{local / 1000},"remoteTimeMs":{max(0, total - local) / 1000},'
            f'"throttleTimeMs":{exchange.throttle_ms},"responseQueueTimeMs":0.0,"sendTimeMs":0.0,'
            f"{self._who(exchange.principal, peer.software_name, peer.software_version)}}}"
        )

    def _who(self, principal: str, software: str, version: str) -> str:
        """The end of a line: few different ones, most of the time."""
        key = (principal, software, version)
        known = self._known.get(key)
        if known is None:
            known = (
                f'"securityProtocol":"{self._protocol}","principal":{show_text(principal)},'
                f'"listener":{show_text(self.listener)},"clientInformation":{{"softwareName":{show_text(software)},'
                f'"softwareVersion":{show_text(version)}}}'
            )
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known


@remembered
def _api_parts(api_key: int, version: int) -> tuple[str, str]:
    lead = f'"requestHeader":{{"requestApiKey":{api_key},"requestApiVersion":{version},"correlationId":'
    return lead, f'"requestApiKeyName":"{api_name(api_key)}"}},'


def _shown_request(exchange: Exchange) -> str:
    asked = exchange.asked
    if isinstance(asked, RequestHeader):
        asked = decode_request(exchange.frame, asked)
    body = loggable(asked.api_key, asked.body)
    return shower(type(body))(body)


def _shown_response(api_key: int, version: int, answer: Answer) -> str:
    if answer is None:
        return NO_RESPONSE
    if isinstance(answer, bytes | memoryview | tuple):
        whole = b"".join(answer) if isinstance(answer, tuple) else bytes(answer)
        entity = with_plain_codes(message_classes(api_key, version).response)
        try:
            answer = decode_body(entity, whole, 0)
        except RemoteProtocolError:
            return NO_RESPONSE
    return shower(type(answer))(answer)


def loggable(api_key: int, body: Any) -> Any:
    """The request without secrets (RequestChannel.Request.loggableRequest)."""
    if api_key in (ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS):
        return replace(body, resources=tuple(_without_secrets(one) for one in body.resources))
    if api_key == ALTER_USER_SCRAM_CREDENTIALS:
        return replace(body, upsertions=tuple(replace(one, salted_password=b"") for one in body.upsertions))
    return body


def _without_secrets(resource: Any) -> Any:
    configs = tuple(
        replace(one, value=HIDDEN) if is_sensitive(int(resource.resource_type), one.name) else one
        for one in resource.configs
    )
    return replace(resource, configs=configs)
