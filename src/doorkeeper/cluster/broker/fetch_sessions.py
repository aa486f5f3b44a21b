"""Incremental fetch sessions (KIP-227): a client says once what it reads, and then only what changes.

From FetchManager, FetchContext and FetchSession. A session holds the partitions in the order in which they are to be
answered: those that had records go to the end, so that none starves behind a busy one.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from kio.schema.errors import ErrorCode

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
FIRST_INCREMENTAL_EPOCH: Final = 1
MAX_EPOCH: Final = 2**31 - 1
MAX_SESSION_ID: Final = 2**31 - 1
EVICTION_SECONDS: Final = 120.0
"""How long a session must have been idle before a new one may take its place."""

Topic: TypeAlias = UUID | str
"""From version 13 of Fetch on topics go by id; by name before."""


class PartitionKey(NamedTuple):
    """One partition as the request names it; a zero topic id is None in requests and the zero UUID here."""

    topic: Topic
    partition: int


@dataclass(slots=True)
class Wanted:
    """What a client wants of a partition, and what it was told last."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    told: tuple[int, int] | None = None
    """High watermark and log start of the last answer; None: never answered, or with an error."""


@dataclass(slots=True)
class Session:
    """What one client reads."""

    id: int
    by_id: bool
    epoch: int = FIRST_INCREMENTAL_EPOCH
    last_used: float = 0.0
    partitions: dict[PartitionKey, Wanted] = field(default_factory=dict)

    def change(self, wanted: dict[PartitionKey, Wanted], forgotten: Iterable[PartitionKey]) -> None:
        """Take in what an incremental request says."""
        for key, new in wanted.items():
            known = self.partitions.get(key)
            if known is not None:
                new.told = known.told
            self.partitions[key] = new
        for key in forgotten:
            self.partitions.pop(key, None)

    def move_to_end(self, key: PartitionKey) -> None:
        self.partitions[key] = self.partitions.pop(key)


@dataclass(frozen=True, slots=True)
class FetchContext:
    """What one request comes to: what to read, and how to answer."""

    wanted: dict[PartitionKey, Wanted]
    session: Session | None = None
    is_incremental: bool = False
    """Whether partitions with nothing new are left out of the answer."""

    @property
    def session_id(self) -> int:
        return NO_SESSION if self.session is None else self.session.id


class FetchSessions:
    """The sessions of one broker, bounded in number; the one that was idle longest gives way first."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self,
        session_id: int,
        epoch: int,
        wanted: dict[PartitionKey, Wanted],
        forgotten: Iterable[PartitionKey],
        *,
        by_id: bool,
        now: float | None = None,
    ) -> FetchContext | ErrorCode:
        """Begin, go on with, or end a session, as the request's id and epoch say (FetchManager.newContext)."""
        now = time.monotonic() if now is None else now
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self._sessions.pop(session_id, None)
            begins = epoch == INITIAL_EPOCH and bool(wanted)
            return FetchContext(wanted, self._begin(wanted, by_id, now) if begins else None)
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.fetch_session_id_not_found
        if session.epoch != epoch:
            return ErrorCode.invalid_fetch_session_epoch
        if session.by_id != by_id:
            return ErrorCode.fetch_session_topic_id_error
        session.change(wanted, forgotten)
        session.epoch = FIRST_INCREMENTAL_EPOCH if epoch == MAX_EPOCH else epoch + 1
        if not session.partitions:
            # The client has lost interest; it is told so by a session id of zero.
            self._sessions.pop(session_id)
            return FetchContext({}, None)
        session.last_used = now
        self._sessions.move_to_end(session_id)
        return FetchContext(session.partitions, session, is_incremental=True)

    def forget(self, session: Session) -> None:
        """Drop a session that the client has not heard of."""
        self._sessions.pop(session.id, None)

    def _begin(self, wanted: dict[PartitionKey, Wanted], by_id: bool, now: float) -> Session | None:
        if len(self._sessions) >= self._slots and not self._evict(now):
            return None
        session = Session(self._new_id(), by_id, last_used=now, partitions=wanted)
        self._sessions[session.id] = session
        return session

    def _evict(self, now: float) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.last_used < EVICTION_SECONDS:
            return False
        del self._sessions[oldest.id]
        return True

    def _new_id(self) -> int:
        while True:
            session_id = random.randint(1, MAX_SESSION_ID)  # noqa: S311  a name, not a secret
            if session_id not in self._sessions:
                return session_id


def read_wanted(body: Any) -> tuple[dict[PartitionKey, Wanted], list[PartitionKey]]:
    """What a Fetch request of any version wants, and what its session may forget."""
    wanted = {
        PartitionKey(topic_of(topic), one.partition): Wanted(
            one.fetch_offset,
            one.partition_max_bytes,
            getattr(one, "current_leader_epoch", -1),
            getattr(one, "last_fetched_epoch", -1),
        )
        for topic in body.topics
        for one in topic.partitions
    }
    forgotten = [
        PartitionKey(topic_of(topic), partition)
        for topic in getattr(body, "forgotten_topics_data", ())
        for partition in topic.partitions
    ]
    return wanted, forgotten


def topic_of(topic: Any) -> Topic:
    if hasattr(topic, "topic_id"):
        return topic.topic_id or UUID(int=0)
    return str(topic.topic)
