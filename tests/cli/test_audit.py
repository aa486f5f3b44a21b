"""`doorkeeper audit` at its edges: help without Spark, and one sentence where the extra is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = "import sys; {before}; sys.argv = ['doorkeeper', *{arguments!r}]; from doorkeeper.cli import main; main()"


def run(before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = RUN.format(before=before, arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


def test_help_names_every_option_and_loads_no_spark() -> None:
    result = run("import atexit; atexit.register(lambda: print('pyspark' in sys.modules))", "audit", "--help")
    assert result.returncode == 0
    for option in (
        "--out",
        "--format",
        "--release",
        "--strict",
        "--since",
        "--until",
        "--broker",
        "--bootstrap-server",
    ):
        assert option in result.stdout
    for option in ("--follow", "--fail-on", "--now", "--master", "--remote", "--conf", "--packages"):
        assert option in result.stdout
    assert result.stdout.endswith("False\n")


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow", "msgspec"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    result = run(f"sys.modules[{missing!r}] = None", "audit", "nothing.log", "--out", "nowhere")
    assert result.returncode == 3
    assert result.stderr == (
        "doorkeeper: the audit needs Spark, which is an extra: pip install 'doorkeeper-kafka[audit]'\n"
    )
