"""Let Kafka's own converters show requests and responses of every version as JSON, and keep what they show.

    python tools/make_json_vectors.py --jars .cache/kafka-4.3.1

The answers go to `tests/vectors/message-json-<version>.jsonl.gz`: a header, then lines
`[API key, version, request or response, bytes, JSON]`, bytes in base64.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kio.schema.errors import ErrorCode
from tools.extract_facts import ROOT, run_java
from tools.record_vectors import write

from doorkeeper.wire.codec import encode_body
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import API_KEYS, message_classes, newest_version, oldest_version
from doorkeeper.wire.schema import Shape, shape_of, tag_of

VERSION = "4.3.1"
VECTORS = ROOT / "tests" / "vectors" / f"message-json-{VERSION}.jsonl.gz"
SEED = 6
TEXTS = ("", "a", 'a b/c:d*é"\n\U0001f600', "\u2028\x7f\x85", "\x00\x1f\t\\", "x" * 40, "\ufffd")
SPARED_TAGS = 0.5

PRIMITIVES: dict[str, Callable[[random.Random], Any]] = {
    "int8": lambda dice: dice.randint(-128, 127),
    "uint8": lambda dice: dice.randint(0, 255),
    "int16": lambda dice: dice.randint(-(2**15), 2**15 - 1),
    "uint16": lambda dice: dice.randint(0, 2**16 - 1),
    "int32": lambda dice: dice.randint(-(2**31), 2**31 - 1),
    "uint32": lambda dice: dice.randint(0, 2**32 - 1),
    "int64": lambda dice: dice.randint(-(2**63), 2**63 - 1),
    "uint64": lambda dice: dice.randint(0, 2**64 - 1),
    "float64": lambda dice: dice.choice((0.0, -1.5, 1e7, 1e-5, 1e300, 100_000.0)),
    "bool": lambda dice: dice.random() < 0.5,
    "string": lambda dice: dice.choice(TEXTS),
    "bytes": lambda dice: dice.randbytes(dice.randrange(5)),
    "records": lambda dice: b"",
    "error_code": lambda dice: dice.choice(list(ErrorCode)),
    "timedelta_i32": lambda dice: timedelta(milliseconds=dice.randint(-1, 2**31 - 1)),
    "timedelta_i64": lambda dice: timedelta(milliseconds=dice.randint(-1, 10**12)),
    "datetime_i64": lambda dice: datetime.fromtimestamp(dice.randint(0, 10**10) / 1000, UTC),
    "uuid": lambda dice: dice.choice((None, UUID(int=dice.getrandbits(128)))),
}


def message(entity: type[Any], dice: random.Random) -> Any:
    """A random message of a class."""
    values = {
        one.name: _value(shape_of(one), dice)
        for one in fields(entity)
        if tag_of(one) is None or dice.random() > SPARED_TAGS
    }
    return build(entity, values)


def _value(shape: Shape, dice: random.Random) -> Any:
    if shape.nullable and dice.random() < 0.2:
        return None
    if shape.array:
        return tuple(_item(shape, dice) for _ in range(dice.randrange(3)))
    return _item(shape, dice)


def _item(shape: Shape, dice: random.Random) -> Any:
    if shape.entity is not None:
        return message(shape.entity, dice)
    return PRIMITIVES[str(shape.kafka_type)](dice)


def questions() -> list[tuple[int, int, str, bytes]]:
    """Two of each class."""
    dice = random.Random(SEED)
    asked = []
    for api_key in sorted(API_KEYS):
        for version in range(oldest_version(api_key), newest_version(api_key) + 1):
            classes = message_classes(api_key, version)
            for kind, entity in (("request", classes.request), ("response", classes.response)):
                asked += [(api_key, version, kind, encode_body(message(entity, dice))) for _ in range(2)]
    return asked


def vectors(jars: Path) -> str:
    """Return the text of the vectors file; messages that Kafka's own classes refuse are left out."""
    asked = questions()
    lines = "".join(f"{key} {version} {kind} {body.hex()}\n" for key, version, kind, body in asked)
    answers = run_java("MessageJson.java", jars, stdin=lines.encode("ascii")).decode("ascii").splitlines()
    rows = []
    for (key, version, kind, body), answer in zip(asked, answers, strict=True):
        if answer.startswith("!"):
            print(key, version, kind, answer[:150], file=sys.stderr)
        else:
            rows.append([key, version, kind, base64.b64encode(body).decode("ascii"), json.loads(answer)])
    header = json.dumps({"kafka_version": VERSION, "rows": len(rows)})
    return "\n".join([header, *(json.dumps(row, separators=(",", ":")) for row in rows)]) + "\n"


if __name__ == "__main__":
    sys.exit(write(__doc__, vectors, VECTORS))
