"""Which static configs a broker reports at registration (KAFKA-19931): those that a check declares it reads.

The set is computed from the declarations; there is no list to keep. A sensitive key can't get in, whoever declares it,
and neither can a key that Kafka does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules import listener_parts
from doorkeeper.rules.broker_checks import CHANGE_CHECKS
from doorkeeper.rules.broker_config import base_name
from doorkeeper.rules.reconfiguration import PARTS
from doorkeeper.rules.static_config import SCHEMA, keys_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def only_plain(keys: Iterable[str]) -> frozenset[str]:
    """Those keys that Kafka knows and does not hold secret."""
    return frozenset(key for key in keys if key in SCHEMA and not SCHEMA[key].sensitive)


_PLAIN: Final = only_plain(keys_read(CHANGE_CHECKS).union(listener_parts.READS, *(part.reads for part in PARTS)))
_WITH_LISTENER: Final = only_plain(
    listener_parts.LISTENER_READS.union(*(check.listener_reads for check in CHANGE_CHECKS))
)


def reported_static_keys() -> frozenset[str]:
    """The keys that a broker reports if they are set, without those that carry a listener's prefix."""
    return _PLAIN


def is_reported(key: str) -> bool:
    """Whether a broker reports this key; also for keys with a listener's prefix."""
    if key in _PLAIN:
        return True
    base = base_name(key)
    return base is not key and base in _WITH_LISTENER


def select_reported(static: Mapping[str, str]) -> dict[str, str]:
    """What a broker with this server.properties reports."""
    return {key: text for key, text in static.items() if is_reported(key)}
