"""Drive Kafka's own quota managers through random stories on a clock that stands still, and keep their answers.

    python tools/make_quota_vectors.py --jars .cache/kafka-4.3.1

The steps are those of `tools/kafka/src/QuotaVectors.java`. The answers go to `tests/vectors/quotas-<version>.jsonl.gz`:
a header, then `[story, answers, metrics]`.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.extract_facts import ROOT, run_java
from tools.record_vectors import write

VERSION = "4.3.1"
VECTORS = ROOT / "tests" / "vectors" / f"quotas-{VERSION}.jsonl.gz"
STORIES = 250
STEPS = 60
SEED = 6
ODD = 'a b/c:d*é"\n\U0001f600'
USERS = ("ANONYMOUS", "al/ice", "")
CLIENTS = ("app", ODD, "%2A", "*", "")
ENTITIES = (None, "<default>")
WINDOWS = ((11, 1), (11, 1), (2, 1), (1, 1), (3, 2), (11, 5))
WAITS = (0, 1, 7, 50, 200, 999, 1000, 1001, 2500, 11_000, 12_000, 40_000)
VALUES = {"Produce": 100_000.0, "Fetch": 1_000_000.0, "Request": 20.0}
LIMITS = {"Produce": 10_000.0, "Fetch": 100_000.0, "Request": 1.5, "ControllerMutation": 2.0}


def story(chance: random.Random) -> dict[str, Any]:
    """One random story; some know quotas at one level only, which Kafka counts in another way."""
    samples, seconds = chance.choice(WINDOWS)
    level = chance.choice(("client", "user", "both", "any", "any"))
    steps = [_quota(chance, level) for _ in range(chance.choice((0, 1, 3)))]
    steps += [_step(chance, level) for _ in range(STEPS)]
    return {"samples": samples, "seconds": seconds, "steps": steps}


def _step(chance: random.Random, level: str) -> list[Any]:
    roll = chance.random()
    client = [chance.choice(USERS[:2]), chance.choice(CLIENTS)]
    if roll < 0.3:
        return ["wait", chance.choice(WAITS)]
    if roll < 0.4:
        return _quota(chance, level)
    if roll < 0.5:
        return ["mutate", chance.random() < 0.5, *client, [chance.choice((1, 3, 20, 100)) for _ in range(3)]]
    kind = chance.choice(tuple(VALUES))
    if roll < 0.55:
        return ["most", kind, *client]
    value = round(chance.uniform(0, 2) * VALUES[kind], 3)
    return ["unrecord" if roll < 0.58 else "record", kind, *client, value]


def _quota(chance: random.Random, level: str) -> list[Any]:
    kind = chance.choice(tuple(LIMITS))
    shape = chance.choice(("client", "user", "both")) if level == "any" else level
    user = None if shape == "client" else chance.choice((*USERS[:2], "<default>"))
    client = None if shape == "user" else chance.choice((*CLIENTS[:-1], "<default>"))
    value = None if chance.random() < 0.2 else round(chance.uniform(0.1, 2) * LIMITS[kind], 3)
    return ["quota", kind, user, client, value]


def vectors(jars: Path) -> str:
    """Return the text of the vectors file."""
    chance = random.Random(SEED)
    stories = [story(chance) for _ in range(STORIES)]
    questions = "\n".join(json.dumps(one) for one in stories).encode("ascii")
    answers = run_java("QuotaVectors.java", jars, stdin=questions + b"\n").decode("ascii").splitlines()
    lines = [json.dumps({"kafka_version": VERSION, "rows": len(stories)})]
    for one, answer in zip(stories, answers, strict=True):
        told = json.loads(answer)
        lines.append(json.dumps([one, told["answers"], told["metrics"]], separators=(",", ":")))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(write(__doc__, vectors, VECTORS))
