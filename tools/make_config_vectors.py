"""Ask Kafka's own classes about every config key with many values, and write the answers down.

    python tools/make_config_vectors.py --jars .cache/kafka-4.3.1

The table is made from the facts: for each key values that pass, the bounds and their neighbours, each way to be wrong,
and Java's odd numbers. The answers go to `tests/vectors/config-values-<version>.jsonl.gz`: a header, then lines
`[resource type, key, value, text of the parsed value, message]`, the message null where Kafka accepts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.extract_facts import ROOT, run_java

VERSION = "4.3.1"
FACTS = ROOT / "src" / "doorkeeper" / "rules" / "facts" / f"kafka-{VERSION}"
VECTORS = ROOT / "tests" / "vectors" / f"config-values-{VERSION}.jsonl.gz"
RESOURCE_TYPES = ("broker", "topic", "group", "client_metrics")

Row: TypeAlias = tuple[str, str, str | None]

LOADABLE = ["java.lang.String", "org.apache.kafka.common.metrics.JmxReporter"]
"""Class names in the table that any Kafka can load, besides the defaults."""

ANY_TEXT = ["", " ", "\u00a0", "x", " x ", "null", "true", "5", "a\nb", "ß", "😀"]
NUMBERS = [
    "", " ", "x", "0", "1", "-1", "2", "100", "1000", "+5", "-0", "+0", "007", " 5 ", "\t5\n", "\u00005\u001f",
    "5\u00a0", "\u2003" + "5", "٥", "１２", "-٥", "५०", "𝟓", "1_000", "1,000", "1 000", "1e3", "5.0", "0x10", "5L",
    "--5", "+-5", "+", "-", "Infinity", "NaN", "32767", "32768", "-32768", "-32769", "2147483647", "2147483648",
    "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "00000000000000000000000000000007", "99999999999999999999999999",
]  # fmt: skip
DOUBLES = [
    ".5", "5.", "5e-1", "5E-1", "0x1p-1", "0x.8p0", "0x1p-1d", "1d", "1f", "1D", "1e400", "1e-400", "-Infinity",
    "+Infinity", "+NaN", "-NaN", "infinity", "nan", "INF", "0.5 ", "1.0.0", "+.5", "-.5", "-0.0", "1e", "e1", ".",
    "0.1", "0.25", "0.49999", "0.50001", "1.0E10", "12345678.125", "1.5l", "1e+3", "0x1", "0.5_0", "٥.٥",
]  # fmt: skip
BOOLEANS = ["true", "false", "TRUE", "tRuE ", " False", "yes", "no", "1", "0", "", " ", "truе", "falſe", "t", "true,"]
LISTS = [
    "", " ", ",", ",,", " , ", "a", " a ", "a,b", " a , b ", "a\t,\nb", "a\u00a0,b", "a,,b", "a,a", "a, a", ",a", "a,",
    "a,b,a", "*", "a;b", "a b",
]  # fmt: skip
CLASSES = [
    *LOADABLE, f" {LOADABLE[0]} ", "", " ", "x", "no.such.Thing", ".x", "x.", "a..b", "java/lang/String", "[I",
    "[Ljava.lang.String;",
]  # fmt: skip
DURATIONS = [
    "", "P", "P1D", "p1d", "PT1H", "PT1M", "PT1S", "PT0S", "-PT0S", "PT-0S", "-PT1S", "PT-1S", "-PT-1S", "P-1D", "PT",
    "Pt", "P1DT", "P1Dt", "P1DT2H3M4.5S", "PT1.S", "PT.5S", "PT1,5S", "PT0.123456789S", "PT0.1234567890S", "PT-0.5S",
    "-PT-0.5S", "PT1.5", "P1W", "P1Y", "1D", "P1D ", "PT+1S", "PT1S-1M", "PT1H-60M", "PT1H-61M", "P٥D", "pT1ſ",
    "PT9223372036854775807S", "PT9223372036854775808S", "P106751991167300D", "P106751991167301D",
    "P106751991167300DT9223372036854775807S", "-PT-9223372036854775808S", "-PT-9223372036854775807.999999999S",
    "PT-9223372036854775808S",
]  # fmt: skip
NAMED = {
    "QuorumConfig$ControllerQuorumVotersValidator": [
        "1@h:1", "1@h:1,2@h:2", "1@[::1]:9", "1@h", "h:1", "@h:1", "x@h:1", "1@h:x", "1@h:65535", "1@h:65536", "1@:1",
        "1@h:99999999999", "1@h:1@", "1@h:1@2", "+1@h:1", "1@PLAINTEXT://h:1", "1@h h:1", "1@0.0.0.0:0", "1@h_a%b:07",
        "1@[::1:9", "1@é:1", "1@h:1,", "1@h:-1",
    ],
    "QuorumConfig$ControllerQuorumBootstrapServersValidator": [
        "h:1", "h:1,g:2", "[::1]:9", "h", ":1", "h:", "h:x", "h:65535", "h:65536", "h:99999999999", "X://h:1", "h h:1",
        "é:1", "h:1,,", "://h:1", "h:-1",
    ],
    "ThrottledReplicaListValidator": [
        "*", "* ", "*,", ",*", "*,*", "1:2", "1:2,3:4", "1:2, 3:4", "1:2,", ",1:2", "1:2,*", "1:", ":1", "1", "a:b",
        "-1:2", "1:2:3", "٥:٥", "1 :2", "none",
    ],
    "ShareGroupAutoOffsetResetStrategy$Validator": [
        "earliest", "latest", "none", "EARLIEST", " latest ", "by_duration", "BY_DURATION:P1D",
        *(f"by_duration:{text}" for text in DURATIONS),
    ],
}  # fmt: skip


def table() -> Iterator[Row]:
    """Yield every question."""
    for resource_type in RESOURCE_TYPES:
        facts = json.loads((FACTS / f"{resource_type}.json").read_text(encoding="ascii"))
        for key in facts["keys"]:
            for value in dict.fromkeys(values_for(key)):
                yield resource_type, key["name"], value


def values_for(key: Mapping[str, Any]) -> Iterator[str | None]:
    """Yield values for one key: by its type, then by its validator."""
    validator = key["validator"]
    if (validator or {}).get("name") != "ThrottledReplicaListValidator":
        yield None  # that one meets null with a NullPointerException
    if key["default"] is not None:
        yield key["default"]
    yield from by_type(key["type"])
    if validator is not None:
        yield from by_validator(validator)


def by_type(name: str) -> Sequence[str]:
    """Return the values that a type is tried with."""
    if name in ("INT", "SHORT", "LONG"):
        return NUMBERS
    return {"DOUBLE": NUMBERS + DOUBLES, "BOOLEAN": BOOLEANS, "LIST": LISTS, "CLASS": CLASSES}.get(name, ANY_TEXT)


def by_validator(validator: Mapping[str, Any]) -> Iterator[str]:
    """Yield the bounds and their neighbours, every listed value in several spellings, and what tries a ported one."""
    for bound in (validator.get("min"), validator.get("max")):
        if bound is not None:
            yield from (str(bound - 1), str(bound), str(bound + 1))
    values = validator.get("values") or []
    for value in values:
        yield from (value, f" {value} ", value.upper(), value.lower(), value.title(), value + "x")
        yield from (value.lower().replace("i", "ı").replace("s", "ſ"), f"{value},x", f"{value},", f"{value},{value}")
    if values:
        yield from (",".join(values), ",".join(reversed(values)), " , ".join(values))
    yield from NAMED.get(validator.get("name", ""), [])


def default_classes() -> list[str]:
    """Name the classes that are the default of a broker key: Kafka's own."""
    facts = json.loads((FACTS / "broker.json").read_text(encoding="ascii"))
    return [key["default"] for key in facts["keys"] if key["type"] == "CLASS" and key["default"]]


