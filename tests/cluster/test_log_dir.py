"""A node's log directory: formatted once, held by one, refused when damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from tests.cluster.image.samples import LEVEL

from doorkeeper.cluster.log_dir import (
    MetaProperties,
    format_log_directory,
    is_formatted,
    open_log_directory,
    parse_meta_properties,
)
from doorkeeper.errors import DirectoryLockedError, StorageError
from doorkeeper.wire.metadata.serde import VersionedRecord

NOW = 1_700_000_000_000
IDENTITY = MetaProperties("a-cluster", 1, UUID(int=7))


class TestLogDirectory:
    BOOTSTRAP = (VersionedRecord(LEVEL, 0),)

    def test_is_formatted_once(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "dir"
        assert not is_formatted(path)
        format_log_directory(path, IDENTITY, self.BOOTSTRAP, NOW)
        assert is_formatted(path)
        with pytest.raises(StorageError, match="formatted already"):
            format_log_directory(path, IDENTITY, self.BOOTSTRAP, NOW)
        with open_log_directory(path) as log_dir:
            assert log_dir.properties == IDENTITY
            assert log_dir.bootstrap_records() == list(self.BOOTSTRAP)

    def test_belongs_to_one_node_at_a_time(self, tmp_path: Path) -> None:
        format_log_directory(tmp_path, IDENTITY, self.BOOTSTRAP, NOW)
        with open_log_directory(tmp_path), pytest.raises(DirectoryLockedError, match="in use by another process"):
            open_log_directory(tmp_path)
        open_log_directory(tmp_path).close()

    def test_belongs_to_one_process_at_a_time(self, tmp_path: Path) -> None:
        format_log_directory(tmp_path, IDENTITY, self.BOOTSTRAP, NOW)
        program = (
            "import sys; from pathlib import Path; from doorkeeper.cluster.log_dir import open_log_directory\n"
            "open_log_directory(Path(sys.argv[1]))"
        )
        command = [sys.executable, "-c", program, str(tmp_path)]
        with open_log_directory(tmp_path):
            taken = subprocess.run(command, capture_output=True, text=True, check=False)
        free = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "DirectoryLockedError" in taken.stderr
        assert free.returncode == 0

    def test_one_that_is_not_formatted_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match=r"can't read .*meta\.properties: No such file"):
            open_log_directory(tmp_path)
        with pytest.raises(StorageError, match=r"can't open .*\.lock"):
            open_log_directory(tmp_path / "missing")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "has version none"),
            ("version=0\nnode.id=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n", "has version 0"),
            ("version=1\nnode.id=1\ncluster.id=c\n", "lacks a proper"),
            ("version=1\nnode.id=x\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n", "lacks a proper"),
            ("version=1\nnode.id=1\ncluster.id=\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n", "lacks a proper"),
            ("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=AAAA\n", "lacks a proper"),
            ("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=é!\n", "lacks a proper"),
        ],
    )
    def test_bad_meta_properties_are_refused(self, text: str, message: str) -> None:
        with pytest.raises(StorageError, match=message):
            parse_meta_properties(text, Path("meta.properties"))
