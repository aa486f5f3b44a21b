"""`doorkeeper check properties FILE`: a server.properties alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from doorkeeper.cli import EXIT_LAWFUL, EXIT_VIOLATIONS
from doorkeeper.cli.properties_file import read_properties
from doorkeeper.rules.config_change import check_properties
from doorkeeper.rules.javatext import escape_for_display

JSON_VERSION: Final = 1


@click.command("properties")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(ctx: click.Context, file: Path, format_: str) -> None:
    """Judge a server.properties file: unknown keys, types, ranges, cross-checks, all at once."""
    entries = read_properties(file)
    lines = {entry.key: entry.line for entry in entries}
    findings = [
        _repeated(key, count, lines[key]) for key, count in Counter(e.key for e in entries).items() if count > 1
    ]
    for problem in check_properties({entry.key: entry.value for entry in entries}):
        key = str(problem.parameters.get("key", "")) or None
        severity = "warning" if problem.warning else "refused"
        findings.append(
            {
                "severity": severity,
                "rule": problem.rule.value,
                "key": key,
                "line": lines.get(key or ""),
                "message": problem.message,
            }
        )
    findings.sort(key=lambda finding: (finding["line"] or 0, finding["key"] or ""))
    refused = any(finding["severity"] == "refused" for finding in findings)
    if format_ == "json":
        document = {
            "version": JSON_VERSION,
            "file": str(file),
            "verdict": "refused" if refused else "lawful",
            "findings": findings,
        }
        click.echo(json.dumps(document, indent=2))
    else:
        _show(file, findings, refused)
    ctx.exit(EXIT_VIOLATIONS if refused else EXIT_LAWFUL)


def _repeated(key: str, count: int, line: int) -> dict[str, Any]:
    message = f"'{key}' stands {count} times; the last counts"
    return {"severity": "warning", "rule": None, "key": key, "line": line, "message": message}


def _show(file: Path, findings: list[dict[str, Any]], refused: bool) -> None:
    for finding in findings:
        place = f"{file}:{finding['line']}" if finding["line"] else str(file)
        rule = f" [{finding['rule']}]" if finding["rule"] else ""
        click.echo(f"{finding['severity']}: {place}: {escape_for_display(finding['message'], limit=1000)}{rule}")
    if not refused:
        click.echo(f"lawful: {file}")
