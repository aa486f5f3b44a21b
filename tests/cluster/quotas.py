"""Setting quotas by hand, for tests of those who enforce them."""

from __future__ import annotations

from tests.cluster.records import ask
from tests.kafka.requests import Connection

ALTER_CLIENT_QUOTAS = 49
ODD = 'a b/c:d*é"\n\U0001f600'
"""The client id of the proposal's worst day; it has a real line feed."""
DEFAULT = None


def set_quota(connection: Connection, entity: dict[str, str | None], **values: float | None) -> None:
    """Set quotas of an entity, `{"client-id": name}`; a null name is the default, a null value removes."""
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()]
    (answer,) = ask(connection, ALTER_CLIENT_QUOTAS, 1, entries=[{"entity": parts, "ops": ops}]).entries
    assert answer.error_code == 0, answer.error_message
