"""Kroxylicious, the gateway's peer: fetched from Maven Central, with a filter that judges the same, compiled here."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.maven_jars import ROOT, JarSet

FOLDER = Path(__file__).parent
VERSION = "0.12.0"
JARS = JarSet(
    title="Kroxylicious",
    property_name="kroxylicious.version",
    version=VERSION,
    pom=FOLDER / "pom.xml",
    folder=ROOT / ".cache" / f"kroxylicious-{VERSION}",
)
SERVICE = "io.kroxylicious.proxy.filter.FilterFactory"
COMPILE_SECONDS = 120
CONFIGURATION = """\
filterDefinitions:
  - name: judge
    type: JudgeFilterFactory
defaultFilters: [judge]
virtualClusters:
  - name: bench
    targetCluster: {{bootstrapServers: "{upstream}"}}
    gateways:
      - name: default
        portIdentifiesNode:
          bootstrapAddress: 127.0.0.1:{port}
          nodeIdRanges: [{{name: brokers, start: 1, end: 1}}]
"""


def class_path(scratch: Path) -> str:
    """Fetch the jars, compile the filter; what Java is told."""
    jars = JARS.fetch()
    classes = scratch / "classes"
    (classes / "META-INF" / "services").mkdir(parents=True, exist_ok=True)
    (classes / "META-INF" / "services" / SERVICE).write_text("doorkeeper.JudgeFilterFactory\n", encoding="ascii")
    sources = sorted(map(str, (FOLDER / "src").rglob("*.java")))
    command = ["javac", "-cp", f"{jars}/*", "-d", str(classes), *sources]
    subprocess.run(command, check=True, timeout=COMPILE_SECONDS)
    return f"{classes}:{jars}/*"


@contextmanager
def running(scratch: Path, upstream: str, port: int) -> Iterator[subprocess.Popen[str]]:
    """Kroxylicious at a port; brokers are at the ports after it. Not waited for."""
    path = class_path(scratch)
    file = scratch / "kroxylicious.yaml"
    file.write_text(CONFIGURATION.format(upstream=upstream, port=port), encoding="ascii")
    command = ["java", "-cp", path, "doorkeeper.Main", str(file)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
