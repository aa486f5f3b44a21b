"""What to do about an identifier that is too long: a safe shortening, and what it looks like it was made by."""

from __future__ import annotations

import re
import uuid
from hashlib import blake2b
from typing import Final

from doorkeeper.audit.sightings import to_bytes
from doorkeeper.rules.verdict import Kind

HASH_DIGITS: Final = 16  # 64 bits: two of a million names meet with a chance of 3 in 100 million
_HEX: Final = r"[0-9a-fA-F]"
_UUID: Final = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_GENERATORS: Final = (
    (
        "a Flink task name",
        re.compile(r"(?:Source|Sink|Writer|Committer|Map|Filter|Window|Process).*(?:->|: )|\(\d+/\d+\)"),
    ),
    ("a Kafka Streams thread", re.compile(r"-StreamThread-\d+")),
    ("a Kafka Connect task", re.compile(r"^connect(?:or)?-|connector-(?:consumer|producer)-")),
    ("a Spark query", re.compile(rf"^spark-kafka-(?:source|relation)-{_UUID}")),
    (
        "a pod name",
        re.compile(r"-[0-9a-f]{8,10}-[a-z0-9]{5}(?:[-_.]|$)|\.svc(?:\.|$)|-\d+\.[a-z0-9-]+\.[a-z0-9-]+\.svc"),
    ),
    ("a UUID suffix", re.compile(rf"{_UUID}$")),
    ("a UUID inside", re.compile(_UUID)),
    ("a repeated part", re.compile(r"(.{4,})\1{3,}", re.DOTALL)),
)


def shorten(value: str, limit: int, kind: Kind | None = None) -> str:
    """A name within the limit that stays apart from others: the beginning, made plain, and a hash of the whole.

    A member id becomes a UUID, as the newer group protocols want one.
    """
    digest = blake2b(to_bytes(value), digest_size=16).digest()
    if kind is Kind.MEMBER_ID:
        return str(uuid.UUID(bytes=digest))
    ending = digest.hex()[:HASH_DIGITS]
    beginning = _UNSAFE.sub("_", value[: limit - HASH_DIGITS - 1]).rstrip("._-")
    return f"{beginning}-{ending}"


def generator_of(value: str) -> str | None:
    """What the name looks like it was made by, in words; None if it looks like nothing known."""
    for words, pattern in _GENERATORS:
        if pattern.search(value):
            return words
    return None
