"""`doorkeeper metadata`: look into a metadata log."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from doorkeeper.cluster.metadata_files import MetadataFiles
from doorkeeper.cluster.metadata_json import batch_to_json

POLL_SECONDS: Final = 0.2


@click.group("metadata")
def command() -> None:
    """Look into a metadata log."""


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--follow", is_flag=True, help="Go on with what is written from now on, until interrupted.")
def dump(path: Path, follow: bool) -> None:
    """Print a metadata log or a snapshot as JSON lines, one record each; secrets are masked.

    PATH is a log directory, its __cluster_metadata-0, a .log file or a .checkpoint file.
    """
    files = MetadataFiles(path)
    _print_new(files)
    with suppress(KeyboardInterrupt):
        while follow:
            time.sleep(POLL_SECONDS)
            _print_new(files)
    if files.torn_bytes:
        click.echo(f"{files.torn_bytes} bytes at the end are an unfinished write", err=True)


def _print_new(files: MetadataFiles) -> None:
    for name, batch in files.poll():
        for line in batch_to_json(batch):
            click.echo(json.dumps({"file": name, **line}))
