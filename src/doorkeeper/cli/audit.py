"""`doorkeeper audit SOURCE... --out DIR`: who would be refused, from what a cluster has already seen and stored."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli import EXIT_LAWFUL, EXIT_VIOLATIONS
from doorkeeper.cli.properties_file import load_properties
from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import escape_for_display
from doorkeeper.rules.rulebook import Release

if TYPE_CHECKING:
    from doorkeeper.audit.run import AuditOptions
    from doorkeeper.audit.session import SessionSettings

INSTALL: Final = "the audit needs Spark, which is an extra: pip install 'doorkeeper-kafka[audit]'"

_Wrapped = Callable[..., Any]


def _spark_options(wrapped: _Wrapped) -> _Wrapped:
    for option in (
        click.option("--packages", multiple=True, metavar="MAVEN", help="Jars for Spark to fetch, as in spark-submit."),
        click.option(
            "--conf", "conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting, as in spark-submit."
        ),
        click.option("--remote", metavar="URL", help="Use Spark Connect: sc://host:15002."),
        click.option(
            "--master", metavar="URL", help="Where Spark runs: local[2], spark://…, yarn, k8s://…  [local[*]]"
        ),
    ):
        wrapped = option(wrapped)
    return wrapped


@click.command("audit")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--out", required=True, metavar="DIR", help="Where tables, summary.json and report.html go; may be a URI."
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(["parquet", "delta"]),
    default="parquet",
    show_default=True,
    help="Tables written anew, or merged on every run.",
)
@click.option(
    "--release",
    type=click.Choice([release.value for release in Release]),
    default=Release.V5.value,
    show_default=True,
    help="Whose limits are in force: 5.0 refuses, 4.x only tells.",
)
@click.option("--strict", is_flag=True, help="Decode every line, also those that can't hold anything to tell.")
@click.option("--since", metavar="TIME", help="Ignore what is older; ISO 8601, UTC unless it says otherwise.")
@click.option("--until", metavar="TIME", help="Ignore what is as new or newer.")
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    metavar="ID=FILE",
    help="A broker's server.properties, to judge config changes by; once for each broker.",
)
@click.option("--bootstrap-server", metavar="HOST:PORT", help="The cluster whose topics are sources (topic:NAME).")
@click.option("--command-config", type=click.Path(path_type=Path), help="Properties of a client, for topic:NAME.")
@click.option("--follow", is_flag=True, help="Keep findings current while topic:NAME grows; with --format delta.")
@click.option("--trigger", default="10 seconds", show_default=True, help="How often --follow looks.")
@click.option(
    "--fail-on", type=click.Choice(["refused"]), help="Exit with 1 if anything would be refused; for pipelines."
)
@click.option("--now", metavar="TIME", help="The run's own time, for documents that are the same byte for byte.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@_spark_options
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Tell who would be refused, from request logs, log segments, metadata and verdicts, on Apache Spark.

    A SOURCE is a file, folder, glob or URI, recognised by what it holds, or named by a prefix: requests:, segments:,
    metadata:, verdicts:, or topic:NAME for a live topic.

    Exit status: 0 done, 1 refusals found (with --fail-on), 2 usage, 3 could not judge.
    """
    options = _audit_options(given)
    settings = _session_settings(given)
    _check_follow(given)
    try:
        from pyspark.errors import PySparkException

        from doorkeeper.audit.progress import Progress
        from doorkeeper.audit.session import make_session
    except ModuleNotFoundError as error:
        raise InputError(INSTALL) from error
    started = time.monotonic()
    spark = make_session(settings)
    progress = Progress(None if given["quiet"] else sys.stderr, spark)
    progress.done("starting Spark", started)
    if given["follow"]:
        from doorkeeper.audit.follow import follow

        follow(spark, options, given["trigger"], progress)
        return
    from doorkeeper.audit.run import run_audit
    from doorkeeper.audit.summary import Answer
    from doorkeeper.audit.terminal import show_summary

    try:
        summary = run_audit(spark, options, progress)
    except PySparkException as error:
        raise InputError(f"Spark could not do it: {_first_line(error)}") from error
    show_summary(summary, options.out)
    refused = given["fail_on"] == "refused" and summary.answer is Answer.REFUSED
    ctx.exit(EXIT_VIOLATIONS if refused else EXIT_LAWFUL)


def _first_line(error: Exception) -> str:
    return escape_for_display(str(error).strip().partition("\n")[0], 300)


def _audit_options(given: dict[str, Any]) -> AuditOptions:
    try:
        from doorkeeper.audit.requests.lines import parse_time
        from doorkeeper.audit.run import AuditOptions
        from doorkeeper.audit.tables import TableFormat
    except ModuleNotFoundError as error:
        raise InputError(INSTALL) from error

    def time(name: str) -> int | None:
        text = given[name]
        try:
            return None if text is None else parse_time(text)
        except ValueError as error:
            shown = escape_for_display(text)
            raise click.BadParameter(f"'{shown}' is no time in ISO 8601", param_hint=f"--{name}") from error

    now = time("now")
    return AuditOptions(
        sources=given["sources"],
        out=given["out"],
        release=Release(given["release"]),
        strict=given["strict"],
        since=time("since"),
        until=time("until"),
        table_format=TableFormat(given["table_format"]),
        brokers=_brokers(given["brokers"]),
        now=None if now is None else datetime.fromtimestamp(now / 1_000_000, UTC),
        bootstrap_server=given["bootstrap_server"],
        kafka_options=load_properties(given["command_config"]) if given["command_config"] else {},
    )


def _brokers(options: Sequence[str]) -> dict[int, dict[str, str]]:
    brokers: dict[int, dict[str, str]] = {}
    for option in options:
        number, equals, path = option.partition("=")
        if not equals or not (number.isascii() and number.isdigit()):
            raise click.BadParameter(f"'{escape_for_display(option)}' is not ID=FILE", param_hint="--broker")
        if int(number) in brokers:
            raise click.BadParameter(f"broker {number} is given twice", param_hint="--broker")
        brokers[int(number)] = dict(load_properties(Path(path)))
    return brokers


def _session_settings(given: dict[str, Any]) -> SessionSettings:
    from doorkeeper.audit.session import SessionSettings

    conf = {}
    for setting in given["conf"]:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.BadParameter(f"'{escape_for_display(setting)}' is not NAME=VALUE", param_hint="--conf")
        conf[name] = value
    packages = tuple(package for option in given["packages"] for package in option.split(","))
    delta = given["table_format"] == "delta"
    return SessionSettings(given["master"], given["remote"], conf, packages, delta)


def _check_follow(given: dict[str, Any]) -> None:
    topics = [source for source in given["sources"] if source.startswith("topic:")]
    if topics and not given["bootstrap_server"]:
        raise click.UsageError("topic: needs --bootstrap-server")
    if not given["follow"]:
        return
    if given["table_format"] != "delta":
        raise click.UsageError(
            "--follow needs --format delta: Parquet files can't be updated while somebody reads them"
        )
    if len(topics) != len(given["sources"]):
        raise click.UsageError("--follow reads topics only: topic:NAME")
