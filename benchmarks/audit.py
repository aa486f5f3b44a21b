"""The audit against DuckDB on the same request log: who is over the limits, counted by API, version and client.

Both have two threads, run in alternation and must find the same. DuckDB's side parses each line once and takes the
identifiers that the log's APIs have, as one would write it in SQL. Spark's session start stands apart from reading and
judging, and is in the figure from end to end. Other sizes: `python -m benchmarks.audit --megabytes 1024 --rounds 3`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.request_log import Planted, write_log
from benchmarks.watched import Watched

ROUNDS = 3
MEGABYTES = 4096
THREADS = 2
AT_LEAST = 2.0
END_TO_END_AT_LEAST = 1.0
_MEGABYTE = 1_000_000

_SINGLE = {
    "client_id": "$.requestHeader.clientId",
    "group_id": "$.request.groupId",
    "transactional_id": "$.request.transactionalId",
    "group_instance_id": "$.request.groupInstanceId",
    "rack_id": "$.request.rackId",
}
_LISTS = {
    "topic_name_of_fetch": "$.request.topics[*].topic",
    "topic_name": "$.request.topics[*].name",
    "topic_name_of_produce": "$.request.topicData[*].name",
    "offset_metadata": "$.request.topics[*].partitions[*].committedMetadata",
}
_LIMITS = {"offset_metadata": 4096}
_LIMIT = 249


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one side."""

    seconds: float
    """Without starting the session or the process."""
    end_to_end: float
    cpu: float
    """Of all its processes."""
    found: dict[tuple[str, str], int]
    """(kind, value) of what is over its limit, to how often."""

    @property
    def summed_up(self) -> str:
        """In one line."""
        return f"{self.seconds:.1f} s, {self.end_to_end:.1f} s from end to end, {self.cpu:.1f} s of CPU"


def _duckdb(log: Path) -> Run:
    run = Watched([sys.executable, "-m", "benchmarks.audit", "--duckdb", str(log)])
    document = json.loads(run.stdout)
    found = {(kind, value): count for kind, value, count in document["found"]}
    return Run(document["seconds"], run.seconds, run.cpu, found)


def _ask_duckdb(log: Path) -> None:
    """What the child process does: ask, and print the answer."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    started = time.monotonic()
    header = ("$.requestHeader.requestApiKey", "$.requestHeader.requestApiVersion")
    paths = ", ".join(f"'{path}'" for path in (*header, *_SINGLE.values()))
    arrays = ", ".join(f"json_extract_string(document, '{path}') AS {name}" for name, path in _LISTS.items())
    singles = [
        f"CASE WHEN length(one[{at}]) > {_LIMIT} THEN [['{name}', one[{at}]]] ELSE [] END"
        for at, name in enumerate(_SINGLE, 3)
    ]
    long_ones = {name: f"list_filter({name}, lambda x: length(x) > {_LIMITS.get(name, _LIMIT)})" for name in _LISTS}
    several = [f"list_transform({those}, lambda x: ['{name}', x])" for name, those in long_ones.items()]
    connection.execute(
        f"""CREATE TEMP TABLE counted AS
        WITH lines AS (
            SELECT substr(line, strpos(line, '{{'), length(line) - strpos(line, '{{') - 22) AS document
            FROM read_csv('{log}', columns = {{'line': 'VARCHAR'}}, delim = '\x01', quote = '', escape = '',
                          header = false, auto_detect = false, max_line_size = 16777216)
        ), parsed AS (SELECT json_extract_string(document, [{paths}]) AS one, {arrays} FROM lines)
        SELECT one[1] AS api, one[2] AS version, one[3] AS client_id, {" || ".join([*singles, *several])} AS long,
               count(*) AS count
        FROM parsed GROUP BY ALL"""
    )
    rows = connection.execute(
        "SELECT it[1], it[2], sum(count) FROM (SELECT unnest(long) AS it, count FROM counted) GROUP BY ALL"
    ).fetchall()
    found = [(kind.partition("_of_")[0], value, int(count)) for kind, value, count in rows]
    print(json.dumps({"seconds": time.monotonic() - started, "found": found}))


def audit(log: Path, out: Path, *settings: str) -> Run:
    """Run the audit; `settings` are Spark's, as in `--conf`."""
    command = [sys.executable, "-m", "doorkeeper", "audit", f"requests:{log}", "--out", str(out)]
    given = [part for one in settings for part in ("--conf", one)]
    run = Watched([*command, "--master", f"local[{THREADS}]", *given])
    (seconds,) = (float(line.split()[1]) for line in run.stderr.splitlines() if line.startswith("audit: "))
    document = json.loads((out / "summary.json").read_text())
    found = {(one["kind"], one["value"]): one["count"] for one in document["findings"] if one["weight"] == "refused"}
    return Run(seconds, run.seconds, run.cpu, found)


def compare(log: Path, planted: Planted, rounds: int = ROUNDS) -> list[Row]:
    """Run both sides in alternation, check that they agree, and give the rows of RESULTS.md."""
    ours, peers = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            peers.append(_duckdb(log))
            ours.append(audit(log, Path(folder) / str(number)))
            print(peers[-1].summed_up, ours[-1].summed_up, file=sys.stderr)
            if not peers[-1].found == ours[-1].found == planted.counts:
                raise AssertionError("the two sides do not find the same")
    megabytes = log.stat().st_size / _MEGABYTE
    return [
        _row(
            "MB/s, session start apart",
            megabytes,
            [one.seconds for one in ours],
            [one.seconds for one in peers],
            AT_LEAST,
        ),
        _row(
            "MB per second of CPU, session start in it",
            megabytes,
            [one.cpu for one in ours],
            [one.cpu for one in peers],
            END_TO_END_AT_LEAST,
        ),
        _row(
            "MB/s from end to end",
            megabytes,
            [one.end_to_end for one in ours],
            [one.end_to_end for one in peers],
            END_TO_END_AT_LEAST,
        ),
    ]


def _row(what: str, megabytes: float, ours: list[float], peers: list[float], at_least: float) -> Row:
    our_speed, peer_speed = megabytes / statistics.median(ours), megabytes / statistics.median(peers)
    ratio = our_speed / peer_speed
    title = f"{what}, {megabytes / 1000:.1f} GB"
    return Row(title, f"{our_speed:.0f}", f"{peer_speed:.0f}", ratio, f">= {at_least:g}x", ratio >= at_least)


def rows(megabytes: int = MEGABYTES, rounds: int = ROUNDS) -> list[Row]:
    """What `make bench` asks for."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "kafka-request.log"
        return compare(log, write_log(log, megabytes), rounds)


def main() -> None:
    """Compare at one size, or be DuckDB's side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--duckdb", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.duckdb is not None:
        _ask_duckdb(arguments.duckdb)
        return
    for row in rows(arguments.megabytes, arguments.rounds):
        print(f"{row.what}: {row.ours} to {row.peer} = {row.ratio:.2f}x (target {row.target})")


if __name__ == "__main__":
    main()
