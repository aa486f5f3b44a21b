"""What the gateway offers: upstream's APIs and versions as far as it can judge them (ApiVersions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from doorkeeper.gateway.plans import Plans
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.fields import identifier_version
from doorkeeper.wire.api_versions import SERVED, unsupported_version_response
from doorkeeper.wire.codec import decode_response, encode_response
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    PRODUCE,
    newest_stable_version,
    newest_version,
    oldest_version,
)
from doorkeeper.wire.registry import Door, Registry, VersionRange

MAX_REMEMBERED: Final = 64
"""Answers kept: one per version asked and broker, as long as the cluster's features stay."""
_ERROR_OFFSET: Final = 4
_UNSUPPORTED: Final = int(ErrorCode.UNSUPPORTED_VERSION)


def offered_range(api_key: int, theirs: VersionRange, plans: Plans) -> VersionRange | None:
    """What is offered of an API that upstream serves in this range; None when it is withdrawn."""
    if plans.pass_unknown:
        return theirs
    if api_key not in API_KEYS:
        return None
    # Kafka advertises Produce from version 0 for old clients' sake, and serves it from 3 on.
    lowest = theirs.lowest if api_key == PRODUCE else max(theirs.lowest, oldest_version(api_key))
    newest = newest_version(api_key) if plans.unstable_versions else newest_stable_version(api_key)
    highest = min(theirs.highest, newest)
    if gains_version(api_key, theirs, plans):
        highest = newest_version(api_key) + 1
    return VersionRange(lowest, highest) if lowest <= highest else None


def gains_version(api_key: int, theirs: VersionRange, plans: Plans) -> bool:
    """Whether the gateway adds KIP-1233's version: asked for, affected, and upstream's newest is Kafka 4.3.1's.

    Upstream is then asked at that newest one, whose fields are the same.
    """
    newest = newest_version(api_key)
    return plans.unstable_versions and identifier_version(api_key) == newest + 1 and theirs.highest == newest


class Offered:
    """Narrows upstream's answers; the same answer is narrowed once."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._narrowed: dict[tuple[int, bytes], bytes] = {}
        self.upstream: Mapping[int, VersionRange] = {}
        """What upstream said last."""

    def forget(self) -> None:
        """Narrow anew: the settings have changed."""
        self._narrowed.clear()

    def narrow(self, version: int, frame: bytes) -> bytes:
        """The response with the gateway's ranges.

        :param frame: upstream's response, its correlation id first.
        :raises RemoteProtocolError: when it is none.
        """
        lead, body = frame[:_ERROR_OFFSET], frame[_ERROR_OFFSET:]
        known = self._narrowed.get((version, body))
        if known is None:
            known = self._narrow(version, frame)[_ERROR_OFFSET:]
            if len(self._narrowed) >= MAX_REMEMBERED:
                self._narrowed.clear()
            self._narrowed[version, body] = known
        return lead + known

    def _narrow(self, version: int, frame: bytes) -> bytes:
        code = int.from_bytes(frame[_ERROR_OFFSET : _ERROR_OFFSET + 2], "big", signed=True)
        if code == _UNSUPPORTED:
            version = 0
        response = decode_response(API_VERSIONS, version, frame)
        if not code:
            self.upstream = {one.api_key: VersionRange(one.min_version, one.max_version) for one in response.api_keys}
        keys = tuple(self._kept(response.api_keys))
        correlation_id = int.from_bytes(frame[:_ERROR_OFFSET], "big", signed=True)
        return encode_response(API_VERSIONS, version, correlation_id, replace(response, api_keys=keys))

    def _kept(self, entries: tuple[Any, ...]) -> Iterator[Any]:
        for entry in entries:
            theirs = VersionRange(entry.min_version, entry.max_version)
            ours = offered_range(entry.api_key, theirs, self._plans)
            if ours is not None:
                yield replace(entry, min_version=ours.lowest, max_version=ours.highest)


def unsupported_versions(correlation_id: int) -> bytes:
    """The answer to an ApiVersions request of a version that we don't know (KIP-511)."""
    response = unsupported_version_response(Registry([SERVED], Door.BROKER))
    return encode_response(API_VERSIONS, 0, correlation_id, response)
