"""The summary on a terminal: the verdict first, then the ten worst."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from doorkeeper.audit.summary import Answer, GroupedFinding, Summary, Weight
from doorkeeper.rules.javatext import escape_for_display

WORST: Final = 10
_SHOWN: Final = 60  # characters of a name

_VERDICTS: Final = {
    Answer.SAFE: ("green", "Nothing that was seen would be refused."),
    Answer.REFUSED: ("red", "Somebody would be refused."),
    Answer.UNKNOWN: ("yellow", "Nothing was seen that would be refused, but not everything could be judged."),
}


def show_summary(summary: Summary, out: str, console: Console | None = None) -> None:
    """Print it; names are escaped, an attacker chose them."""
    console = console or Console(highlight=False)
    colour, words = _VERDICTS[summary.answer]
    refused = [one for one in summary.findings if one.weight is Weight.REFUSED]
    console.print(Text(f"{words} (release {summary.release})", style=f"bold {colour}"))
    for kind in summary.kinds:
        verb = "would be refused" if kind.weight is Weight.REFUSED else "to know"
        console.print(
            Text(f"  {kind.kind}: {kind.values:,} {verb}, seen {kind.count:,} times, {kind.clients:,} clients")
        )
    if summary.could_not_judge:
        total = sum(summary.could_not_judge.values())
        console.print(Text(f"  could not be judged: {total:,} ({'; '.join(summary.could_not_judge)})"))
    if refused:
        console.print(_worst(refused[:WORST]))
        more = len(refused) - WORST + summary.omitted.get("findings", 0)
        if more > 0:
            console.print(Text(f"  and {more:,} more"))
    for source in summary.sources:
        ignored = sum(source.ignored.values())
        console.print(
            Text(
                f"{source.kind}: {source.read:,} {source.unit} read = {source.judged:,} judged"
                f" + {source.malformed:,} malformed + {ignored:,} ignored"
            )
        )
    console.print(Text(f"Findings, summary.json and report.html are in {escape_for_display(out, 200)}"))


def _worst(findings: list[GroupedFinding]) -> Table:
    table = Table("kind", "value", "length", "seen", "clients", "would be told", box=None, pad_edge=False)
    for one in findings:
        table.add_row(
            Text(one.kind),
            Text(escape_for_display(one.value, _SHOWN)),
            Text("" if one.length is None or one.limit is None else f"{one.length} > {one.limit}"),
            Text(f"{one.count:,}"),
            Text(f"{one.client_count:,}"),
            Text(", ".join(map(str, one.answers))),
        )
    return table
