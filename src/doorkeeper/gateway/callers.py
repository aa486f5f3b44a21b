"""Who is at the client's end of a connection, as far as is known by now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from doorkeeper.door.verdicts import Caller
from doorkeeper.wire.registry import Door

ANONYMOUS: Final = "User:ANONYMOUS"
UNKNOWN_SOFTWARE: Final = "unknown"


@dataclass(slots=True)
class Client:
    """What is learnt of a client, bit by bit."""

    address: str
    listener: str
    door: Door = Door.BROKER
    certificate: str | None = None
    """The principal that its certificate names."""
    login: str | None = None
    """The principal that it logged in as."""
    software_name: str = UNKNOWN_SOFTWARE
    software_version: str = UNKNOWN_SOFTWARE

    @property
    def principal(self) -> str:
        """Who it is in verdicts: as it logged in, or by its certificate, or nobody."""
        return self.login or self.certificate or ANONYMOUS

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others: all but the number of its connection."""
        return (self.principal, self.address, self.listener, self.software_name, self.software_version)

    def as_caller(self) -> Caller:
        """As verdicts want it."""
        return Caller(self.principal, self.address, self.listener, self.software_name, self.software_version)
