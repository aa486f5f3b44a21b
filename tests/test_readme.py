"""The README's Python examples are true."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
INSTALL_SECONDS = 300


def test_the_readmes_examples_run() -> None:
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 0
    assert failures == 0


def test_the_readmes_test_file_passes_where_nothing_but_the_project_and_pytest_is_installed(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?def test_.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert sum(bool(line) for line in text.splitlines()) <= 10
    (tmp_path / "test_orders.py").write_text(text, encoding="utf-8")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist"))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "new", with_pip=True)
    python = str(tmp_path / "new" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", str(wheel), "pytest")
    told = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_orders.py"), cwd=tmp_path)
    assert "1 passed" in told


def run(*command: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
