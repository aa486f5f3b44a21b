"""The committed facts and vectors are what Kafka's jars say today."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from tools import extract_facts, make_config_vectors

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kafka


def test_facts_are_what_the_jars_say(kafka_jars: Path) -> None:
    texts = extract_facts.extract(kafka_jars)
    assert {path.name for path in make_config_vectors.FACTS.iterdir()} == set(texts)
    assert list(extract_facts.changed(texts, make_config_vectors.FACTS)) == []


def test_value_vectors_are_what_kafkas_classes_answer(kafka_jars: Path) -> None:
    assert gzip.decompress(make_config_vectors.VECTORS.read_bytes()) == make_config_vectors.vectors(kafka_jars)
