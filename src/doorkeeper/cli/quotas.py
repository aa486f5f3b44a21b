"""`doorkeeper quotas`: client quotas in bulk, from and to a file, in as few requests as possible."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli import EXIT_LAWFUL, EXIT_VIOLATIONS

if TYPE_CHECKING:
    from doorkeeper.cli.quotas_plan import Alterations, Difference
    from doorkeeper.client import Admin
    from doorkeeper.rules.client_id import QuotaEntity

JSON_VERSION: Final = 1


def _connected(function: Callable[..., None]) -> Callable[..., None]:
    """The options that say which cluster."""
    for option in (
        click.option(
            "--command-config", type=click.Path(path_type=Path), help="Client properties: security, time-outs."
        ),
        click.option("--bootstrap-server", required=True, help="Brokers to connect to, as host:port,..."),
    ):
        function = option(function)
    return function


def _open(bootstrap_server: str, command_config: Path | None) -> Admin:
    from doorkeeper.client import Admin
    from doorkeeper.client.settings import ClientSettings, load_settings

    settings = ClientSettings()
    if command_config is not None:
        settings, _ = load_settings(command_config)
        for name in settings.unused:
            click.echo(f"{command_config}: '{name}' is not used.", err=True)
    return Admin(bootstrap_server, settings=settings)


@click.group("quotas")
def command() -> None:
    """Apply, export and compare client quotas in bulk.

    The file is a list, in YAML or JSON; null is the default entity, a quota of null removes it:

    \b
      - entity: {user: alice, client-id: null}
        quotas: {producer_byte_rate: 1048576, request_percentage: null}
    """


@command.command("export")
@_connected
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A file in place of stdout.")
def export(bootstrap_server: str, command_config: Path | None, output: Path | None) -> None:
    """Write all quotas of a cluster as a file that `apply` takes."""
    from doorkeeper.cli.quotas_file import dump_quotas

    async def ask() -> str:
        async with _open(bootstrap_server, command_config) as admin:
            return dump_quotas(await admin.describe_client_quotas())

    text = asyncio.run(ask())
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        click.echo(f"Wrote {output}.", err=True)


@command.command("diff")
@click.argument("file", type=click.Path(path_type=Path))
@_connected
@click.option("--listed-only", is_flag=True, help="Leave out quotas that the file does not speak of.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def diff(
    ctx: click.Context, file: Path, bootstrap_server: str, command_config: Path | None, listed_only: bool, format_: str
) -> None:
    """Say what differs between FILE and a cluster; exit 1 if anything does.

    Lines begin with + (only in the file), - (only in the cluster) or ~ (another value).
    """
    from doorkeeper.cli.quotas_file import load_quotas
    from doorkeeper.cli.quotas_plan import differences, encoded_twins

    wanted = load_quotas(file)

    async def ask() -> dict[QuotaEntity, dict[str, float]]:
        async with _open(bootstrap_server, command_config) as admin:
            return await admin.describe_client_quotas()

    present = asyncio.run(ask())
    found = [one for one in differences(wanted, present) if one.listed or not listed_only]
    twins = encoded_twins(present)
    if format_ == "json":
        click.echo(json.dumps(_diff_json(found, twins), indent=2))
    else:
        for one in found:
            click.echo(_diff_line(one))
        _show_twins(twins)
    ctx.exit(EXIT_VIOLATIONS if found else EXIT_LAWFUL)


def _diff_line(one: Difference) -> str:
    from doorkeeper.cli.quotas_file import show_entity
    from doorkeeper.rules.javatext import format_double

    entity = show_entity(one.entity)
    if one.in_cluster is None:
        assert one.in_file is not None
        return f"+ {entity}: {one.key}={format_double(one.in_file)}"
    if one.in_file is None:
        return f"- {entity}: {one.key}={format_double(one.in_cluster)}"
    return f"~ {entity}: {one.key}={format_double(one.in_cluster)} -> {format_double(one.in_file)}"


def _diff_json(found: list[Difference], twins: dict[QuotaEntity, QuotaEntity]) -> dict[str, Any]:
    from doorkeeper.cli.quotas_file import to_names, to_record

    return {
        "version": JSON_VERSION,
        "differences": [
            to_record(one.entity, key=one.key, in_cluster=one.in_cluster, in_file=one.in_file, listed=one.listed)
            for one in found
        ],
        "encoded": [to_record(entity, stands_for=to_names(decoded)) for entity, decoded in twins.items()],
    }


def _show_twins(twins: dict[QuotaEntity, QuotaEntity]) -> None:
    from doorkeeper.cli.quotas_file import show_entity

    for entity, decoded in twins.items():
        click.echo(f"Looks encoded: {show_entity(entity)} may stand for {show_entity(decoded)}.", err=True)
    if twins:
        click.echo("`doorkeeper quotas repair` moves such quotas to the names that clients have.", err=True)


@command.command("apply")
@click.argument("file", type=click.Path(path_type=Path))
@_connected
@click.option("--prune", is_flag=True, help="Remove quotas that the file does not speak of.")
@click.option("--dry-run", is_flag=True, help="Have the changes judged, and store nothing.")
@click.pass_context
def apply(
    ctx: click.Context, file: Path, bootstrap_server: str, command_config: Path | None, prune: bool, dry_run: bool
) -> None:
    """Make a cluster's quotas what FILE says; quotas that it does not speak of stay."""
    from doorkeeper.cli.quotas_file import load_quotas
    from doorkeeper.cli.quotas_plan import differences, to_alterations

    wanted = load_quotas(file)

    async def ask() -> int:
        async with _open(bootstrap_server, command_config) as admin:
            found = differences(wanted, await admin.describe_client_quotas())
            alterations = to_alterations([one for one in found if one.listed or prune])
            return await _send(admin, alterations, dry_run=dry_run)

    ctx.exit(asyncio.run(ask()))


