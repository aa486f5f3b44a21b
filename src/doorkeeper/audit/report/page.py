"""The page: sections in the order in which a manager reads, in one file that asks nobody for anything.

There is no script, and the Content-Security-Policy allows none; the only style allowed is the one whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Final, NamedTuple

from doorkeeper.audit.report import tables
from doorkeeper.audit.report.advice import (
    headline,
    next_steps,
    owners_known,
    refused_configs,
    refused_count,
    refused_values,
    subline,
    total_of,
)
from doorkeeper.audit.report.chart import chart
from doorkeeper.audit.report.markup import Html, joined, name, number, tag
from doorkeeper.audit.report.words import moment
from doorkeeper.audit.summary import Answer, Summary, Weight

_DOCTYPE: Final = Html("<!DOCTYPE html>\n")
_MARKS: Final = {
    Answer.SAFE: "M6 13l4.5 4.5L19 8",
    Answer.REFUSED: "M7 7l11 11M18 7L7 18",
    Answer.UNKNOWN: "M9 9.5a3.5 3.5 0 1 1 5 3.2c-1 .5-1.5 1-1.5 2.3M12.5 18.4v.1",
}


class Section(NamedTuple):
    """A part of the page, and the word for it in the contents."""

    anchor: str
    title: str
    body: Html


def render_report(summary: Summary) -> str:
    """The whole of `report.html`."""
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    sections = _sections(summary)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"Doorkeeper audit: {summary.answer}"),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the findings", href="#kinds", class_="skip"),
        tag("header", tag("p", "Doorkeeper audit", class_="brand"), tag("p", _about(summary), class_="quiet about")),
        tag("main", _verdict(summary), _tiles(summary), _contents(sections), *map(_section, sections)),
        tag("footer", _footer(summary)),
    )
    return _DOCTYPE + tag("html", head, body, lang="en") + "\n"


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _about(summary: Summary) -> str:
    period = ""
    if summary.first_seen:
        period = f", what was seen from {moment(summary.first_seen)} to {moment(summary.last_seen)}"
    return f"Against the limits of release {summary.release}{period}."


def _verdict(summary: Summary) -> Html:
    mark = tag(
        "svg",
        tag("circle", cx=12.5, cy=12.5, r=12),
        tag("path", d=_MARKS[summary.answer]),
        viewBox="0 0 25 25",
        class_="mark",
        aria_hidden="true",
    )
    words = tag(
        "div",
        tag("p", "May we turn the limits on?", class_="question"),
        tag("h1", headline(summary)),
        tag("p", subline(summary)),
    )
    return tag("section", mark, words, class_=f"verdict {summary.answer}", aria_label="Verdict")


def _tiles(summary: Summary) -> Html:
    figures = (
        ("Would be refused", refused_values(summary)),
        ("Times seen", refused_count(summary)),
        ("Clients concerned", owners_known(summary, summary.clients, "clients")),
        ("Configs refused", refused_configs(summary)),
        ("Client ids renamed", total_of(summary, len(summary.renamed_clients), "renamed_clients")),
        ("Could not judge", sum(summary.could_not_judge.values())),
    )
    return tag(
        "dl", *(tag("div", tag("dt", label), tag("dd", number(value))) for label, value in figures), class_="tiles"
    )


def _contents(sections: list[Section]) -> Html:
    links = (tag("li", tag("a", one.title, href=f"#{one.anchor}")) for one in sections)
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _section(section: Section) -> Html:
    return tag("section", tag("h2", section.title), section.body, id=section.anchor)


def _sections(summary: Summary) -> list[Section]:
    sections = [
        Section("kinds", "What would break", _what_breaks(summary)),
        Section("owners", "Who owns it", _owners(summary)),
        Section("time", "Refusals over time", chart(summary.timeline)),
        Section("configs", "Config changes", _configs(summary)),
        Section("names", "Metric names that change", _names(summary)),
        Section("callers", "Old API versions", _callers(summary)),
        Section("next", "What to do next", _next(summary)),
        Section("totals", "Totals", _totals(summary)),
    ]
    return sections if summary.old_callers else [one for one in sections if one.anchor != "callers"]


def _what_breaks(summary: Summary) -> Html:
    refused = [one for one in summary.findings if one.weight is Weight.REFUSED]
    other = [one for one in summary.findings if one.weight is not Weight.REFUSED]
    return joined(
        tables.kinds_table(summary.kinds),
        tag("h3", "The worst") if refused else None,
        tables.findings_table(refused, summary.omitted.get("findings", 0)) if refused else None,
        tag("h3", "Also noticed") if other else None,
        tables.findings_table(other, 0) if other else None,
    )


def _owners(summary: Summary) -> Html:
    if not (summary.principals or summary.clients or summary.software):
        return tag("p", "Nobody who is known by name.", class_="quiet")
    return joined(
        tag("p", "Whoever sent, or would have sent, something that is refused.", class_="quiet"),
        tag("h3", "By principal"),
        tables.owners_table(summary.principals, "Principals", "Principal", summary.omitted.get("principals", 0)),
        tag("h3", "By client"),
        tables.owners_table(summary.clients, "Clients", "Client id", summary.omitted.get("clients", 0)),
        tag("h3", "By client software"),
        tables.owners_table(summary.software, "Client software", "Software", summary.omitted.get("software", 0)),
    )


def _configs(summary: Summary) -> Html:
    reasons = sorted(summary.could_not_judge.items())
    return joined(
        tables.configs_table(summary.configs, summary.omitted.get("configs", 0)),
        tag("h3", "Could not be judged") if reasons else None,
        tag("ul", *(tag("li", f"{number(count)}: {reason}") for reason, count in reasons)) if reasons else None,
    )


def _names(summary: Summary) -> Html:
    return joined(
        tag(
            "p",
            "Client ids with characters that metric names and paths can't hold are URL-encoded there (KIP-190).",
            class_="quiet",
        ),
        tables.renamed_table(summary.renamed_clients, summary.omitted.get("renamed_clients", 0)),
    )


def _callers(summary: Summary) -> Html:
    told = "Who asks at a version without the new error code is told INVALID_REQUEST, and not which name is too long."
    return joined(
        tag("p", told, class_="quiet"),
        tables.callers_table(summary.old_callers, summary.omitted.get("old_callers", 0)),
    )


def _next(summary: Summary) -> Html:
    steps = (tag("li", tag("strong", f"{step.title}."), " ", step.text) for step in next_steps(summary))
    return tag("ol", *steps, class_="steps")


def _totals(summary: Summary) -> Html:
    return joined(
        tables.totals_table(summary.sources),
        tag("h3", "Could not be read") if summary.places else None,
        tables.places_table(summary.places, summary.omitted.get("places", 0)) if summary.places else None,
    )


def _footer(summary: Summary) -> Html:
    bounds = [f"{word} {moment(text)}" for word, text in (("since", summary.since), ("until", summary.until)) if text]
    where = ", ".join(one.location for one in summary.sources[:3])
    return joined(
        tag(
            "p",
            f"Generated {moment(summary.generated)}",
            f", {', '.join(bounds)}" if bounds else None,
            ". Sources: ",
            name(where),
            ".",
        ),
        tag(
            "p",
            "Names are shown shortened, with control characters as escapes. The full rows are in findings/ and "
            "summary.json.",
        ),
    )
