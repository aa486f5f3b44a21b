"""`doorkeeper metadata`: look into a metadata log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.errors import DoorkeeperError

if TYPE_CHECKING:
    from doorkeeper.cluster.metadata_files import MetadataFiles

POLL_SECONDS: Final = 0.2
EXIT_COULD_NOT_READ: Final = 3


class _Unreadable(click.ClickException):
    exit_code = EXIT_COULD_NOT_READ


@click.group(name="metadata")
def metadata() -> None:
    """Look into a metadata log."""


@metadata.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--follow", is_flag=True, help="Go on with what is written from now on, until interrupted.")
def dump(path: Path, follow: bool) -> None:
    """Print a metadata log or a snapshot as JSON lines, one record each; secrets are masked.

    PATH is a log directory, its __cluster_metadata-0, a .log file or a .checkpoint file.
    """
    from doorkeeper.cluster.metadata_files import MetadataFiles

    try:
        files = MetadataFiles(path)
        _print_new(files)
        while follow:
            time.sleep(POLL_SECONDS)
            _print_new(files)
    except DoorkeeperError as error:
        raise _Unreadable(str(error)) from None
    except KeyboardInterrupt:
        return
    if files.torn_bytes:
        click.echo(f"{files.torn_bytes} bytes at the end are an unfinished write", err=True)


def _print_new(files: MetadataFiles) -> None:
    for line in _lines(files):
        click.echo(json.dumps(line, ensure_ascii=True))


def _lines(files: MetadataFiles) -> Iterator[dict[str, Any]]:
    from doorkeeper.cluster.metadata_json import batch_to_json

    for name, batch in files.poll():
        for line in batch_to_json(batch):
            yield {"file": name, **line}
