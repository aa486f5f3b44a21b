"""When each broker was last heard of. From BrokerHeartbeatTracker and BrokerHeartbeatManager.

A frozen value: each method that notes something returns the next tracker. It lives in the controller's memory only;
after a restart every unfenced broker is given a whole session to be heard of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from doorkeeper.cluster.image.metadata import MetadataImage

DEFAULT_SESSION_TIMEOUT_MS: Final = 9_000  # milliseconds; Kafka's broker.session.timeout.ms
NO_OFFSET: Final = -1
NOBODY_ACTIVE: Final = 2**63 - 1
"""Kafka's lowest active offset when there is no active broker: nobody has to catch up."""


@dataclass(frozen=True, slots=True)
class Session:
    """One incarnation of a broker, as its heartbeats show it."""

    epoch: int
    registered_at: int
    """The offset of its RegisterBrokerRecord: what it must have read before it is unfenced."""
    last_contact_ms: int | None = None
    """None until its first heartbeat."""
    metadata_offset: int = NO_OFFSET
    controlled_shutdown_offset: int = NO_OFFSET

    @property
    def is_shutting_down(self) -> bool:
        """Whether a controlled shutdown is under way."""
        return self.controlled_shutdown_offset != NO_OFFSET


@dataclass(frozen=True, slots=True)
class HeartbeatTracker:
    """The sessions of all registered brokers by id."""

    session_timeout_ms: int = DEFAULT_SESSION_TIMEOUT_MS
    sessions: Mapping[int, Session] = field(default_factory=dict)

    @classmethod
    def for_image(cls, image: MetadataImage, session_timeout_ms: int, now_ms: int) -> HeartbeatTracker:
        """The tracker of a controller that has just become active."""
        sessions = {
            broker.id: Session(
                epoch=broker.epoch,
                registered_at=image.provenance.offset,
                last_contact_ms=None if broker.fenced else now_ms,
            )
            for broker in image.cluster.brokers.values()
        }
        return cls(session_timeout_ms, sessions)

    def registered(self, broker_id: int, epoch: int, record_offset: int) -> HeartbeatTracker:
        """After a registration was written: a new epoch begins a new session, the same one goes on."""
        session = self.sessions.get(broker_id)
        if session is not None and session.epoch == epoch:
            return self._with(broker_id, replace(session, registered_at=record_offset))
        return self._with(broker_id, Session(epoch, record_offset))

    def touched(self, broker_id: int, epoch: int, metadata_offset: int, now_ms: int) -> HeartbeatTracker:
        """After a heartbeat; one of an epoch that is no more changes nothing."""
        session = self.sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            return self
        return self._with(broker_id, replace(session, last_contact_ms=now_ms, metadata_offset=metadata_offset))

    def shutting_down(self, broker_id: int, end_offset: int) -> HeartbeatTracker:
        """After the records of a controlled shutdown were written up to this offset; the first one counts."""
        session = self.sessions[broker_id]
        if session.is_shutting_down:
            return self
        return self._with(broker_id, replace(session, controlled_shutdown_offset=end_offset))

    def fenced(self, broker_id: int) -> HeartbeatTracker:
        """After a broker was fenced, which ends its controlled shutdown."""
        session = self.sessions[broker_id]
        return self._with(broker_id, replace(session, controlled_shutdown_offset=NO_OFFSET))

    def removed(self, broker_id: int) -> HeartbeatTracker:
        """After a broker was unregistered."""
        return replace(self, sessions={key: value for key, value in self.sessions.items() if key != broker_id})

    def has_valid_session(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Whether this incarnation of the broker was heard of lately."""
        session = self.sessions.get(broker_id)
        return (
            session is not None
            and session.epoch == epoch
            and session.last_contact_ms is not None
            and now_ms < self._deadline_ms(session.last_contact_ms)
        )

    def expire(self, now_ms: int) -> tuple[tuple[int, ...], HeartbeatTracker]:
        """The brokers whose time is up, in the order of their deadlines, and the tracker without their contact."""
        late = sorted(
            (session.last_contact_ms, broker_id)
            for broker_id, session in self.sessions.items()
            if session.last_contact_ms is not None and now_ms >= self._deadline_ms(session.last_contact_ms)
        )
        tracker = self
        for _, broker_id in late:
            tracker = tracker._with(broker_id, replace(tracker.sessions[broker_id], last_contact_ms=None))
        return tuple(broker_id for _, broker_id in late), tracker

    @property
    def next_deadline_ms(self) -> int | None:
        """The first moment at which `expire` has something to say; None if it never will as things are."""
        contacts = [one.last_contact_ms for one in self.sessions.values() if one.last_contact_ms is not None]
        return self._deadline_ms(min(contacts)) if contacts else None

    def lowest_active_offset(self, image: MetadataImage) -> int:
        """How far the slowest broker has read that is neither fenced nor shutting down."""
        offsets = [
            session.metadata_offset
            for broker_id, session in self.sessions.items()
            if not session.is_shutting_down
            and (broker := image.cluster.brokers.get(broker_id)) is not None
            and not broker.fenced
        ]
        return min(offsets, default=NOBODY_ACTIVE)

    def _deadline_ms(self, last_contact_ms: int) -> int:
        """The first expired moment: Kafka's comparison is strict, so a session lasts the whole time-out."""
        return last_contact_ms + self.session_timeout_ms + 1

    def _with(self, broker_id: int, session: Session) -> HeartbeatTracker:
        return replace(self, sessions={**self.sessions, broker_id: session})
