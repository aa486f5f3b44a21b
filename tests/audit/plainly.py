"""The audit without Spark: readers and judge in a plain loop, and a naive one that shares only the wire with them.

Both give the same thing: (source, rule, value) of everything that is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow.compute as pc

from doorkeeper.audit.judging import Judge, judge_batch
from doorkeeper.audit.readers import READERS, ReadOptions, load
from doorkeeper.audit.schemas import FINDING_KEY, Entry
from doorkeeper.audit.sources import find_inputs
from doorkeeper.rules.client_id import is_plain
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.consumer_protocol import read_subscription
from doorkeeper.wire.metadata.serde import read_metadata_record
from doorkeeper.wire.metadata.types import RegisterBrokerRecord, RegisterControllerRecord
from doorkeeper.wire.records import iter_batches
from doorkeeper.wire.share_group_records import read_share_state_record
from doorkeeper.wire.streams_group_records import read_group_record
from doorkeeper.wire.transaction_records import read_transaction_record

RULEBOOK = Rulebook.of_release("5.0")
Found = set[tuple[str, str, str]]


def audit_plainly(folder: Path, brokers: dict[str, dict[str, str]] | None = None) -> list[dict[str, Any]]:
    """The rows of JUDGED for all files under a folder, by the readers and the judge alone."""
    inputs = find_inputs([str(folder)])
    rows = []
    for kind in inputs.files:
        for work in inputs.ranges(kind, 1):
            for batch in load(READERS[kind].read)(work, ReadOptions(brokers=brokers or {})):
                told = batch.filter(pc.equal(batch["entry"], Entry.SIGHTING.value))
                rows += judge_batch(told, Judge(RULEBOOK)).to_pylist()
    return rows


def found_in(rows: list[dict[str, Any]]) -> Found:
    """What was told, without what could not be judged."""
    return {(row["source"], row["rule"], row["value"]) for row in rows if row["verdict"] != "could_not_judge"}


NAMES = {
    "group": Kind.GROUP_ID, "group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID, "rack_id": Kind.RACK_ID,
    "instance_id": Kind.GROUP_INSTANCE_ID, "group_instance_id": Kind.GROUP_INSTANCE_ID, "client_id": Kind.CLIENT_ID,
    "transactional_id": Kind.TRANSACTIONAL_ID, "metadata": Kind.OFFSET_METADATA, "principal": Kind.ACL_PRINCIPAL,
    "host": Kind.ACL_HOST, "resource_name": Kind.RESOURCE_NAME, "rack": Kind.RACK_ID,
}  # fmt: skip
READ = {
    "__consumer_offsets": read_group_record,
    "__transaction_state": read_transaction_record,
    "__share_group_state": read_share_state_record,
}


def _strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif name == "subscription" and isinstance(value, bytes):
        yield from _strings(read_subscription(value))
    elif isinstance(value, tuple):
        for one in value:
            yield from _strings(one, name)
    elif is_dataclass(value) and not isinstance(value, UUID):
        for field in fields(value):
            yield from _strings(getattr(value, field.name), field.name)


def audit_naively(folder: Path) -> Found:
    """Every string of every record, by its field's name alone; nothing is replayed, no quota or config is judged."""
    found: Found = set()
    for topic, read in READ.items():
        for key, value in _records(folder, topic):
            assert key is not None
            decoded = read(key, value)
            found |= _naive("segments", decoded) if value is not None else set()
    for _, value in _records(folder, "__cluster_metadata"):
        message = read_metadata_record(value).message
        if not isinstance(message, RegisterControllerRecord | RegisterBrokerRecord):
            found |= _naive("metadata", message)
        elif isinstance(message, RegisterBrokerRecord):
            found |= _naive("metadata", replace(message, end_points=()))
    return found


def _records(folder: Path, topic: str) -> Iterator[tuple[bytes | None, bytes | None]]:
    for path in sorted(folder.glob(f"{topic}-*/*.log")):
        for _, batch in iter_batches(path.read_bytes()):
            if not batch.header.is_control:
                yield from ((record.key, record.value) for record in batch.records)


def _naive(source: str, decoded: Any) -> Found:
    found: Found = set()
    for name, value in _strings(decoded):
        kind = NAMES.get(name)
        if kind is None:
            continue
        violation = RULEBOOK.check(kind, value)
        made_by_a_broker = kind is Kind.MEMBER_ID and value.count("-") >= 5
        if violation is not None and not made_by_a_broker:
            found.add((source, violation.rule.value, value))
        if kind is Kind.CLIENT_ID and source == "segments" and not is_plain(value):
            found.add((source, "CLIENT_ID_NOT_PLAIN", value))
    return found


def group_plainly(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], int]:
    """Findings as a plain dict: the columns that group, and how often each was seen."""
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        if row["verdict"] != "could_not_judge":
            key = tuple(row[name] for name in FINDING_KEY)
            counts[key] = counts.get(key, 0) + row["count"]
    return counts
