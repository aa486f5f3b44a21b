"""One identifier, one client library: what becomes of a producer or a consumer that carries it.

Every library has a module here with the same function `attempt`. A record is produced, or a record that is there is
consumed and its offset committed; `Seen` is what the user sees of it. Time-outs are set to seconds, where a library
would keep on trying for minutes.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

SECONDS: Final = 2
"""How long a library may go on trying; by default it does for 30 s to 2 minutes, or without end."""
PATIENCE_SECONDS: Final = 20
"""How long a lawful attempt may take on a busy machine."""
PRODUCER: Final = frozenset({"producer client id", "transactional id", "topic name"})


class Asked(NamedTuple):
    """What to try."""

    servers: str
    trial: str
    """One of the names in `TRIALS`."""
    value: str
    """The identifier."""
    topic: str
    """With one record in it for a consumer, with none for a producer."""
    group: str
    """For a consumer whose group is not what is tried."""
    lawful: bool
    """Whether it may take its time: it is to work."""

    @property
    def is_producer(self) -> bool:
        return self.trial in PRODUCER

    @property
    def seconds(self) -> int:
        return PATIENCE_SECONDS if self.lawful else SECONDS


class Seen(NamedTuple):
    """What the user sees."""

    worked: bool
    said: str
    """The exception, the error of a callback, or what is not seen."""


class Attempt(Protocol):
    """What each library's module has."""

    def __call__(self, asked: Asked) -> Seen: ...


TRIALS: Final = {
    "producer client id": "client_id",
    "consumer client id": "client_id",
    "group id": "group_id",
    "group instance id": "group_instance_id",
    "transactional id": "transactional_id",
    "rack": "rack_id",
    "topic name": "topic_name",
}
"""Every identifier that a library lets its user set, and its kind in the verdict."""
NEWER: Final = ", newer protocol"
"""Behind the name of a consumer's trial: the group is one of KIP-848's."""
REBALANCE: Final = "rebalance"
"""No identifier: two consumers of one group share a topic of two partitions, one leaves, the other has both again."""
NOTHING: Final = "no record, no error"