def ask(jars: Path, rows: Sequence[Row]) -> Iterator[list[str | None]]:
    """Let Kafka answer all questions in one run."""
    questions = "\n".join(json.dumps(row) for row in rows).encode("ascii")
    answers = run_java("ParseValues.java", jars, stdin=questions + b"\n").decode("ascii").splitlines()
    for row, line in zip(rows, answers, strict=True):
        text, message, *crash = json.loads(line)
        if "java.lang.NullPointerException" in crash:
            raise RuntimeError(f"Kafka crashed on {row}: leave it out of the table")
        yield [*row, text, message]


def vectors(jars: Path) -> bytes:
    """Return the text of the vectors file."""
    rows = list(table())
    header = {"kafka_version": VERSION, "rows": len(rows), "loadable_classes": LOADABLE + default_classes()}
    lines = [json.dumps(header), *(json.dumps(answer, separators=(",", ":")) for answer in ask(jars, rows))]
    return ("\n".join(lines) + "\n").encode("ascii")


def main() -> int:
    """Write the vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, required=True, help="folder with Kafka's jars")
    parser.add_argument("--out", type=Path, default=VECTORS, help="file to write (default: %(default)s)")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(gzip.compress(vectors(options.jars), mtime=0))
    print(f"wrote {options.out}, {options.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
