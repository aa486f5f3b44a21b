"""Ask a real Kafka the whole corpus and write it down: `python -m tests.equivalence.record [configuration...]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.equivalence.cases import write_vectors
from tests.equivalence.configurations import CONFIGURATIONS
from tests.equivalence.corpus import cases_of
from tests.equivalence.oracle import Oracle, cluster_of
from tools.kafka_jars import JARS

VECTORS = Path(__file__).parents[1] / "vectors"


def vector_path(configuration: str) -> Path:
    """The file of one configuration."""
    return VECTORS / f"config-verdicts-{configuration}.jsonl.gz"


def record(configuration: str) -> None:
    """Start Kafka, ask, write."""
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster_of(CONFIGURATIONS[configuration], JARS, Path(folder)) as kafka,
        Oracle(kafka) as oracle,
    ):
        vectors = [oracle.answer(case) for case in cases_of(configuration)]
    write_vectors(vector_path(configuration), configuration, vectors)
    print(f"{configuration}: {len(vectors)} cases in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    for name in sys.argv[1:] or CONFIGURATIONS:
        record(name)
