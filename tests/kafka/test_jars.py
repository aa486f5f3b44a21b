"""What happens where Java, Maven or the jars are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.kafka import jars
from tools import maven_jars
from tools.kafka_jars import KAFKA

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def pretend(folder: Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    program.chmod(0o755)


@pytest.mark.usefixtures("nothing_installed")
class TestMissingTools:
    def test_names_java_and_the_command_that_installs_it(self, tmp_path: Path) -> None:
        with pytest.raises(maven_jars.MissingToolError, match="Java 17 or newer is needed: apt-get install"):
            KAFKA.fetch(tmp_path / "jars")

    def test_refuses_an_old_java(self, tmp_path: Path) -> None:
        pretend(tmp_path, "java", "echo 'openjdk version \"11.0.2\"' >&2")
        with pytest.raises(maven_jars.MissingToolError, match="Java 11 is too old"):
            KAFKA.fetch(tmp_path / "jars")

    def test_reads_the_old_way_to_count_java_versions(self, tmp_path: Path) -> None:
        pretend(tmp_path, "java", "echo 'java version \"1.8.0_402\"' >&2")
        assert maven_jars.java_version() == 8

    def test_names_maven_and_the_command_that_installs_it(self, tmp_path: Path) -> None:
        pretend(tmp_path, "java", "echo 'openjdk version \"17.0.1\"' >&2")
        with pytest.raises(maven_jars.MissingToolError, match=r"Maven is needed.*apt-get install maven"):
            KAFKA.fetch(tmp_path / "jars")

    def test_a_failing_maven_leaves_no_folder_that_looks_complete(self, tmp_path: Path) -> None:
        pretend(tmp_path, "java", "echo 'openjdk version \"17.0.1\"' >&2")
        pretend(tmp_path, "mvn", "exit 1")
        with pytest.raises(maven_jars.MissingToolError, match=r"could not fetch Kafka 4\.3\.1 \(exit 1\)"):
            KAFKA.fetch(tmp_path / "jars")
        assert not KAFKA.is_complete(tmp_path / "jars")

    def test_a_complete_folder_needs_neither(self, tmp_path: Path) -> None:
        folder = tmp_path / "jars"
        pretend(tmp_path, "java", "echo 'openjdk version \"21\"' >&2")
        pretend(tmp_path, "mvn", "exit 0")
        KAFKA.fetch(folder)
        (tmp_path / "java").unlink()
        (tmp_path / "mvn").unlink()
        assert KAFKA.fetch(folder) == folder

    def test_a_test_that_needs_kafka_is_skipped_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CI", raising=False)
        with pytest.raises(pytest.skip.Exception, match="Java 17"):
            jars.require_jars()

    def test_and_fails_under_ci(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        with pytest.raises(pytest.fail.Exception, match="Java 17"):
            jars.require_jars()


def test_jars_of_another_pom_do_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / maven_jars.STAMP).write_text("another\n", encoding="ascii")
    monkeypatch.setattr(jars, "require_java", lambda: "java")
    assert "make kafka" in (jars.missing(replace(KAFKA, folder=tmp_path)) or "")
