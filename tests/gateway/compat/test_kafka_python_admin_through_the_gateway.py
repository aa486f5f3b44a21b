"""The suite of the embedded cluster, through a gateway before a real Kafka."""

import pytest
from tests.compat.test_kafka_python_admin import *  # noqa: F403 - the tests themselves

pytestmark = pytest.mark.kafka
