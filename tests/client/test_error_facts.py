"""The committed facts about Kafka's error codes are what Kafka's own classes say."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from tools.extract_facts import run_java


@pytest.mark.kafka
def test_error_codes_are_as_kafkas_jars_say(kafka_jars: Path) -> None:
    committed = json.loads(resources.files("doorkeeper.client").joinpath("error_codes.json").read_bytes())
    printed = run_java("ErrorFacts.java", kafka_jars).decode().splitlines()
    assert committed["codes"] == [json.loads(line) for line in printed]
