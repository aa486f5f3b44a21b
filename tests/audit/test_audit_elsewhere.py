"""The same audit on a standalone cluster, and over Spark Connect: each a process of its own, as users run it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from tests.audit import plain_audit
from tests.audit.request_lines import change, heartbeat, line
from tests.kafka.jars import require
from tests.spark.plugin import spark_is_missing

ROOT = Path(__file__).parents[2]
START_SECONDS = 120
AUDIT_SECONDS = 600
SMALL = ("-Dspark.master.rest.enabled=false", "-Xmx300m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CONF = {
    "spark.driver.memory": "500m",
    "spark.executor.memory": "500m",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small log with a few offenders."""
    require(spark_is_missing(), Path())
    path = tmp_path_factory.mktemp("logs") / "requests.log"
    lines = [heartbeat("g" * 250), line(client_id="a b"), change(2, "t", ("retention.ms", 0, "x")), line()] * 5
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def environment() -> dict[str, str]:
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return os.environ | {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def audited(log: Path, out: Path, *where: str) -> None:
    """Run the command, and compare what it found with a plain loop's findings."""
    settings = [part for name, value in CONF.items() for part in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "doorkeeper", "audit", str(log), "--out", str(out), *where, *settings]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=AUDIT_SECONDS, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    rows = parquet.read_table(out / "findings").to_pylist()
    found = {plain_audit.Finding(*(row[name] for name in plain_audit.Finding._fields)): row["count"] for row in rows}
    assert found == dict(plain_audit.audit(log))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def node(folder: Path, name: str, *arguments: str) -> Iterator[Path]:
    """A process of a standalone cluster, from the jars that pyspark brings; ended at the end."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["java", *SMALL, "-cp", f"{home / 'jars'}/*", *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment() | {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},  # as load-spark-env.sh does
            cwd=folder,
        )
    try:
        yield log
    finally:
        process.terminate()
        process.wait(30)


def wait_for(log: Path, words: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while words not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)


def test_runs_on_a_standalone_cluster_with_two_workers(log: Path, tmp_path: Path) -> None:
    url = f"spark://127.0.0.1:{(port := free_port())}"
    master = "org.apache.spark.deploy.master.Master"
    worker = "org.apache.spark.deploy.worker.Worker"
    with ExitStack() as stack:
        address = ("--host", "127.0.0.1", "--webui-port", "0")
        wait_for(
            stack.enter_context(node(tmp_path, "master", master, *address, "--port", str(port))), "I have been elected"
        )
        for number in (1, 2):
            arguments = (
                worker,
                *address,
                "--cores",
                "1",
                "--memory",
                "600m",
                "--work-dir",
                str(tmp_path / f"w{number}"),
            )
            wait_for(
                stack.enter_context(node(tmp_path, f"worker-{number}", *arguments, url)), "Successfully registered"
            )
        audited(log, tmp_path / "out", "--master", url)


def test_runs_over_spark_connect(log: Path, tmp_path: Path) -> None:
    audited(log, tmp_path / "out", "--remote", "local[2]")
