"""Streams that fail: one line at most, and never the status that says 'violations'."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DOORKEEPER = f"{sys.executable} -m doorkeeper"


def run(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("redirect", "words"), [("<&-", "standard input: closed"), ("0>/dev/null", "standard input: Bad file descriptor")]
)
def test_an_input_that_cannot_be_read_is_one_line(redirect: str, words: str) -> None:
    result = run(f"{DOORKEEPER} check group - {redirect}")
    assert (result.returncode, result.stderr) == (3, f"doorkeeper: {words}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["check group x", "rules", "rules --format json"])
def test_a_full_disk_is_one_line(command: str) -> None:
    result = run(f"{DOORKEEPER} {command} > /dev/full")
    assert (result.returncode, result.stderr) == (3, "doorkeeper: output: No space left on device\n")


def test_a_reader_that_leaves_hears_nothing() -> None:
    result = run(f"yes name | head -100000 | {DOORKEEPER} check group - | head -1; echo ${{PIPESTATUS[2]}}")
    assert (result.stdout, result.stderr) == ("lawful: group_id 'name'\n3\n", "")
