"""Ask Java which texts are regular expressions, and write it down: `python -m tests.equivalence.record_patterns`."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from tools.extract_facts import run_java
from tools.kafka_jars import JARS

VECTORS = Path(__file__).parents[1] / "vectors" / "java-patterns.jsonl"
LENGTHS = (1, 2, 3, 4, 5)
TEXTS = 4000
PIECES = (
    "a", "b", ".", "*", "+", "?", "{2}", "{2,}", "{2,3}", "{2,1}", "{", "}", "{,3}", "{99999999999}", "(", ")",
    "(?:", "(?=", "(?!", "(?<=a)", "(?<!b)", "(?>", "(?<n>", "(?<n1>", "(?<1>", "(?i)", "(?i:", "(?-i)",
    "(?i-s:", "(?y)", "(?", "[", "]", "[^", "-", "&&", "|", "^", "$", "\\", "\\d", "\\D", "\\b", "\\k<n>",
    "\\k<m>", "\\k", "\\1", "\\0", "\\07", "\\08", "\\x", "\\x41", "\\x4g", "\\x{41}", "\\x{110000}", "\\x{}",
    "\\x{4", "\\u0041", "\\u", "\\u004g", "\\p{L}", "\\p{Lu}", "\\pL", "\\p{Nope}", "\\p{", "\\p{IsAlphabetic}",
    "\\p{IsLatin}", "\\p{IsLu}", "\\p{IsNope}", "\\p{InGreek}", "\\p{InNope}", "\\p{gc=Lu}", "\\p{gc=Xx}",
    "\\p{sc=Latin}", "\\p{script=Nope}", "\\p{x=y}", "\\p{javaLowerCase}", "\\P{Alpha}", "\\Q", "\\E",
    "\\Q(\\E", "\\y", "\\.", "\\-", "z-a", "a-z", "\\cA", "\\c", "\\N{LATIN SMALL LETTER A}", "\\N{NOPE}",
    "\\N", "\\R", "\\X", "\\h", "\\G", "\\e", "#", " ", "\u00e9", "&", "[a&&b]", "[a-]", "[]a]", "[[a]b]",
    "[a&&]", "[&&]", "[\\b]", "[\\d-z]", "[z-\\.]", ",", "\\\U0001f600",
)  # fmt: skip


def texts() -> list[str]:
    """The pieces, and pieces put together by lot; the same in every run."""
    lot = Random("patterns")
    mixed = ("".join(lot.choice(PIECES) for _ in range(lot.choice(LENGTHS))) for _ in range(TEXTS))
    return list(dict.fromkeys((*PIECES, *mixed)))


def ask(patterns: list[str]) -> list[bool]:
    """What Java says to each."""
    lines = []
    for pattern in patterns:
        units = pattern.encode("utf-16-be")
        lines.append(" ".join(units[at : at + 2].hex() for at in range(0, len(units), 2)))
    answers = run_java("PatternVectors.java", JARS, stdin=("\n".join(lines) + "\n").encode("ascii"))
    return [line == "1" for line in answers.decode("ascii").split()]


if __name__ == "__main__":
    asked = texts()
    rows = [json.dumps([text, compiles]) for text, compiles in zip(asked, ask(asked), strict=True)]
    VECTORS.write_text("\n".join((json.dumps({"java": 17}), *rows)) + "\n", encoding="ascii")
