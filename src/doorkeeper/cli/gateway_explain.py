"""`doorkeeper gateway explain`: what the gateway does with every version of every API, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.gateway.explaining import Explanation

JSON_VERSION: Final = 1


@click.command("explain")
@click.option("--mode", "modes", multiple=True, metavar="[RULE=]off|evaluate|enforce", help="As for the gateway.")
@click.option("--unstable-versions", is_flag=True, help="As with unstable.api.versions.enable: true.")
@click.option("--api", "apis", multiple=True, metavar="NAME|KEY", help="Only these APIs.")
@click.option("--format", "format_", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
def explain(modes: Sequence[str], unstable_versions: bool, apis: Sequence[str], format_: str) -> None:
    """Print what is passed, judged, rewritten and withdrawn: every API, every version, and why."""
    from doorkeeper.gateway.explaining import explain_all
    from doorkeeper.gateway.modes import parse_modes

    rows = explain_all(parse_modes(modes), unstable_versions=unstable_versions, only=apis)
    if format_ == "json":
        click.echo(json.dumps({"version": JSON_VERSION, "apis": list(map(_to_json, rows))}, indent=2))
    elif format_ == "markdown":
        click.echo(_markdown(rows))
    else:
        for row in rows:
            click.echo(f"{row.api:<34} {_versions(row):<7} {', '.join(row.treatments):<20} {row.why}")


def _versions(row: Explanation) -> str:
    return f"v{row.first}" if row.first == row.last else f"v{row.first}-{row.last}"


def _to_json(row: Explanation) -> dict[str, Any]:
    return {
        "api": row.api,
        "api_key": row.api_key,
        "first_version": row.first,
        "last_version": row.last,
        "treatments": list(row.treatments),
        "why": row.why,
    }


def _markdown(rows: Sequence[Explanation]) -> str:
    lines = ["| API | key | versions | what | why |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {row.api} | {row.api_key} | {_versions(row)[1:]} | {', '.join(row.treatments)} | {row.why} |"
        for row in rows
    ]
    return "\n".join(lines)
