"""Random texts for random keys: Kafka's own classes and ours must say the same, to the letter."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tools import make_config_vectors

from doorkeeper.rules.config_schema import (
    RESOURCE_TYPES,
    ConfigProblem,
    ConfigType,
    convert_to_string,
    load_schema,
    parse_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.kafka

ROWS = 6000
SEED = 19931
PIECES = [
    *"0123456789+-.,:@*_ eExXpPdDfFlLtTsS[]/%abc\t\n\x00\x1f\x7f\xa0", "٥", "１", "ſ", "ı", "İ", "K", "ß", "ﬁ",
    "\u2003", "\u3000", "\u2028", "\u0085", "😀", "𝟓", "NaN", "Infinity", "0x", "true", "false", "null", "compact",
    "delete", "by_duration:", "P", "1D", "T1H", "T-1S", "1@h:1", "h:1", "1:2", "9223372036854775807", "2147483648",
    "1e3", "0.5",
]  # fmt: skip


def random_rows(count: int, seed: int) -> Iterator[make_config_vectors.Row]:
    dice = random.Random(seed)
    # a class name means what the class path says, and Java before 19 prints some doubles too long
    excluded = {ConfigType.CLASS, ConfigType.DOUBLE}
    keys = [
        (kind, key)
        for kind in RESOURCE_TYPES
        for key in load_schema(kind).values()
        if key.type not in excluded and key.name != "resource.identifier.limit.enable"
    ]
    unusual = [(kind, key) for kind, key in keys if type(key.validator).__name__ not in ("NoneType", "Range")]
    for _ in range(count):
        kind, key = dice.choice(dice.choice([keys, unusual]))
        listed = list(getattr(key.validator, "values", None) or ())
        text = "".join(dice.choices(PIECES + listed * 5, k=dice.choice([1, 1, 2, 2, 3, 5, 8])))
        yield kind, key.name, text


def test_kafka_and_the_rulebook_agree_on_random_texts(kafka_jars: Path) -> None:
    different = []
    for kind, name, text, *kafkas in make_config_vectors.ask(kafka_jars, list(random_rows(ROWS, SEED))):
        assert kind is not None
        assert name is not None
        answer = parse_value(load_schema(kind)[name], text)
        ours = [None, answer.message] if isinstance(answer, ConfigProblem) else [convert_to_string(answer), None]
        if ours != kafkas:
            different.append((kind, name, text, kafkas, ours))
    assert different == []
