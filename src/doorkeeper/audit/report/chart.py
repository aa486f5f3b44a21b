"""Refusals over time, as an inline SVG: stacked bars, one colour per kind.

The drawing holds bars and lines only and is stretched to the width there is; labels are HTML beside it, so they keep
their size on a phone. Colours come from the style sheet by class, so dark mode and print have their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from doorkeeper.audit.report.markup import Html, counted, number, tag
from doorkeeper.audit.report.words import kind_title
from doorkeeper.audit.summary import Timeline

MAX_BARS: Final = 60
FEWEST_BARS: Final = 16  # that there is room for: one hour alone is no wall
MAX_SERIES: Final = 5
OTHER: Final = "other"
WIDTH: Final = 1000
HEIGHT: Final = 300
GAP: Final = 0.22  # of a bar's room
STEPS: Final = (1, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 7 * 86400, 28 * 86400)  # seconds


@dataclass(frozen=True, slots=True)
class Bar:
    """One stretch of time, and what was refused in it."""

    start: datetime
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def bars_of(timeline: Timeline) -> tuple[timedelta, list[Bar]]:
    """The buckets, merged until at most `MAX_BARS` are left, with the empty ones between them."""
    counts: dict[int, Counter[str]] = {}
    for bucket in timeline.buckets:
        at = int(datetime.fromisoformat(bucket.start).timestamp())
        counts.setdefault(at, Counter()).update(bucket.counts)
    if not counts:
        return timedelta(seconds=timeline.bucket_seconds), []
    width = _width(min(counts), max(counts), max(timeline.bucket_seconds, 1))
    merged: dict[int, Counter[str]] = {}
    for at, one in counts.items():
        merged.setdefault(at // width, Counter()).update(one)
    first, last = min(merged), max(merged)
    return timedelta(seconds=width), [
        Bar(datetime.fromtimestamp(slot * width, UTC), dict(merged.get(slot, {}))) for slot in range(first, last + 1)
    ]


def _width(first: int, last: int, least: int) -> int:
    """The narrowest step that is not below the buckets' own and leaves few enough bars."""
    for step in (*(one for one in STEPS if one >= least), max(STEPS[-1], least)):
        if last // step - first // step < MAX_BARS:
            return step
    return ((last - first) // (MAX_BARS - 1) // STEPS[-1] + 1) * STEPS[-1]


def series_of(bars: list[Bar]) -> list[str]:
    """The kinds by weight; those beyond the fifth are one series."""
    totals: Counter[str] = Counter()
    for bar in bars:
        totals.update(bar.counts)
    kinds = [kind for kind, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]
    return kinds if len(kinds) <= MAX_SERIES + 1 else [*kinds[:MAX_SERIES], OTHER]


def nice_ceiling(value: int) -> int:
    """The least of 1, 2, 4, 6, 8, 10, 20, 30, ... that is not below the value: round, with a whole half from 2 on."""
    power = 1
    while True:
        for factor in (1, 2, 3, 4, 5, 6, 8):
            if factor * power >= value and (factor * power % 2 == 0 or factor * power == 1):
                return factor * power
        power *= 10


def chart(timeline: Timeline) -> Html:
    """The chart with its legend, and the same figures as a table."""
    step, bars = bars_of(timeline)
    if not bars:
        return tag("p", "Nothing that was seen would be refused, or it carries no time.", class_="quiet")
    series = series_of(bars)
    top = nice_ceiling(max(bar.total for bar in bars))
    return tag(
        "figure",
        _legend(series),
        tag(
            "div",
            tag("div", *(tag("span", number(value)) for value in _ticks(top)), class_="axis-y", aria_hidden="true"),
            _drawing(bars, series, top, step),
            tag("div", *(tag("span", label) for label in _labels(bars, step)), class_="axis-x", aria_hidden="true"),
            class_="chart",
        ),
        _figures(bars, series, step),
        class_="timeline",
    )


def _ticks(top: int) -> tuple[int, ...]:
    return (top, top // 2, 0) if top > 1 else (top, 0)


def _legend(series: list[str]) -> Html:
    keys = (
        tag("li", tag("span", class_=f"key series-{at}", aria_hidden="true"), _series_title(kind))
        for at, kind in enumerate(series)
    )
    return tag("ul", *keys, class_="legend")


def _series_title(kind: str) -> str:
    return "All others" if kind == OTHER else kind_title(kind)


def _share(bar: Bar, kind: str, series: list[str]) -> int:
    if kind == OTHER:
        return sum(count for one, count in bar.counts.items() if one not in series)
    return bar.counts.get(kind, 0)


def _drawing(bars: list[Bar], series: list[str], top: int, step: timedelta) -> Html:
    room = WIDTH / max(len(bars), FEWEST_BARS)
    lines = (tag("line", x1=0, x2=WIDTH, y1=y, y2=y, class_="grid") for y in (0.5, HEIGHT / 2, HEIGHT - 0.5))
    columns = (_column(bar, series, at * room, room, top, step) for at, bar in enumerate(bars))
    total = sum(bar.total for bar in bars)
    return tag(
        "svg",
        tag(
            "title", f"Refusals over time: {counted(total, 'refusal')} in {counted(len(bars), 'stretch', 'stretches')}"
        ),
        *lines,
        *columns,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
    )


def _column(bar: Bar, series: list[str], left: float, room: float, top: int, step: timedelta) -> Html | None:
    if not bar.total:
        return None
    pieces = []
    base = float(HEIGHT)
    for at, kind in enumerate(series):
        height = HEIGHT * _share(bar, kind, series) / top
        if height:
            base -= height
            pieces.append(
                tag(
                    "rect",
                    x=f"{left + room * GAP / 2:.2f}",
                    y=f"{base:.2f}",
                    width=f"{room * (1 - GAP):.2f}",
                    height=f"{height:.2f}",
                    class_=f"series-{at}",
                )
            )
    return tag("g", tag("title", f"{_when(bar.start, step)}: {number(bar.total)}"), *pieces)


def _when(start: datetime, step: timedelta) -> str:
    return start.strftime("%Y-%m-%d" if step >= timedelta(days=1) else "%Y-%m-%d %H:%M")


def _labels(bars: list[Bar], step: timedelta) -> list[str]:
    """Under the first bar and, where there are enough to tell it from the first, under the last."""
    if len(bars) < FEWEST_BARS:
        return [_when(bars[0].start, step)]
    return [_when(bars[0].start, step), _when(bars[-1].start, step)]


def _figures(bars: list[Bar], series: list[str], step: timedelta) -> Html:
    titles = [_series_title(kind) for kind in series]
    head = tag("tr", *(tag("th", title, scope="col") for title in ("From (UTC)", *titles)))
    rows = (
        tag(
            "tr",
            tag("th", _when(bar.start, step), scope="row"),
            *(_figure(_share(bar, kind, series)) for kind in series),
        )
        for bar in bars
        if bar.total
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="figures")
    return tag("details", tag("summary", "The same as a table"), tag("div", table, class_="scroll"))


def _figure(value: int) -> Html:
    return tag("td", number(value), class_="number")
