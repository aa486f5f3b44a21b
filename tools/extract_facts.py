"""Write the facts about Kafka's config keys, read out of Kafka's own jars by `tools/kafka/src/ConfigFacts.java`.

    python tools/extract_facts.py --jars .cache/kafka-4.3.1 --out src/doorkeeper/rules/facts/kafka-4.3.1

The files are stable: keys sorted by name, one per line, so that two Kafka versions can be compared with `diff`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tools" / "kafka" / "src"
JAVA_SECONDS = 120
LONG_LINE = 100


def run_java(program: str, jars: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run one of the Java programs of `tools/kafka/src` with Kafka's jars and return what it prints."""
    command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(SOURCES / program), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=JAVA_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def extract(jars: Path) -> dict[str, str]:
    """Return the text of every facts file by its name."""
    documents: dict[str, Any] = json.loads(run_java("ConfigFacts.java", jars))
    return {f"{name}.json": render(document) for name, document in documents.items()}


def render(document: Mapping[str, Any]) -> str:
    """Lay a document out with one line per config key, so that two versions of it can be compared line by line."""
    parts = [f"{_compact(name)}: {_render_member(value)}" for name, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _render_member(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {_compact(item)}" for item in value) + "\n]"
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"  {_compact(name)}: {_render_entry(item)}" for name, item in value.items()) + "\n}"
    return _compact(value)


def _render_entry(value: Any) -> str:
    line = _compact(value)
    if isinstance(value, list) and len(line) > LONG_LINE:
        return "[\n" + ",\n".join(f"    {_compact(item)}" for item in value) + "\n  ]"
    return line


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def changed(texts: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Name the files whose committed text differs."""
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="ascii") != text:
            yield name


def main() -> int:
    """Write the facts, or only compare them with what is committed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, required=True, help="folder with Kafka's jars")
    parser.add_argument("--out", type=Path, required=True, help="folder of the facts")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the committed facts differ")
    options = parser.parse_args()
    texts = extract(options.jars)
    different = list(changed(texts, options.out))
    if options.check:
        print("\n".join(f"{name} differs" for name in different) or "the facts are as Kafka's jars say")
        return 1 if different else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for name in different:
        (options.out / name).write_text(texts[name], encoding="ascii")
        print(f"wrote {options.out / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
