"""Makes the fixtures of the oracle known to the tests beside it."""

from tests.kafka.plugin import kafka_cluster, kafka_jars

__all__ = ["kafka_cluster", "kafka_jars"]
