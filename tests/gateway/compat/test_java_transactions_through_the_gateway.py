"""The suite of the embedded cluster, through a gateway before a real Kafka; a long one, `conftest` says so."""

from tests.compat.test_java_transactions import *  # noqa: F403 - the tests themselves