@command.command("repair")
@_connected
@click.option("--dry-run", is_flag=True, help="Say what would be moved, have it judged, and store nothing.")
@click.pass_context
def repair(ctx: click.Context, bootstrap_server: str, command_config: Path | None, dry_run: bool) -> None:
    """Move quotas from URL-encoded names, as older clusters stored them, to the names that clients have (KIP-190)."""
    from doorkeeper.cli.quotas_file import show_entity
    from doorkeeper.cli.quotas_plan import encoded_twins, repaired

    async def ask() -> int:
        async with _open(bootstrap_server, command_config) as admin:
            present = await admin.describe_client_quotas()
            twins = encoded_twins(present)
            for entity, decoded in twins.items():
                click.echo(f"{show_entity(entity)} -> {show_entity(decoded)}")
            return await _send(admin, repaired(twins, present), dry_run=dry_run)

    ctx.exit(asyncio.run(ask()))


async def _send(admin: Admin, alterations: Alterations, *, dry_run: bool) -> int:
    """Send the changes, request by request; progress and refusals go to stderr, the sum to stdout."""
    from doorkeeper.cli.quotas_file import show_entity
    from doorkeeper.cli.quotas_plan import requests
    from doorkeeper.rules.javatext import escape_for_display

    total, done, refused = len(alterations), 0, 0
    for sent, batch in enumerate(requests(alterations), 1):
        results = await admin.alter_client_quotas(batch, validate_only=dry_run)
        done += len(batch)
        refused += len(results.errors)
        for entity, error in results.errors.items():
            click.echo(f"Refused: {show_entity(entity)}: {escape_for_display(str(error), limit=1000)}", err=True)
        click.echo(f"{done} of {total} entities in {sent} request(s)", err=True)
    verb = "Validated" if dry_run else "Applied"
    click.echo(f"{verb} the quotas of {total - refused} entities, {refused} refused.")
    return EXIT_VIOLATIONS if refused else EXIT_LAWFUL
