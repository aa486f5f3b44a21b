"""The report as text: what it says, in which order, and that no name can break out of its place."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.summaries import ATTACKS, EMPTY, NOW, SAFE, START, busy

from doorkeeper.audit.report import render_report
from doorkeeper.audit.report.advice import headline, next_steps
from doorkeeper.audit.report.chart import MAX_BARS, bars_of, nice_ceiling, series_of
from doorkeeper.audit.report.markup import name, safe, tag
from doorkeeper.audit.summary import Answer, Bucket, GroupedFinding, Summary, Timeline, Weight

VOID = {"meta", "br", "col", "wbr"}
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "nav", "ul", "ol", "li",
    "dl", "dt", "dd", "div", "p", "a", "h1", "h2", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td", "span",
    "strong", "code", "bdi", "wbr", "details", "summary", "figure", "svg", "g", "rect", "line", "path", "circle",
}  # fmt: skip


class Outline(HTMLParser):
    """Every element with its attributes, checked to be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, element: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((element, dict(attributes)))
        if element not in VOID:
            self._open.append(element)

    def handle_startendtag(self, element: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((element, dict(attributes)))

    def handle_endtag(self, element: str) -> None:
        assert self._open.pop() == element

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)

    def close(self) -> None:
        super().close()
        assert not self._open


def outline_of(page: str) -> Outline:
    outline = Outline()
    outline.feed(page)
    outline.close()
    return outline


def with_name(text: str) -> Summary:
    finding = GroupedFinding(
        rule="R", kind="group_id", value=text, weight=Weight.REFUSED, clients=(text,), client_count=1, detail=text
    )
    return Summary(generated=NOW, answer=Answer.REFUSED, findings=(finding,), could_not_judge={text: 1})


@pytest.mark.parametrize("summary", [busy(), busy(ATTACKS), SAFE, EMPTY], ids=["busy", "attacks", "safe", "empty"])
def test_holds_only_known_elements_and_asks_nobody_for_anything(summary: Summary) -> None:
    elements = outline_of(render_report(summary)).elements
    assert {element for element, _ in elements} <= ELEMENTS
    for _, attributes in elements:
        assert not any(one.startswith("on") for one in attributes)
        assert not {"src", "style", "srcset", "action", "data", "xlink:href"} & attributes.keys()
        assert attributes.get("href", "#").startswith("#")  # type: ignore[union-attr]


def test_the_policy_allows_nothing_but_the_pages_own_style() -> None:
    policies = [a["content"] for e, a in outline_of(render_report(SAFE)).elements if "http-equiv" in a]
    assert len(policies) == 1
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'",
        policies[0] or "",
    )


@given(st.text(st.characters(), max_size=60))
def test_no_name_changes_the_elements_of_the_page(text: str) -> None:
    elements = outline_of(render_report(with_name(text or "x"))).elements
    assert elements == outline_of(render_report(with_name("x"))).elements


@given(st.text(st.characters(), max_size=400))
def test_whatever_the_name_only_printable_characters_are_shown(text: str) -> None:
    shown = safe(text)
    assert all(character.isprintable() for character in shown)
    assert not set("<>\"'") & set(shown)
    shown.encode("utf-8")


def test_shows_invisible_characters_as_escapes() -> None:
    assert name("a\u202eb\x1b[0m") == "<code><bdi>a\\u202eb\\x1b[0m</bdi></code>"


def test_cuts_a_long_name_where_an_escape_does_not_break() -> None:
    assert name("n" * 5000, limit=10) == f"<code><bdi>{'n' * 9}…</bdi></code>"


def test_leaves_out_attributes_and_children_that_are_none() -> None:
    assert tag("p", None, "a<b", class_=None, data_label='"') == '<p data-label="&quot;">a&lt;b</p>'


def test_the_same_summary_gives_the_same_bytes() -> None:
    summary = busy(ATTACKS)
    assert render_report(summary) == render_report(Summary.from_json(summary.to_json()))


def test_says_the_verdict_before_anything_else() -> None:
    text = " ".join(outline_of(render_report(busy())).text)
    places = [
        text.index(word)
        for word in (
            "Not yet.", "What would break", "Findings by kind", "By principal", "By client software",
            "The same as a table", "Config changes and stored configs", "Client ids that are not plain",
            "Ask the owners", "What was read, and what became of it",
        )
    ]  # fmt: skip
    assert places == sorted(places)


def test_says_when_the_totals_do_not_add_up() -> None:
    source = replace(SAFE.sources[0], read=10)
    text = outline_of(render_report(replace(SAFE, sources=(source,)))).text
    assert "NO" in text
    assert "NO" not in outline_of(render_report(SAFE)).text


@pytest.mark.parametrize("answer", list(Answer))
def test_has_a_sentence_and_a_next_step_for_every_answer(answer: Answer) -> None:
    summary = replace(EMPTY, answer=answer)
    assert headline(summary) in render_report(summary)
    assert next_steps(summary)


def test_tells_to_turn_the_limits_on_only_when_it_is_safe() -> None:
    assert [step.title for step in next_steps(SAFE)] == ["Turn the limits on"]
    assert next_steps(busy())[-1].title == "Audit again, then turn the limits on"


def test_counts_what_is_not_shown() -> None:
    text = " ".join(outline_of(render_report(busy())).text)
    assert "17 more are in the findings table." in text


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 1), (1, 1), (2, 2), (3, 4), (9, 10), (11, 20), (260, 300), (700, 800)]
)
def test_the_axis_ends_at_a_round_number(value: int, expected: int) -> None:
    assert nice_ceiling(value) == expected


@given(st.dictionaries(st.integers(0, 40_000), st.integers(1, 50), max_size=80), st.integers(1, 7200))
def test_merging_buckets_loses_no_refusal_and_leaves_few_bars(counts: dict[int, int], width: int) -> None:
    buckets = tuple(
        Bucket(start=datetime.fromtimestamp(at * width, UTC).isoformat(), counts={"group_id": count})
        for at, count in counts.items()
    )
    step, bars = bars_of(Timeline(bucket_seconds=width, buckets=buckets))
    assert sum(bar.total for bar in bars) == sum(counts.values())
    assert len(bars) <= MAX_BARS
    assert all(later.start - sooner.start == step for sooner, later in pairwise(bars))


def test_keeps_hours_as_they_are_while_they_fit() -> None:
    buckets = tuple(
        Bucket(start=(START + timedelta(hours=at)).isoformat(), counts={"group_id": 1}) for at in (0, MAX_BARS - 1)
    )
    step, bars = bars_of(Timeline(buckets=buckets))
    assert (step, len(bars)) == (timedelta(hours=1), MAX_BARS)


def test_a_sixth_kind_keeps_its_colour_and_a_seventh_makes_others_of_both() -> None:
    _, bars = bars_of(busy().timeline)
    assert len(series_of(bars)) == 6
    assert series_of(bars)[-1] == "other"
    for bar in bars:
        bar.counts.pop("acl_host", None)
    assert series_of(bars)[-1] == "rack_id"
