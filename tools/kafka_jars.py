"""Fetch Apache Kafka's jars once, with Maven, into one folder.

`python tools/kafka_jars.py` fills `.cache/kafka-<version>`; a stamp file says that the folder is whole, and
then neither Maven nor the network is asked again.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
POM = ROOT / "tools" / "kafka" / "pom.xml"
KAFKA_VERSION = "4.3.1"
JARS = ROOT / ".cache" / f"kafka-{KAFKA_VERSION}"
STAMP = ".complete"
OLDEST_JAVA = 17
MAVEN_SECONDS = 900


class MissingToolError(Exception):
    """Java or Maven is not there, or too old; the message says what to do."""


def java_version() -> int | None:
    """Return the major version of the `java` on the path, or nothing."""
    java = shutil.which("java")
    if java is None:
        return None
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found.group(1)) if found else None


def require_java() -> str:
    """Return the path of a Java that is new enough."""
    version = java_version()
    if version is None:
        raise MissingToolError(f"Java {OLDEST_JAVA} or newer is needed: apt-get install default-jdk-headless")
    if version < OLDEST_JAVA:
        raise MissingToolError(
            f"Java {version} is too old, {OLDEST_JAVA} or newer is needed: apt-get install default-jdk-headless"
        )
    java = shutil.which("java")
    assert java is not None
    return java


def is_complete(folder: Path) -> bool:
    """Tell whether the folder holds all the jars that the present pom names."""
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="ascii").strip() == _fingerprint()


def fetch(folder: Path = JARS) -> Path:
    """Fill the folder unless it is whole already."""
    if is_complete(folder):
        return folder
    require_java()
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingToolError("Maven is needed to fetch Kafka's jars: apt-get install maven")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = [
        maven, "-B", "-q", "-f", str(POM), "dependency:copy-dependencies",
        f"-DoutputDirectory={partial}", "-DincludeScope=runtime", f"-Dkafka.version={KAFKA_VERSION}",
    ]  # fmt: skip
    done = subprocess.run(command, check=False, timeout=MAVEN_SECONDS)
    if done.returncode != 0:
        raise MissingToolError(
            f"Maven could not fetch Kafka {KAFKA_VERSION} (exit {done.returncode}); its words are above"
        )
    (partial / STAMP).write_text(_fingerprint() + "\n", encoding="ascii")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def _fingerprint() -> str:
    return hashlib.sha256(POM.read_bytes() + KAFKA_VERSION.encode()).hexdigest()


def main() -> int:
    """Fetch, and say where the jars are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=JARS, help="folder to fill (default: %(default)s)")
    folder: Path = parser.parse_args().into
    try:
        fetch(folder)
    except MissingToolError as error:
        print(error, file=sys.stderr)
        return 3
    print(f"Kafka {KAFKA_VERSION}: {len(list(folder.glob('*.jar')))} jars in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
