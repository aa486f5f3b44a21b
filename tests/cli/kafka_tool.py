"""Kafka's own `kafka-configs.sh`, run from its jars, beside ours."""

from __future__ import annotations

from typing import NamedTuple

from click.testing import CliRunner
from tests.kafka.tools import KafkaTools

from doorkeeper.cli import root

_CHATTER = ("\tat ", "\t... ", "log4j:", "SLF4J")


class Said(NamedTuple):
    """What a tool said. Lines of stdout are sorted: Kafka's tool lists entities in the order of a hash map."""

    code: int
    lines: list[str]
    errors: list[str]
    """The lines of stderr, Java's stack frames and its logging's left out."""


def kafka_configs(tools: KafkaTools, *words: str) -> Said:
    """Run Kafka's tool."""
    done = tools.call("kafka-configs", *words)
    return Said(done.code, _lines(done.out), _without_frames(done.err))


def doorkeeper_configs(*words: str) -> Said:
    """Run ours."""
    done = CliRunner().invoke(root, ["configs", *words])
    return Said(done.exit_code, _lines(done.stdout), _without_frames(done.stderr))


def _lines(text: str) -> list[str]:
    return sorted(text.split("\n"))


def _without_frames(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith(_CHATTER)]
