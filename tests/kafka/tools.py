"""Kafka's own command line tools, all in one JVM: `tools/kafka/src/ToolServer.java` runs one after the other."""

from __future__ import annotations

import os
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

SERVER: Final = Path(__file__).parents[2] / "tools" / "kafka" / "src" / "ToolServer.java"
JVM: Final = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")
TOOL_SECONDS: Final = 60
STOP_SECONDS: Final = 20
CLASSES: Final[Mapping[str, str]] = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-metadata-shell": "org.apache.kafka.shell.MetadataShell",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactional-message-copier": "org.apache.kafka.tools.TransactionalMessageCopier",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}
"""By the name of the script that Kafka ships for each."""


class Said(NamedTuple):
    """What a tool said, and how it ended."""

    code: int
    out: str
    err: str


class KafkaTools:
    """One JVM, started at the first call. One that does not end in time costs the JVM, and the next call a new one."""

    def __init__(self, jars: Path) -> None:
        self._jars = jars
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=STOP_SECONDS)
            self._process = None

    def call(self, tool: str, *arguments: str, stdin: str = "", seconds: int = TOOL_SECONDS) -> Said:
        """Run a tool, and return what it said however it ended."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        fields = (CLASSES[tool], str(seconds), stdin, *arguments)
        process.stdin.write(",".join(b64encode(field.encode()).decode() for field in fields) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().strip()
        assert answer, f"{tool} took the whole JVM with it"
        code, out, err = answer.split(",")
        if int(code) == TOO_LATE:
            self.__exit__()
        return Said(int(code), b64decode(out).decode(), b64decode(err).decode())

    def run(self, tool: str, *arguments: str, stdin: str = "", seconds: int = TOOL_SECONDS) -> str:
        """Run a tool that must end well, and return its stdout."""
        said = self.call(tool, *arguments, stdin=stdin, seconds=seconds)
        assert said.code == 0, f"{tool} ended with {said.code}\n{said.out}\n{said.err}"
        return said.out

    def run_alone(self, tool: str, *arguments: str, seconds: int = TOOL_SECONDS) -> str:
        """Run a tool in a JVM of its own: for one whose last words are those of a shutdown hook of the JVM."""
        command = ["java", *JVM, "-cp", f"{self._jars}/*", CLASSES[tool], *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                ["java", *JVM, "-cp", f"{self._jars}/*", str(SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=os.environ | {"LC_ALL": "C.UTF-8"},
            )
        return self._process


TOO_LATE: Final = 124
"""The exit code of a tool that was given up."""
