"""Let Kafka's own classes write the records of share and streams groups, and keep the bytes.

    python tools/make_newer_group_vectors.py --jars .cache/kafka-4.3.1

Every type as a tombstone, with an empty value, with nothing but nulls, and filled to the brim. The answers go to
`tests/vectors/newer-group-records-<version>.jsonl`, in the shape of the coordinator records' vectors.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.extract_facts import ROOT
from tools.make_coordinator_vectors import LONG, ODD, VERSION, to_json
from tools.record_vectors import answered, write

from doorkeeper.wire.coordinator_records import RecordKey
from doorkeeper.wire.metadata.schema import FieldSpec, Message, Struct, specs_of
from doorkeeper.wire.share_group_records import SHARE_GROUP_RECORDS, SHARE_STATE_RECORDS
from doorkeeper.wire.streams_group_records import STREAMS_GROUP_RECORDS

VECTORS = ROOT / "tests" / "vectors" / f"newer-group-records-{VERSION}.jsonl"
SHARE_STATE = "share-state-"


def filled(kind: type[Struct], depth: int = 0) -> Struct:
    """A structure with something in every field; each number and text is its own."""
    return kind(**{name: _content(spec, at, depth) for at, (name, spec) in enumerate(specs_of(kind).items(), 1)})


def _content(spec: FieldSpec, at: int, depth: int) -> Any:
    if spec.is_array:
        return tuple(_one(spec, at + extra, depth) for extra in (0, 120))
    return _one(spec, at, depth)


def _one(spec: FieldSpec, at: int, depth: int) -> Any:
    match spec.kafka_type:
        case "struct":
            assert spec.struct is not None
            return filled(spec.struct, depth + 1)
        case "string":
            return (LONG, ODD, f"name-{at}")[(at + depth) % 3]
        case "uuid":
            return uuid.UUID(int=at << 120 | 7)
        case "bytes":
            return bytes((at,))
        case "int8":
            return at % 100
        case _:
            return at * 3


def nulls(kind: type[Struct]) -> Struct:
    """A structure whose nullable fields are null."""
    values: dict[str, Any] = {name: None for name, spec in specs_of(kind).items() if spec.nullable}
    return kind(**values)


def questions(types: tuple[tuple[type[RecordKey], type[Message]], ...], prefix: str = "") -> Iterator[list[Any]]:
    """The rows of one table of types."""
    for key_class, value_class in types:
        record_type = f"{prefix}{key_class.api_key}" if prefix else key_class.api_key
        key = to_json(filled(key_class), 0)
        for value in (None, value_class(), nulls(value_class), filled(value_class)):
            yield [record_type, 0, key, None if value is None else to_json(value, 0)]


def vectors(jars: Path) -> str:
    """Return the text of the vectors file."""
    rows = [
        *questions(SHARE_GROUP_RECORDS),
        *questions(STREAMS_GROUP_RECORDS),
        *questions(SHARE_STATE_RECORDS, SHARE_STATE),
    ]
    return answered("CoordinatorVectors.java", jars, VERSION, rows)


if __name__ == "__main__":
    sys.exit(write(__doc__, vectors, VECTORS))
