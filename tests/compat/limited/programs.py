"""Kafka's own Java client and franz-go: small programs that read one attempt a line and answer each with a line."""

from __future__ import annotations

import subprocess
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from tests.compat.franz_go import go
from tests.compat.limited.trials import Asked, Seen

FOLDER: Final = Path(__file__).parent
JAVA: Final = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")
STOP_SECONDS: Final = 20


class Program:
    """One such program, for all attempts of a test run."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=STOP_SECONDS)

    def attempt(self, asked: Asked) -> Seen:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = (asked.servers, asked.trial, asked.value, asked.topic, asked.group, str(asked.seconds))
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the program has ended"
        worked, said = line.rstrip("\n").split("\t")
        return Seen(worked == "true", b64decode(said).decode())


def java_program(jars: Path) -> Program:
    return Program([*JAVA, "-cp", f"{jars}/*", FOLDER / "IdentifierTrials.java"])


def go_program(scratch: Path) -> Program:
    built = scratch / "trial"
    go("build", "-o", str(built), "./trial")
    return Program([built])
