"""The findings stage: judged sightings grouped by all that is the same, and client ids that look alike.

Rows of one bucket come in, and all rows that go into a finding are in the same bucket (`packing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from doorkeeper.audit.merging import Row, greatest, least, sum_counts
from doorkeeper.audit.packing import shown_as
from doorkeeper.audit.schemas import FINDING_KEY, FINDINGS, Verdict
from doorkeeper.rules.verdict import Kind, RuleId

MOST_ALIKE: Final = 5  # other client ids that are named
_TOLD: Final = (Verdict.REFUSED, Verdict.NOTICE)
_ALIKE: Final = "an exporter that replaces special characters shows it as the same as: "


def find(judged: Iterable[Row]) -> list[Row]:
    """The rows of FINDINGS: what is refused or to be told, by all that is the same."""
    found: dict[tuple[Any, ...], _Finding] = {}
    for row in judged:
        if row["verdict"] in _TOLD:
            key = tuple(row[name] for name in FINDING_KEY)
            finding = found.get(key)
            if finding is None:
                finding = found[key] = _Finding(row)
            finding.add(row)
    return [finding.to_row() for finding in found.values()]


class _Finding:
    """A finding while its sightings are counted."""

    def __init__(self, row: Row) -> None:
        self._row = {name: row[name] for name in FINDING_KEY}
        self._counted: Row = dict.fromkeys(
            ("api_version_min", "api_version_max", "first_seen", "last_seen", "suggestion")
        )
        self._count = 0
        self._words: str | None = None
        self._place: tuple[str, int] | None = None

    def add(self, row: Row) -> None:
        counted = self._counted
        for name in ("first_seen", "suggestion"):
            counted[name] = least(counted[name], row[name])
        counted["api_version_min"] = least(counted["api_version_min"], row["api_version"])
        counted["api_version_max"] = greatest(counted["api_version_max"], row["api_version"])
        counted["last_seen"] = greatest(counted["last_seen"], row["last_seen"])
        self._count += row["count"]
        self._words = least(self._words, row["detail"] or None)
        self._place = least(self._place, (row["file"], row["line"]))

    def to_row(self) -> Row:
        """The words on it, and where it was seen first, are its detail."""
        assert self._place is not None
        words = [] if self._words is None else [self._words]
        detail = "; ".join([*words, f"first in {self._place[0]}:{self._place[1]}"])
        return self._row | self._counted | {"count": self._count, "detail": detail}


def find_alike(callers: pa.Table) -> list[Row]:
    """Client ids that a lossy exporter would show under one name, as rows of FINDINGS; one of them is not plain."""
    by_shown: dict[str, dict[tuple[str, str], int]] = {}
    for row in sum_counts(callers, "client_id", "source").to_pylist():
        client_id = row["client_id"]
        by_shown.setdefault(shown_as(client_id), {})[client_id, row["source"]] = row["count"]
    rows = []
    for shown, clients in by_shown.items():
        alike = sorted({client_id for client_id, _ in clients})
        if len(alike) > 1:  # at most one of them is what is shown: the others are not plain
            rows += [
                _alike(client_id, source, count, shown, [one for one in alike if one != client_id])
                for (client_id, source), count in clients.items()
            ]
    return rows


def _alike(client_id: str, source: str, count: int, shown: str, others: list[str]) -> Row:
    return dict.fromkeys(FINDINGS.names) | {
        "rule": RuleId.CLIENT_ID_LOOKS_ALIKE.value,
        "kind": Kind.CLIENT_ID.value,
        "value": client_id,
        "value_utf8_valid": True,
        "door": "both",
        "client_id": client_id,
        "source": source,
        "count": count,
        "sanitized": shown,
        "detail": _ALIKE + ", ".join(others[:MOST_ALIKE]),
    }
