"""The README's Python examples are true."""

import doctest
from pathlib import Path


def test_the_readmes_examples_run() -> None:
    readme = Path(__file__).parents[1] / "README.md"
    failures, tried = doctest.testfile(str(readme), module_relative=False)
    assert tried > 0
    assert failures == 0
