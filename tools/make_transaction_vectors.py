"""Let Kafka's own classes write records of `__transaction_state`, and keep the bytes.

    python tools/make_transaction_vectors.py --jars .cache/kafka-4.3.1

The answers go to `tests/vectors/transaction-records-<version>.jsonl`: a header, then lines
`[record type, version, key, value, key bytes, value bytes]`, messages in Kafka's JSON, bytes in hexadecimal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.extract_facts import ROOT
from tools.make_coordinator_vectors import LONG, ODD, to_json
from tools.record_vectors import answered, write

from doorkeeper.wire.coordinator_records import CoordinatorRecord
from doorkeeper.wire.transaction_records import PartitionsSchema, TransactionLogKey, TransactionLogValue

VERSION = "4.3.1"
VECTORS = ROOT / "tests" / "vectors" / f"transaction-records-{VERSION}.jsonl"
SHORT_MAX = 2**15 - 1
LONG_MAX = 2**63 - 1
STATES = range(8)


def table() -> Iterator[CoordinatorRecord]:
    """Both versions, all states, empty, plain and odd content, and every tagged field on its own."""
    some = (PartitionsSchema(topic="t", partition_ids=(0, 127, 128)), PartitionsSchema(topic=ODD), PartitionsSchema())
    for transactional_id in ("", "t", LONG, ODD):
        key = TransactionLogKey(transactional_id=transactional_id)
        yield CoordinatorRecord(key)
        for version in (0, 1):
            yield CoordinatorRecord(key, TransactionLogValue(), version)
            for partitions in (None, (), some):
                value = TransactionLogValue(
                    producer_id=LONG_MAX,
                    producer_epoch=SHORT_MAX,
                    transaction_timeout_ms=900_000,
                    transaction_status=1,
                    transaction_partitions=partitions,
                    transaction_last_update_timestamp_ms=1_700_000_000_000,
                    transaction_start_timestamp_ms=-1,
                )
                yield CoordinatorRecord(key, value, version)
    key = TransactionLogKey(transactional_id="t")
    for state in STATES:
        yield CoordinatorRecord(key, TransactionLogValue(transaction_status=state), state % 2)
    yield CoordinatorRecord(key, TransactionLogValue(previous_producer_id=7), 1)
    yield CoordinatorRecord(key, TransactionLogValue(next_producer_id=0), 1)
    yield CoordinatorRecord(key, TransactionLogValue(next_producer_epoch=300), 1)
    yield CoordinatorRecord(key, TransactionLogValue(client_transaction_version=2), 1)
    tagged = TransactionLogValue(
        previous_producer_id=LONG_MAX, next_producer_id=1, next_producer_epoch=0, client_transaction_version=1
    )
    yield CoordinatorRecord(key, tagged, 1)


def vectors(jars: Path) -> str:
    """Return the text of the vectors file."""
    rows = [
        [
            record.key.api_key,
            record.version,
            to_json(record.key, 0),
            None if record.value is None else to_json(record.value, record.version),
        ]
        for record in table()
    ]
    return answered("TransactionVectors.java", jars, VERSION, rows)


if __name__ == "__main__":
    sys.exit(write(__doc__, vectors, VECTORS))
