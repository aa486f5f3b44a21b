"""What a gateway loads before it opens its doors: nothing that only a few of them need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
LOADED = """
import sys
sys.modules["hypothesis"] = None  # kio imports it wherever it finds it
import doorkeeper.cli.gateway_single, doorkeeper.cli.gateway_settings
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCE)}
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    ["doorkeeper.rules.config_change", "doorkeeper.rules.config_schema", "yaml", "pyspark", "prometheus_client"],
)
def test_loads_later(loaded: set[str], module: str) -> None:
    assert "doorkeeper.gateway.process" in loaded
    assert module not in loaded
