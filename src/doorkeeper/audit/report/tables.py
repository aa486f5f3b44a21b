"""The report's tables. On a phone a row becomes a card, so every cell carries its column's title."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from doorkeeper.audit.report.markup import SHOWN_NAME, Html, counted, joined, name, number, symbol, tag
from doorkeeper.audit.report.words import code_title, kind_title, limit_of, short_moment, size
from doorkeeper.audit.summary import (
    ConfigFinding,
    GroupedFinding,
    KindTotals,
    OldCaller,
    Owner,
    Place,
    RenamedClient,
    SourceTotals,
    Weight,
)

Row = TypeVar("Row")
SHOWN_ROWS: Final = 10  # before the fold
FOLDED_ROWS: Final = 200  # behind it; the rest is in findings/
SHOWN_CLIENTS: Final = 3
HASH_SHOWN: Final = 18  # characters at the end of a suggestion
UNKNOWN_OWNER: Final = "not known: what is stored does not say who sent it"


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A title, what stands under it, and whether that is a figure."""

    title: str
    content: Callable[[Row], str]
    is_number: bool = False
    is_wide: bool = False


def table(columns: Sequence[Column[Row]], rows: Iterable[Row], caption: str) -> Html:
    """A table, with the roles said aloud: as cards it would lose them."""
    head = tag(
        "tr",
        *(tag("th", one.title, scope="col", class_=_class(one), role="columnheader") for one in columns),
        role="row",
    )
    body = (
        tag(
            "tr",
            *(
                tag("td", tag("div", one.content(row)), class_=_class(one), data_label=one.title, role="cell")
                for one in columns
            ),
            role="row",
        )
        for row in rows
    )
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", head, role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        role="table",
        class_="cards",
    )


def _class(column: Column[Row]) -> str | None:
    return "number" if column.is_number else "wide" if column.is_wide else None


def folded(columns: Sequence[Column[Row]], rows: Sequence[Row], caption: str, omitted: int = 0) -> Html:
    """The first rows open, more behind a fold, and a word on what is not here at all."""
    if not rows:
        return tag("p", "None.", class_="quiet")
    more = rows[SHOWN_ROWS:FOLDED_ROWS]
    beyond = len(rows[FOLDED_ROWS:]) + omitted
    return joined(
        table(columns, rows[:SHOWN_ROWS], caption),
        tag("details", tag("summary", f"{number(len(more))} more"), table(columns, more, f"{caption}, continued"))
        if more
        else None,
        tag("p", f"{number(beyond)} more are in the findings table.", class_="quiet") if beyond else None,
    )


def pill(weight: Weight) -> Html:
    """The weight of a finding as a coloured word."""
    words = {Weight.REFUSED: "refused", Weight.NOTICE: "notice", Weight.UNJUDGED: "not judged"}
    return tag("span", words[weight], class_=f"pill {weight.name.lower()}")


