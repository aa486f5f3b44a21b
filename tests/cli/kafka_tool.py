"""Kafka's own `kafka-configs.sh`, run from its jars, beside ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from doorkeeper.cli import root

JVM_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Dfile.encoding=UTF-8")
TOOL_SECONDS = 90
_CHATTER = ("\tat ", "\t... ", "log4j:", "SLF4J")


class Said(NamedTuple):
    """What a tool said. Lines of stdout are sorted: Kafka's tool lists entities in the order of a hash map."""

    code: int
    lines: list[str]
    errors: list[str]
    """The lines of stderr, Java's stack frames and its logging's left out."""


def kafka_configs(jars: Path, *words: str) -> Said:
    """Run Kafka's tool under a UTF-8 locale."""
    done = subprocess.run(
        ["java", *JVM_FLAGS, "-cp", f"{jars}/*", "kafka.admin.ConfigCommand", *words],
        capture_output=True,
        check=False,
        timeout=TOOL_SECONDS,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    return Said(done.returncode, _lines(done.stdout.decode()), _without_frames(done.stderr.decode()))


def doorkeeper_configs(*words: str) -> Said:
    """Run ours."""
    done = CliRunner().invoke(root, ["configs", *words])
    return Said(done.exit_code, _lines(done.stdout), _without_frames(done.stderr))


def _lines(text: str) -> list[str]:
    return sorted(text.split("\n"))


def _without_frames(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith(_CHATTER)]
