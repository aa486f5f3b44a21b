"""Fetch a set of jars once, with Maven, into one folder.

A pom names the jars and builds nothing. A stamp file says that the folder is whole, and then neither Maven nor the
network is asked again. `kafka_jars.py` and `spark_jars.py` say which sets there are.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = ".complete"
OLDEST_JAVA = 17
MAVEN_SECONDS = 900


class MissingToolError(Exception):
    """Java or Maven is not there, or too old; the message says what to do."""


@dataclass(frozen=True)
class JarSet:
    """Jars that belong together: what they are called, the version that Maven is told, where the pom is."""

    title: str
    property_name: str
    version: str
    pom: Path
    folder: Path

    def fingerprint(self) -> str:
        """What the stamp of a whole folder says: the present pom, for the present version."""
        return hashlib.sha256(self.pom.read_bytes() + self.version.encode()).hexdigest()

    def is_complete(self, folder: Path | None = None) -> bool:
        """Tell whether the folder holds all the jars that the present pom names."""
        stamp = (folder or self.folder) / STAMP
        return stamp.is_file() and stamp.read_text(encoding="ascii").strip() == self.fingerprint()

    def fetch(self, folder: Path | None = None) -> Path:
        """Fill the folder unless it is whole already."""
        folder = folder or self.folder
        if self.is_complete(folder):
            return folder
        require_java()
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        self._ask_maven(partial)
        (partial / STAMP).write_text(self.fingerprint() + "\n", encoding="ascii")
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        return folder

    def jars(self) -> list[Path]:
        """The jars of the folder, sorted by name."""
        return sorted(self.folder.glob("*.jar"))

    def _ask_maven(self, folder: Path) -> None:
        maven = shutil.which("mvn")
        if maven is None:
            raise MissingToolError(f"Maven is needed to fetch the jars of {self.title}: apt-get install maven")
        command = [
            maven, "-B", "-q", "-f", str(self.pom), "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}", "-DincludeScope=runtime", f"-D{self.property_name}={self.version}",
        ]  # fmt: skip
        done = subprocess.run(command, check=False, timeout=MAVEN_SECONDS)
        if done.returncode != 0:
            raise MissingToolError(
                f"Maven could not fetch {self.title} {self.version} (exit {done.returncode}); its words are above"
            )


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
