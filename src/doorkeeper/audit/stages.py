"""The pipeline's steps, DataFrame to DataFrame. No RDDs, no row-at-a-time functions; a shuffle of few rows between two.

    ranges -- read, pack --> buckets -- merge, judge, find --> tables
                                                          \\-- sum up --> one document

A task that reads counts ahead (`sightings.Tally`), so a client with a billion lines is one row per range by the time it
is shuffled. All that belongs together meets in one bucket (`packing`), so one shuffle is enough for everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from doorkeeper.audit.facts import Facts, Worst, facts_of, facts_of_totals
from doorkeeper.audit.finding import find, find_alike
from doorkeeper.audit.judging import Judge, judge_rows
from doorkeeper.audit.merging import merge, only_once, to_batches
from doorkeeper.audit.owners import Owners, Share, shares_of
from doorkeeper.audit.packing import (
    PACKED_DDL,
    Packed,
    Part,
    from_batches,
    from_payload,
    pack,
    to_batch,
    to_payload,
)
from doorkeeper.audit.schemas import FILES, FINDINGS, SIGHTINGS, to_ddl
from doorkeeper.audit.summary import Owner
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TABLES: Final = {Part.SIGHTINGS: SIGHTINGS, Part.FINDINGS: FINDINGS, Part.FILES: FILES}
_NOT_ASKED: Final = -1
"""The bucket of what needs none; it comes before all others."""


def packed(sightings: DataFrame, buckets: int) -> DataFrame:
    """Rows of SIGHTINGS as rows of PACKED."""

    def pack_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return pack(batches, buckets)

    return sightings.select(*SIGHTINGS.names).mapInArrow(pack_batches, PACKED_DDL)


def audited(sightings: DataFrame, judge: Judge, buckets: int) -> DataFrame:
    """Packed sightings of all tasks to packed tables, totals and facts: each bucket merged, judged and found."""
    enforced = enforced_kinds(judge.rulebook)

    def audit_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for bucket, rows in groupby(from_batches(batches), key=attrgetter("bucket")):
            payloads = (from_payload(row.payload, SIGHTINGS) for row in rows)
            yield to_batch(audit_bucket(bucket, payloads, judge, enforced, buckets))

    if buckets == 1:
        together = sightings.repartition(1)
    else:
        together = sightings.repartition("bucket").sortWithinPartitions("bucket")
    return together.mapInArrow(audit_buckets, PACKED_DDL)


def audit_bucket(
    bucket: int, batches: Iterable[pa.RecordBatch], judge: Judge, enforced: frozenset[str], buckets: int
) -> Iterator[Packed]:
    """All that is to be said of one bucket."""
    merged = merge(batches)
    judged = judge_rows(only_once(merged.sightings), judge)
    findings = find(judged) + find_alike(merged.callers)
    for batch in merged.batches():
        yield Packed(bucket, Part.SIGHTINGS, to_payload(batch))
    for batch in to_batches(findings, FINDINGS):
        yield Packed(bucket, Part.FINDINGS, to_payload(batch))
    if bucket == 0:
        for batch in merged.files():
            yield Packed(bucket, Part.FILES, to_payload(batch))
        yield Packed(_NOT_ASKED, Part.TOTALS, msgspec.msgpack.encode(facts_of_totals(merged.totals)))
    facts = facts_of(judged, findings, merged.callers, enforced)
    yield Packed(_NOT_ASKED, Part.FACTS, msgspec.msgpack.encode(facts))
    for owners, shares in shares_of(findings, enforced, buckets).items():
        yield Packed(owners, Part.OWNERS, msgspec.msgpack.encode(shares))


def enforced_kinds(rulebook: Rulebook) -> frozenset[str]:
    """The kinds whose breach the release refuses."""
    return frozenset(kind.value for kind in Kind if kind is Kind.CONFIG_CHANGE or rulebook.enforces(kind))


def table_of(audited: DataFrame, part: Part) -> DataFrame:
    """The rows of SIGHTINGS, FINDINGS or FILES."""
    from pyspark.sql import functions as F  # noqa: N812 - the usual name

    schema = _TABLES[part]

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in from_batches(batches):
            yield from_payload(row.payload, schema)

    return audited.where(F.col("part") == part.value).mapInArrow(unpack, to_ddl(schema))


class SummedUp(msgspec.Struct):
    """What the summary is made of."""

    facts: Facts
    owners: dict[str, Worst[Owner]]
    """By facet."""


def sum_up(told: DataFrame, read: DataFrame) -> SummedUp:
    """All that the summary says: one row comes to the driver, whose size does not grow with the input.

    :param told: audited, where findings are from.
    :param read: audited, where the totals are from; the same where nothing older is told.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the usual name

    asked = [part.value for part in (Part.TOTALS, Part.FACTS, Part.OWNERS) if part is not Part.TOTALS or told is read]
    parts = told.where(F.col("part").isin(asked))
    if told is not read:
        parts = parts.unionByName(read.where(F.col("part") == Part.TOTALS.value))

    def sum_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        document = msgspec.msgpack.encode(sum_up_rows(from_batches(batches)))
        yield pa.RecordBatch.from_pydict({"document": [document]})

    rows = parts.coalesce(1).sortWithinPartitions("bucket").mapInArrow(sum_batches, "document BINARY").collect()
    return msgspec.msgpack.decode(rows[0].document, type=SummedUp)


def sum_up_rows(rows: Iterable[Packed]) -> SummedUp:
    """Add up what buckets know; rows come in the order of their buckets."""
    facts, owners = Facts(), Owners()
    for row in rows:
        if row.part is Part.OWNERS:
            owners.add(row.bucket, msgspec.msgpack.decode(row.payload, type=list[Share]))
        else:
            facts.add(msgspec.msgpack.decode(row.payload, type=Facts))
    return SummedUp(facts, owners.result())
