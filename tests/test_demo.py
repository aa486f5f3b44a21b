"""`make demo` shows the judgements and exits 0."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    doorkeeper = tmp_path / "doorkeeper"
    doorkeeper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m doorkeeper "$@"\n', encoding="utf-8")
    doorkeeper.chmod(0o755)
    source_tree = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = ["bash", str(ROOT / "examples" / "demo.sh"), str(doorkeeper)]
    result = subprocess.run(command, env=source_tree, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert "refused: group_id" in result.stdout
    assert result.stdout.count("(refused by broker 2)") == 3