def _bar(share: float) -> Html:
    return tag(
        "svg",
        tag("rect", x=0, y=0, width=100, height=8, rx=2, class_="track"),
        tag("rect", x=0, y=0, width=f"{max(share * 100, 1):.1f}", height=8, rx=2, class_="share"),
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


def kinds_table(kinds: Sequence[KindTotals]) -> Html:
    """What would break, by kind."""
    most = max((one.count for one in kinds), default=1) or 1
    columns: list[Column[KindTotals]] = [
        Column(
            "Kind",
            lambda one: joined(
                tag("strong", kind_title(one.kind)), " ", tag("span", limit_of(one.kind), class_="quiet")
            ),
        ),
        Column("Weight", lambda one: pill(one.weight)),
        Column("Distinct", lambda one: number(one.values), is_number=True),
        Column("Clients", lambda one: number(one.clients), is_number=True),
        Column("Times seen", lambda one: number(one.count), is_number=True),
        Column("Share", lambda one: _bar(one.count / most)),
    ]
    return folded(columns, kinds, "Findings by kind")


def findings_table(findings: Sequence[GroupedFinding], omitted: int) -> Html:
    """The worst, one row for each (rule, kind, value)."""
    columns: list[Column[GroupedFinding]] = [
        Column("Name", lambda one: joined(name(one.value), _beneath(one))),
        Column("Kind", lambda one: joined(kind_title(one.kind), tag("span", symbol(one.rule), class_="under"))),
        Column("Length", lambda one: _length(one), is_number=True),
        Column("Who", _who, is_wide=True),
        Column("Would be told", _told, is_wide=True),
        Column("Times seen", lambda one: number(one.count), is_number=True),
        Column("Last seen (UTC)", lambda one: short_moment(one.last_seen), is_number=True),
    ]
    return folded(columns, findings, "The findings, worst first", omitted)


def _told(one: GroupedFinding) -> Html:
    return joined(*(tag("span", symbol(code_title(code)), class_="line") for code in one.answers)) or Html("–")


def _length(one: GroupedFinding) -> str:
    if one.length is None:
        return "–"
    return number(one.length) if one.limit is None else f"{number(one.length)} / {number(one.limit)}"


def _beneath(one: GroupedFinding) -> Html:
    return joined(
        tag("span", "try ", name(_middle_cut(one.suggestion)), class_="under") if one.suggestion else None,
        tag("span", one.detail, class_="under") if one.detail else None,
    )


def _middle_cut(text: str) -> str:
    """A suggestion ends in a hash, which is what makes it unique: it is cut in the middle."""
    return text if len(text) <= SHOWN_NAME else f"{text[: SHOWN_NAME - HASH_SHOWN - 1]}…{text[-HASH_SHOWN:]}"


def _who(one: GroupedFinding) -> Html:
    shown = [tag("span", name(client, limit=48), class_="line") for client in one.clients[:SHOWN_CLIENTS]]
    more = one.client_count - len(shown)
    people = ", ".join(one.principals[:SHOWN_CLIENTS])
    if not shown and not people:
        return tag("span", "stored, sender unknown", class_="quiet")
    return joined(
        *shown,
        tag("span", f"and {counted(more, 'more client')}", class_="under") if more > 0 and shown else None,
        tag("span", people, class_="under") if people else None,
    )


def owners_table(owners: Sequence[Owner], caption: str, title: str, omitted: int) -> Html:
    """Who to talk to."""
    columns: list[Column[Owner]] = [
        Column(title, lambda one: name(one.name) if one.name else tag("span", UNKNOWN_OWNER, class_="quiet")),
        Column("What", lambda one: ", ".join(kind_title(kind).lower() for kind in one.kinds)),
        Column("Distinct", lambda one: number(one.values), is_number=True),
        Column("Times seen", lambda one: number(one.count), is_number=True),
        Column("Last seen (UTC)", lambda one: short_moment(one.last_seen), is_number=True),
    ]
    known_first = sorted(owners, key=lambda one: not one.name)
    return folded(columns, known_first, caption, omitted)


def configs_table(configs: Sequence[ConfigFinding], omitted: int) -> Html:
    """Config changes seen, and configs stored."""
    columns: list[Column[ConfigFinding]] = [
        Column("Resource", lambda one: name(one.resource)),
        Column("Key", lambda one: joined(name(one.key), tag("span", symbol(one.rule), class_="under"))),
        Column("Verdict", lambda one: joined(pill(one.weight), tag("span", one.reason, class_="under"))),
        Column(
            "Where", lambda one: "stored" if one.stored else f"{one.door} door" if one.door != "both" else "both doors"
        ),
        Column(
            "Who",
            lambda one: joined(
                one.principal or "–", tag("span", name(one.client_id), class_="under") if one.client_id else None
            ),
        ),
        Column("Times", lambda one: number(one.count), is_number=True),
        Column("Last seen (UTC)", lambda one: short_moment(one.last_seen), is_number=True),
    ]
    return folded(columns, configs, "Config changes and stored configs", omitted)


def renamed_table(clients: Sequence[RenamedClient], omitted: int) -> Html:
    """Client ids whose metric names change."""
    columns: list[Column[RenamedClient]] = [
        Column("Client id", lambda one: name(one.client_id)),
        Column("In metric names and quota paths", lambda one: name(one.sanitized, limit=300)),
        Column(
            "Merged by a lossy exporter with",
            lambda one: joined(*(tag("span", name(other, 48), class_="line") for other in one.merged_with)) or "–",
        ),
        Column("Times seen", lambda one: number(one.count), is_number=True),
    ]
    return folded(columns, clients, "Client ids that are not plain", omitted)


def callers_table(callers: Sequence[OldCaller], omitted: int) -> Html:
    """Callers on old API versions."""
    columns: list[Column[OldCaller]] = [
        Column("API", lambda one: f"{one.api} v{one.version}"),
        Column("Means", lambda one: "removed in Kafka 4" if one.removed else "can't understand the new error code"),
        Column("Software", lambda one: name(one.software) if one.software else "–"),
        Column("Requests", lambda one: number(one.count), is_number=True),
    ]
    return folded(columns, callers, "Callers on old API versions", omitted)


def totals_table(sources: Sequence[SourceTotals]) -> Html:
    """What was read went somewhere."""
    columns: list[Column[SourceTotals]] = [
        Column("Source", lambda one: joined(tag("strong", one.kind), " ", name(one.location))),
        Column("Size", lambda one: joined(size(one.bytes), tag("span", counted(one.files, "file"), class_="under"))),
        Column("Read", lambda one: f"{number(one.read)} {one.unit}", is_number=True),
        Column("Judged", lambda one: number(one.judged), is_number=True),
        Column("Malformed", lambda one: number(one.malformed), is_number=True),
        Column("Ignored", _ignored),
        Column("Adds up", lambda one: "yes" if one.reconciles else "NO", is_number=True),
    ]
    return folded(columns, sources, "What was read, and what became of it")


def _ignored(one: SourceTotals) -> Html:
    if not one.ignored:
        return joined("–")
    reasons = sorted(one.ignored.items(), key=lambda item: (-item[1], item[0]))
    return joined(*(tag("span", f"{number(count)} {reason}", class_="line") for reason, count in reasons))


def places_table(places: Sequence[Place], omitted: int) -> Html:
    """What could not be read, with its place."""
    columns: list[Column[Place]] = [
        Column("File", lambda one: name(one.file)),
        Column("At", lambda one: number(one.at), is_number=True),
        Column("What is wrong", lambda one: one.reason),
    ]
    return folded(columns, places, "Lines and batches that could not be read", omitted)
