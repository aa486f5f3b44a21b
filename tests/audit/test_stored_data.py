"""Data directories that clusters wrote, a real Kafka's and ours: the planted offenders are found, and nothing else."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.audit import planting
from tests.audit.plainly import audit_naively, audit_plainly, found_in, group_plainly
from tests.audit.planting import Planted, long_name
from tests.cluster.running import RunningCluster

from doorkeeper.audit.progress import Progress
from doorkeeper.audit.report import render_report
from doorkeeper.audit.run import AuditOptions, run_audit
from doorkeeper.audit.schemas import FINDING_KEY
from doorkeeper.audit.summary import Answer, Summary
from doorkeeper.rules.properties import decode_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.kafka.plugin import KafkaFactory

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "broker.rack": long_name("broker-rack-"),
    "offset.metadata.max.bytes": "5000",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "num.io.threads": "8",
}
NOW = datetime(2026, 11, 16, tzinfo=UTC)
BROKER_RACK = ("metadata", "RACK_ID_TOO_LONG", long_name("broker-rack-"))
CONFIGS = ("broker 1: log.retention.ms=100000", "broker 1: num.io.threads=24", "broker default: log.cleaner.threads=2")


class Story:
    """A data directory, what was planted in it, and what is in it that only a static config makes bad."""

    def __init__(self, data: Path, planted: Planted, bad_configs: Planted, static: dict[str, str]) -> None:
        self.data = data
        self.planted = planted
        self.bad_configs = bad_configs
        self.static = static


@pytest.fixture(scope="module")
def kafkas(kafka_cluster: KafkaFactory, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """What a real Kafka keeps of the story."""
    kafka = kafka_cluster("audit", properties=PROPERTIES)
    servers = kafka.bootstrap_servers
    controllers = "{}:{}".format(*next(iter(kafka.controller_addresses.values())))
    planted = {BROKER_RACK}
    with kafka.connect_broker() as connection:
        planting.plant_topic(connection)
        planted |= planting.plant_groups(servers)
        planted |= planting.plant_offset_metadata(connection)
        planted |= planting.plant_transactions(servers)
        planted |= planting.plant_member_ids(connection)
        planted |= planting.plant_share_and_streams(connection)
        planted |= planting.plant_metadata(servers)
        planted |= planting.plant_acls(servers)
    bad_configs = planting.plant_bad_configs(controllers)
    folder = kafka.nodes[1].folder
    data = tmp_path_factory.mktemp("copied") / "data"
    shutil.copytree(folder / "data", data)
    entries = decode_properties((folder / "server.properties").read_bytes())
    return Story(data, planted, bad_configs, {entry.key: entry.value for entry in entries})


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """What our cluster keeps of the parts of the story that it has: the limits are off, as in Kafka 4."""
    folder = tmp_path_factory.mktemp("ours")
    overrides = {key: value for key, value in PROPERTIES.items() if key not in ("authorizer.class.name", "super.users")}
    with RunningCluster(folder, overrides=overrides) as cluster:
        servers = cluster.bootstrap_servers
        planted = {BROKER_RACK}
        with cluster.connect() as connection:
            planting.plant_topic(connection)
            planted |= planting.plant_groups(servers)
            planted |= planting.plant_offset_metadata(connection)
            planted |= planting.plant_transactions(servers)
            planted |= planting.plant_member_ids(connection)
            planted |= planting.plant_metadata(servers)
    return Story(folder, planted, set(), {})


def unjudged(rows: list[dict[str, Any]]) -> set[str]:
    return {row["value"] for row in rows if row["verdict"] == "could_not_judge"}


@pytest.mark.kafka
class TestOfARealKafka:
    def test_the_planted_offenders_are_found_and_nothing_else(self, kafkas: Story) -> None:
        rows = audit_plainly(kafkas.data)
        assert found_in(rows) == kafkas.planted
        assert unjudged(rows) == {*CONFIGS, *(value for _, _, value in kafkas.bad_configs)}

    def test_with_the_static_configs_given_every_stored_config_is_judged(self, kafkas: Story) -> None:
        rows = audit_plainly(kafkas.data, {"1": kafkas.static})
        assert found_in(rows) == kafkas.planted | kafkas.bad_configs
        assert unjudged(rows) == set()

    def test_a_naive_loop_finds_the_same_names(self, kafkas: Story) -> None:
        quotas = {"QUOTA_ENTITY_ENCODED_TWICE", "CLIENT_ID_TOO_LONG"}
        names = {
            one
            for one in found_in(audit_plainly(kafkas.data))
            if one[1] not in quotas and not one[2].startswith("quota-")
        }
        assert audit_naively(kafkas.data) == names

    def test_the_password_of_a_scram_user_is_nowhere(self, kafkas: Story) -> None:
        assert "never shown anywhere" not in str(audit_plainly(kafkas.data))


class TestOfOurCluster:
    def test_the_planted_offenders_are_found_and_nothing_else(self, ours: Story) -> None:
        rows = audit_plainly(ours.data)
        assert found_in(rows) == ours.planted
        assert unjudged(rows) == set()

    def test_a_naive_loop_finds_the_same_names(self, ours: Story) -> None:
        quotas = {"QUOTA_ENTITY_ENCODED_TWICE", "CLIENT_ID_TOO_LONG"}
        names = {
            one
            for one in found_in(audit_plainly(ours.data))
            if one[1] not in quotas and not one[2].startswith("quota-")
        }
        assert audit_naively(ours.data) == names


def audit_on_spark(spark: SparkSession, data: Path, out: Path) -> tuple[Summary, list[dict[str, Any]]]:
    """The whole pipeline: the summary, and the rows of `findings` as they were written."""
    summary = run_audit(spark, AuditOptions((str(data),), str(out), now=NOW), Progress(None))
    return summary, pq.read_table(out / "findings").to_pylist()


@pytest.mark.kafka
def test_spark_finds_what_a_plain_loop_finds(kafkas: Story, spark: SparkSession, tmp_path: Path) -> None:
    summary, rows = audit_on_spark(spark, kafkas.data, tmp_path)
    expected = group_plainly(audit_plainly(kafkas.data))
    assert {tuple(row[name] for name in FINDING_KEY): row["count"] for row in rows} == expected
    assert len(rows) == len(expected)
    assert {(row["source"], row["rule"], row["value"]) for row in rows} == kafkas.planted
    assert summary.answer is Answer.REFUSED
    assert all(source.reconciles for source in summary.sources)
    assert {source.kind: source.malformed for source in summary.sources} == {"metadata": 0, "segments": 0}
    assert sum(summary.could_not_judge.values()) == len(CONFIGS) + len(kafkas.bad_configs)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render_report(summary)


@pytest.mark.kafka
def test_the_same_story_gives_the_same_findings_on_both(kafkas: Story, ours: Story) -> None:
    of_kafka, of_ours = found_in(audit_plainly(kafkas.data)), found_in(audit_plainly(ours.data))
    assert of_ours <= of_kafka
    assert of_kafka - of_ours == kafkas.planted - ours.planted
