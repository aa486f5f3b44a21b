"""The suite of the embedded cluster, through a gateway before a real Kafka."""

import pytest
from tests.compat.test_java_tools import *  # noqa: F403 - the tests themselves

pytestmark = pytest.mark.long  # type: ignore[assignment] - the suite's own mark says kafka
