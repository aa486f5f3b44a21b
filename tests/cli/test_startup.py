"""What starting up may import."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def imported_by(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has imported after running the code."""
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_the_rulebook_imports_the_standard_library_only() -> None:
    code = (
        "import doorkeeper.rules, pkgutil, importlib\n"
        "for m in pkgutil.iter_modules(doorkeeper.rules.__path__, 'doorkeeper.rules.'): importlib.import_module(m.name)"
    )
    foreign = imported_by(code) - imported_by("pass") - set(sys.stdlib_module_names) - {"doorkeeper"}
    assert foreign == set()


@pytest.mark.parametrize("arguments", [["--help"], ["check", "group", "x"]])
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    code = f"from doorkeeper.cli import root\ntry: root({arguments!r})\nexcept SystemExit: pass"
    assert imported_by(code) & {"kio", "pyspark", "rich", "yaml", "asyncio", "uvloop", "json5"} == set()


def test_a_node_imports_nothing_that_it_does_not_need() -> None:
    code = (
        "sys.modules['hypothesis'] = None  # kio imports it wherever it finds it\n"
        "import doorkeeper.cli.serve, doorkeeper.cluster.process, doorkeeper.cluster.layout"
    )
    assert imported_by(code) & {"rich", "yaml", "pyspark", "crc32c", "email", "zipfile", "argparse", "shutil"} == set()


def test_the_script_does_without_hypothesis_which_kio_imports_wherever_it_finds_it() -> None:
    code = (
        "from doorkeeper.cli import main\n"
        "sys.argv = ['doorkeeper', 'serve', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "import kio.static.primitive"
    )
    assert imported_by(code) & {"_pytest", "pytest", "sortedcontainers"} == set()
