"""`doorkeeper check`: the rulebook without any cluster."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli import EXIT_LAWFUL, EXIT_VIOLATIONS
from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import escape_for_display
from doorkeeper.rules.names import CHECKS
from doorkeeper.rules.rulebook import Release, Rulebook
from doorkeeper.rules.verdict import Kind, Severity

if TYPE_CHECKING:
    from doorkeeper.rules.verdict import Violation

JSON_VERSION: Final = 1
LAWFUL: Final = "lawful"

SHORT_FORMS: Final = {
    "topic": Kind.TOPIC_NAME,
    "group": Kind.GROUP_ID,
    "client-id": Kind.CLIENT_ID,
    "member-id": Kind.MEMBER_ID,
    "instance-id": Kind.GROUP_INSTANCE_ID,
    "transactional-id": Kind.TRANSACTIONAL_ID,
    "offset-metadata": Kind.OFFSET_METADATA,
    "rack": Kind.RACK_ID,
    "resource": Kind.RESOURCE_NAME,
    "principal": Kind.ACL_PRINCIPAL,
    "host": Kind.ACL_HOST,
}
KINDS: Final = {**{kind.value: kind for kind in CHECKS}, **SHORT_FORMS}
_FILE_COMMANDS: Final = {
    "changes": ("doorkeeper.cli.check_changes", "A file of config changes, judged as the doors would."),
    "properties": ("doorkeeper.cli.check_properties", "A server.properties file alone."),
}


class CheckGroup(click.Group):
    """Its commands are the kinds of identifier, and the two kinds of file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*KINDS, *_FILE_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _FILE_COMMANDS:
            command = importlib.import_module(_FILE_COMMANDS[cmd_name][0]).command
            assert isinstance(command, click.Command)
            return command
        if cmd_name in KINDS:
            return _kind_command(cmd_name)
        near = difflib.get_close_matches(cmd_name, self.list_commands(ctx), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise click.UsageError(
            f"unknown kind '{escape_for_display(cmd_name)}'.{hint} Kinds: {', '.join(SHORT_FORMS)}.", ctx
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Kinds of identifier (short or long form)"):
            shown = {kind: short for short, kind in SHORT_FORMS.items()}
            formatter.write_dl([(shown.get(kind, kind.value), kind.value) for kind in CHECKS])
        with formatter.section("Files"):
            formatter.write_dl([(name, text) for name, (_, text) in _FILE_COMMANDS.items()])


@click.group("check", cls=CheckGroup, subcommand_metavar="KIND NAME...")
def command() -> None:
    """Judge names, config changes and server.properties without a cluster.

    Exit status: 0 lawful, 1 violations, 2 usage, 3 could not judge.
    """


def _kind_command(name: str) -> click.Command:
    kind = KINDS[name]

    @click.command(name, help=f"Judge identifiers of kind {kind.value}. '-' reads them from standard input.")
    @click.argument("names", nargs=-1)
    @click.option("--file", "file", type=click.Path(path_type=Path), help="Read the names from a file, one per line.")
    @click.option(
        "-0", "--null", "null", is_flag=True, help="Names in the file or input end in NUL, not in a line feed."
    )
    @click.option(
        "--release",
        type=click.Choice([release.value for release in Release]),
        default=Release.V5.value,
        show_default=True,
        help="5.0 enforces KIP-1233's limits; 4.x only says what would be refused.",
    )
    @click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
    @click.pass_context
    def check_names(
        ctx: click.Context, names: tuple[str, ...], file: Path | None, null: bool, release: str, format_: str
    ) -> None:
        if not names and file is None:
            ctx.fail("give at least one NAME, '-' for standard input, or --file")
        rulebook = Rulebook.of_release(release)
        values = list(_values(names, file, b"\0" if null else b"\n"))
        results = [(value, rulebook.check(kind, value)) for value in values]
        show = _show_json if format_ == "json" else _show_text
        show(kind, rulebook, results)
        refused = any(v is not None and rulebook.severity(v) is Severity.REFUSED for _, v in results)
        ctx.exit(EXIT_VIOLATIONS if refused else EXIT_LAWFUL)

    return check_names


def _values(names: tuple[str, ...], file: Path | None, separator: bytes) -> Iterator[str]:
    for position, name in enumerate(names, 1):
        if name == "-":
            yield from _split(_read_input(), separator, "standard input")
            continue
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"name {position} is not UTF-8: '{escape_for_display(name)}'") from error
        yield name
    if file is not None:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from error
        yield from _split(data, separator, str(file))


def _read_input() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input: closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"standard input: {error.strerror}") from error


def _split(data: bytes, separator: bytes, origin: str) -> Iterator[str]:
    """One name per piece; a last separator ends the last name, and lines may end in CR LF."""
    pieces = data.split(separator)
    if not pieces[-1]:
        pieces.pop()
    for number, piece in enumerate(pieces, 1):
        try:
            yield (piece.removesuffix(b"\r") if separator == b"\n" else piece).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{origin}: name {number} is not UTF-8 (byte {error.start} of it)") from error


def _show_text(kind: Kind, rulebook: Rulebook, results: list[tuple[str, Violation | None]]) -> None:
    for value, violation in results:
        if violation is None:
            click.echo(f"{LAWFUL}: {kind.value} '{escape_for_display(value)}'")
        else:
            click.echo(
                f"{rulebook.severity(violation).value}: {kind.value}: {violation.message} [{violation.rule.value}]"
            )


def _show_json(kind: Kind, rulebook: Rulebook, results: list[tuple[str, Violation | None]]) -> None:
    import json

    document = {
        "version": JSON_VERSION,
        "release": rulebook.release.value,
        "results": [_to_json(kind, rulebook, value, violation) for value, violation in results],
    }
    click.echo(json.dumps(document, indent=2))


def _to_json(kind: Kind, rulebook: Rulebook, value: str, violation: Violation | None) -> dict[str, Any]:
    result: dict[str, Any] = {"kind": kind.value, "value": value, "verdict": LAWFUL}
    if violation is not None:
        result |= {
            "verdict": rulebook.severity(violation).value,
            "rule": violation.rule.value,
            "length": violation.parameters["length"],
            "limit": violation.parameters["limit"],
            "unit": violation.parameters["unit"],
            "message": violation.message,
            "answer_new": int(violation.code),
            "answer_old": int(violation.code_old),
        }
    return result
