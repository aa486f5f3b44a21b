"""What a judgement costs: an identifier against a bare length check, a config change against decoding it with kio."""

from __future__ import annotations

from benchmarks.measure import Row, compare
from doorkeeper.rules.names import check_group_id

NAMES = ("billing", "orders-consumer-group-7", "g" * 249, "ünïcödé-" * 10)


def _judge() -> None:
    for name in NAMES:
        check_group_id(name)


def _bare() -> None:
    for name in NAMES:
        len(name) <= 249  # noqa: B015 - this is the peer


def rows() -> list[Row]:
    return [compare("four group ids, against `len(s) <= 249`", _judge, _bare, at_most=5, loops=20_000, unit="ns")]
