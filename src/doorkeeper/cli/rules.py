"""`doorkeeper rules`: the whole rulebook as a table; `--fields`: the field map of Kafka's requests."""

from __future__ import annotations

import csv
import io
import json
from typing import Final

import click

from doorkeeper.rules.catalogue import CATALOGUE
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.fields import CSV_HEADER, to_csv_rows

JSON_VERSION: Final = 1
_RULE_HEADER: Final = ("rule", "asks", "answer", "answer_old", "switch", "source", "since")

_RULES_INTRO: Final = """\
`switch` says whether `resource.identifier.limit.enable` turns the rule on. `answer` is the error code for a client that
asked at the RPC version which knows the new code, `answer_old` for one that asked at an older one; where there are two,
INVALID_REQUEST is a broker's and INVALID_CONFIG a topic's or group's. `source` is the proposal, or the class of Apache
Kafka 4.3.1 that enforces it; `since` is Kafka's first release line that does so on the broker's path."""
_FIELDS_INTRO: Final = "Which string field of which request holds which kind of identifier."


@click.command("rules")
@click.option("--fields", is_flag=True, help="The field map instead: which request field holds which identifier.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "markdown", "json", "csv"]), default="text", show_default=True
)
def command(fields: bool, format_: str) -> None:
    """Print the whole rulebook, or the field map of Kafka's requests."""
    header, rows = (CSV_HEADER, [tuple(map(str, row)) for row in to_csv_rows()]) if fields else (_RULE_HEADER, _rules())
    match format_:
        case "csv":
            click.echo(_csv(header, rows), nl=False)
        case "json":
            records = [dict(zip(header, row, strict=True)) for row in rows]
            click.echo(json.dumps({"version": JSON_VERSION, "fields" if fields else "rules": records}, indent=2))
        case "markdown":
            click.echo(_markdown(fields, header, rows), nl=False)
        case _:
            click.echo(_columns(header, rows), nl=False)


def _rules() -> list[tuple[str, ...]]:
    return [
        (
            info.rule.value,
            info.text,
            _answers(info.codes),
            _answers(info.codes_old),
            "yes" if info.governed else "no",
            info.source,
            info.since,
        )
        for info in CATALOGUE.values()
    ]


def _answers(codes: tuple[ErrorCode, ...]) -> str:
    return " or ".join(f"{code.name} ({code.value})" for code in codes)


def _csv(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def _columns(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    )
    return "\n".join(lines) + "\n"


def _markdown(fields: bool, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    title = "Field map" if fields else "The rulebook"
    intro = _FIELDS_INTRO if fields else _RULES_INTRO
    lines = [f"# {title}", "", "<!-- Made by `doorkeeper rules --format markdown`; do not edit. -->", "", intro, ""]
    lines.append("| " + " | ".join(header) + " |")
    lines.append("|" + " --- |" * len(header))
    lines.extend("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return "\n".join(lines) + "\n"
