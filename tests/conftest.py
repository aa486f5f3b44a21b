"""Hypothesis profiles: `deterministic` for every run, `exhaustive` for `make test-long`."""

import os

from hypothesis import settings
from tests.kafka.plugin import kafka_cluster, kafka_jars, kafka_tools
from tests.spark.plugin import spark

__all__ = ["kafka_cluster", "kafka_jars", "kafka_tools", "spark"]  # fixtures, each once for the whole session

settings.register_profile("deterministic", derandomize=True, deadline=None, max_examples=100, database=None)
settings.register_profile("exhaustive", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))
