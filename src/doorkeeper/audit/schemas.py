"""The shapes of the three stages, as constants: sightings, judged, findings.

Each is an Arrow schema, for what runs in Python workers, and the same in Spark's DDL, for what plans the job. Column
names and types of FINDINGS are a contract.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import pyarrow as pa


class SourceKind(StrEnum):
    """What a SOURCE holds; the prefixes of the command line."""

    REQUESTS = "requests"
    SEGMENTS = "segments"
    METADATA = "metadata"
    VERDICTS = "verdicts"
    TOPIC = "topic"


class Entry(StrEnum):
    """What a row of SIGHTINGS is."""

    SIGHTING = "sighting"
    """An identifier or a config change that may break a rule."""
    CALLER = "caller"
    """How often a client id called an API at a version: api, api_version, client_id and count only."""
    TOTAL = "total"
    """Reconciliation: what became of `count` lines or records; outcome, reason, file and line."""


class Outcome(StrEnum):
    """What became of lines or records; READ is counted apart, so that the sum can be checked."""

    READ = "read"
    JUDGED = "judged"
    MALFORMED = "malformed"
    IGNORED = "ignored"


class Verdict(StrEnum):
    """What the rulebook says of a sighting; the words of `summary.Weight`."""

    REFUSED = "refused"
    NOTICE = "notice"
    COULD_NOT_JUDGE = "could_not_judge"
    LAWFUL = "lawful"


TIME: Final = pa.timestamp("us", tz="UTC")

_WHO: Final = [
    ("client_id", pa.string()),
    ("principal", pa.string()),
    ("address", pa.string()),
    ("listener", pa.string()),
    ("software_name", pa.string()),
    ("software_version", pa.string()),
]

SIGHTINGS: Final = pa.schema(
    [
        ("entry", pa.string()),
        ("source", pa.string()),
        ("file", pa.string()),
        ("range_start", pa.int64()),  # of the byte range that was read; lines count from it until they are placed
        ("line", pa.int64()),  # from 1, or the byte's place from 0 where a source has no lines; the first one seen
        ("outcome", pa.string()),  # of totals; of a sighting `could_not_judge` where its source says so
        ("reason", pa.string()),
        ("kind", pa.string()),
        ("value", pa.string()),
        ("value_hex", pa.string()),
        ("value_utf8_valid", pa.bool_()),
        ("length", pa.int32()),
        ("unit", pa.string()),
        ("where", pa.string()),  # the field, with Kafka's names: `topics[].name`, `header.clientId`
        ("api", pa.string()),
        ("api_version", pa.int16()),
        *_WHO,
        ("door", pa.string()),
        ("forwarded", pa.bool_()),
        ("count", pa.int64()),
        ("first_seen", TIME),
        ("last_seen", TIME),
        ("detail", pa.string()),  # a config change as JSON (`config_changes`), or words
        # Set where the source itself says the verdict (our doors' verdicts, stored configs); null: to be judged.
        ("rule", pa.string()),
        ("limit", pa.int32()),
        ("answer_new", pa.int16()),
        ("answer_old", pa.int16()),
    ]
)
"""One row per identifier or config change, already counted as far as its reader could."""

JUDGED: Final = pa.schema(
    [
        *(field for field in SIGHTINGS if field.name not in ("entry", "outcome", "reason")),
        ("verdict", pa.string()),
        ("sanitized", pa.string()),
        ("suggestion", pa.string()),
    ]
)
"""A sighting with the rulebook's word on it."""

FINDINGS: Final = pa.schema(
    [
        ("rule", pa.string()),
        ("kind", pa.string()),
        ("value", pa.string()),
        ("value_utf8_valid", pa.bool_()),
        ("length", pa.int32()),
        ("limit", pa.int32()),
        ("unit", pa.string()),
        ("door", pa.string()),
        ("api", pa.string()),
        ("api_version_min", pa.int16()),
        ("api_version_max", pa.int16()),
        ("answer_new", pa.int16()),
        ("answer_old", pa.int16()),
        *_WHO,
        ("source", pa.string()),
        ("first_seen", TIME),
        ("last_seen", TIME),
        ("count", pa.int64()),
        ("sanitized", pa.string()),
        ("suggestion", pa.string()),
        ("detail", pa.string()),
        ("value_hex", pa.string()),
    ]
)
"""What breaks a rule, grouped by all columns but those of `MERGED`."""

MERGED: Final = (
    "api_version_min",
    "api_version_max",
    "first_seen",
    "last_seen",
    "count",
    "suggestion",
    "detail",
)
FINDING_KEY: Final = tuple(name for name in FINDINGS.names if name not in MERGED)

FILES: Final = pa.schema([("source", pa.string()), ("file", pa.string())])
"""What a run has read."""

_DDL_TYPES: Final = {
    pa.string(): "STRING",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BINARY",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    TIME: "TIMESTAMP",
}


def to_ddl(schema: pa.Schema) -> str:
    """The schema in Spark's words."""
    return ", ".join(f"`{field.name}` {_DDL_TYPES[field.type]}" for field in schema)


SIGHTINGS_DDL: Final = to_ddl(SIGHTINGS)
JUDGED_DDL: Final = to_ddl(JUDGED)
FINDINGS_DDL: Final = to_ddl(FINDINGS)
