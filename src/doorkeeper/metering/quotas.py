"""Which quota binds a client: Kafka's eight levels. From ClientQuotaManager's DefaultQuotaCallback (KIP-13, KIP-55).

Names are compared as clients send them; what is sanitised is only shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from doorkeeper.rules.client_id import DEFAULT, DefaultEntity

Name = str | DefaultEntity | None
Entity = tuple[Name, Name]
"""(user, client id); `DEFAULT` stands for all that have none of their own, None for a part that is not named."""

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

_CLIENT_ID, _USER, _USER_AND_CLIENT_ID = 1, 2, 4


class Binding(NamedTuple):
    """Whose use is counted together, and what binds it."""

    user: str
    """Empty: all users together."""
    client_id: str
    """Empty: all client ids together."""
    limit: float | None
    entity: Entity | None
    """Where the limit is set."""


def levels(user: str, client_id: str) -> tuple[Entity, ...]:
    """Where a quota of this client may be set; the first that is there binds."""
    return (
        (user, client_id),
        (user, DEFAULT),
        (user, None),
        (DEFAULT, client_id),
        (DEFAULT, DEFAULT),
        (DEFAULT, None),
        (None, client_id),
        (None, DEFAULT),
    )


class QuotaTable:
    """The quotas of one kind."""

    def __init__(self, limits: Mapping[Entity, float]) -> None:
        self._limits = dict(limits)
        self._enabled = 0
        for user, client_id in limits:
            if user is None:
                self._enabled |= _CLIENT_ID
            else:
                self._enabled |= _USER if client_id is None else _USER_AND_CLIENT_ID

    @property
    def is_empty(self) -> bool:
        return not self._limits

    def find(self, user: str, client_id: str) -> Binding:
        """The quota that binds a client, and with whom it shares it."""
        shared_user, shared_client_id = self._shared(user, client_id)
        entity = self._entity(shared_user, shared_client_id)
        return Binding(shared_user, shared_client_id, self._limits.get(entity) if entity else None, entity)

    def limit_of(self, binding: tuple[str, str]) -> float | None:
        """The limit of what is counted together as (user, client id), either of which may be empty."""
        entity = self._entity(*binding)
        return self._limits.get(entity) if entity else None

    def _shared(self, user: str, client_id: str) -> tuple[str, str]:
        """Kafka counts by what the quotas name: while they name client ids only, users make no difference."""
        if self._enabled in (0, _CLIENT_ID):
            return "", client_id
        if self._enabled == _USER:
            return user, ""
        if self._enabled == _USER_AND_CLIENT_ID:
            return user, client_id
        for entity in levels(user, client_id)[:6]:
            if entity in self._limits:
                return user, "" if entity[1] is None else client_id
        return "", client_id

    def _entity(self, user: str, client_id: str) -> Entity | None:
        names: tuple[Name, ...] = (user, DEFAULT) if user else (None,)
        clients: tuple[Name, ...] = (client_id, DEFAULT) if client_id else (None,)
        if not user and not client_id:
            return None
        candidates = ((name, client) for name in names for client in clients)
        return next((entity for entity in candidates if entity in self._limits), None)
