"""`make demo` tells the whole story, from a name judged to an offender refused, and exits 0."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 600  # seconds, on a machine that is busy with all the other tests


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    doorkeeper = tmp_path / "doorkeeper"
    doorkeeper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m doorkeeper "$@"\n', encoding="utf-8")
    doorkeeper.chmod(0o755)
    report = tmp_path / "audit" / "report.html"
    source_tree = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "DEMO_OUT": str(report.parent)}
    command = ["bash", str(ROOT / "examples" / "demo.sh"), str(doorkeeper), sys.executable]
    result = subprocess.run(command, env=source_tree, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert result.returncode == 0, result.stderr
    assert "refused: group_id" in result.stdout
    assert result.stdout.count("(refused by broker 2)") == 3
    assert "told to wait" in result.stdout
    assert "kafka.server:type=Produce,client-id=a%20b%2Fc%3Ad%2A%C3%A9%22%0A%F0%9F%98%80" in result.stdout
    if shutil.which("java") is None:
        assert "The audit needs Java" in result.stdout
        return
    assert "flink: committed a transaction" in result.stdout
    assert "Somebody would be refused." in result.stdout
    assert "flink: REFUSED: INVALID_REQUEST" in result.stdout
    assert "Not yet." in report.read_text(encoding="utf-8")
