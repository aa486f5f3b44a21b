"""Build franz-go's test binary from its module, run it against a cluster, and read what it says."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.running import HOST, RunningCluster

from doorkeeper.client import Admin, ScramMechanism, ScramUpsertion
from doorkeeper.wire.jaas import LOGIN_MODULES

MODULE: Final = Path(__file__).parent / "franz-go"
ALLOWED: Final = MODULE / "tests.allow"
FINDINGS: Final = MODULE / "FINDINGS.md"
FRANZ_GO: Final = "github.com/twmb/franz-go"
BUILD_SECONDS: Final = 900
USER, PASSWORD = "kgo", "of-the-castle"
OVERRIDES: Final = {
    "listeners": f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0,SECURE://{HOST}:0",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT",
    "listener.name.secure.sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.secure.scram-sha-256.sasl.jaas.config": f"{LOGIN_MODULES['SCRAM-SHA-256']} required;",
    # As franz-go runs its own fake: members of the newer protocol move partitions once a second, not once in five.
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
ASKS_A_BROKER: Final = re.compile(r"newTestClient|adm\(\)|tmpTopic|getSeedBrokers|testClientOpts|scramSeeds")
TOLD: Final = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """What a run said: each test's outcome, and all of its words."""

    outcomes: dict[str, str]
    words: str

    def about(self, name: str) -> str:
        """The lines that a failed test printed itself."""
        found = re.search(rf"^ *--- FAIL: {re.escape(name)} .*\n(?:^ +[^-\s].*\n)*", self.words, re.MULTILINE)
        return found.group() if found else self.words[-3000:]


def go_is_missing() -> str | None:
    """Say what is missing to build the suite, or nothing."""
    return None if shutil.which("go") else "Go is needed to run franz-go's tests: https://go.dev/doc/install"


def allowed_tests() -> list[str]:
    """The names that must pass, subtests included."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def go(*arguments: str) -> str:
    """Run a go command in our module."""
    done = subprocess.run(
        ["go", *arguments], cwd=MODULE, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def package_folder() -> Path:
    """Where Go keeps the tested package."""
    go("mod", "download")
    return Path(go("list", "-m", "-f", "{{.Dir}}", FRANZ_GO)) / "pkg" / "kgo"


def broker_tests(folder: Path) -> set[str]:
    """The tests of the package that ask a broker, by what their source mentions."""
    found = set()
    for file in folder.glob("*_test.go"):
        for function in re.split(r"(?m)^func ", file.read_text(encoding="utf-8")):
            name = re.match(r"(Test\w+)\(", function)
            if name and ASKS_A_BROKER.search(function):
                found.add(name.group(1))
    return found


def run_suite(binary: Path, scratch: Path, *, records: int, seconds: int) -> Told:
    """Run the allowed tests, all together, against a new cluster."""
    with RunningCluster(scratch, overrides=OVERRIDES) as cluster:
        asyncio.run(_store_credentials(cluster))
        secure = next(one.port for one in cluster.node().doors if one.listener == "SECURE")
        logins = {"KGO_TEST_SCRAM_SEEDS": f"{HOST}:{secure}", "KGO_TEST_SCRAM": f"{USER}:{PASSWORD}"}
        return run_against(binary, cluster.bootstrap_servers, allowed_tests(), logins, records=records, seconds=seconds)


def run_against(
    binary: Path, servers: str, names: Iterable[str], logins: Mapping[str, str], *, records: int, seconds: int
) -> Told:
    """Run these tests, all together, against a cluster that is there."""
    environment = {
        **os.environ,
        "KGO_SEEDS": servers,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(records),
        "KGO_TEST_STABLE_FETCH": "true",
        "KGO_LOG_LEVEL": "none",
        **logins,
    }
    roots = sorted({name.partition("/")[0] for name in names})
    done = subprocess.run(
        [binary, "-test.v", f"-test.timeout={seconds}s", "-test.run", f"^({'|'.join(roots)})$"],
        cwd=package_folder(),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds + 30,
        check=False,
    )
    return Told({name: outcome for outcome, name in TOLD.findall(done.stdout)}, done.stdout)


async def _store_credentials(cluster: RunningCluster) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        wanted = ScramUpsertion(USER, ScramMechanism.SCRAM_SHA_256, PASSWORD.encode())
        (await admin.alter_user_scram_credentials([wanted])).require()
