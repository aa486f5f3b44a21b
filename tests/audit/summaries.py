"""Summaries for the tests of the report: a calm one, an empty one, and one full of attacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from doorkeeper.audit.summary import (
    Answer,
    Bucket,
    ConfigFinding,
    GroupedFinding,
    KindTotals,
    OldCaller,
    Owner,
    Place,
    RenamedClient,
    SourceTotals,
    Summary,
    Timeline,
    Weight,
)

NOW = "2026-11-16T04:30:00+00:00"
START = datetime(2026, 11, 9, tzinfo=UTC)
ATTACKS = (
    "</script><script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "\"'><svg/onload=document.title='pwned'>",
    "</style><style>*{display:none}</style>",
    "javascript:document.title='pwned'",
    "&lt;b&gt; &#x3c;script&#x3e;",
    "right\u202eto\u2066left\u200f",
    "nul\x00 esc\x1b[31m bell\x07 line\nfeed\u2028sep\u0085nel",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "\ud800 lone",
    "😀" * 150,
    "w" * 5000,
    "https://example.com/tracker.png",
)

SAFE = Summary(
    generated=NOW,
    answer=Answer.SAFE,
    sources=(SourceTotals(kind="requests", location="logs", files=1, bytes=4096, read=9, judged=9),),
)
EMPTY = Summary(generated=NOW)


def busy(names: tuple[str, ...] = (), buckets: int = 150) -> Summary:
    """An audit with something in every section; `names` take the places of names."""
    names = names or tuple(f"checkout-service-{at}-7f9c{at}d5b-{'x' * 10}" for at in range(40))
    kinds = ("group_id", "client_id", "transactional_id", "member_id", "topic_name", "rack_id", "acl_host")
    return Summary(
        generated=NOW,
        answer=Answer.REFUSED,
        first_seen=START.isoformat(),
        last_seen=(START + timedelta(days=7)).isoformat(),
        since=START.isoformat(),
        sources=(
            SourceTotals(
                kind="requests", location="/var/log/kafka/kafka-request.log*", files=24, bytes=12_884_901_888,
                read=48_211_903, judged=1_022_117, malformed=3,
                ignored={"no identifier can be too long": 47_189_700, "older text form": 83},
            ),
            SourceTotals(
                kind="segments", location="/data/kafka", files=61, bytes=1_288_490_188, unit="records", read=90_311,
                judged=90_300, malformed=1, ignored={"tombstone": 10},
            ),
        ),
        places=tuple(Place(source="requests", file=name, at=at, reason=name) for at, name in enumerate(names[:20])),
        kinds=(
            *(
                KindTotals(
                    kind=kind, weight=Weight.REFUSED, values=9 - at, count=40_000 // (at + 1) ** 2, clients=3 + at
                )
                for at, kind in enumerate(kinds)
            ),
            KindTotals(kind="config_change", weight=Weight.UNJUDGED, values=2, count=2, clients=1),
        ),
        findings=tuple(
            GroupedFinding(
                rule="GROUP_ID_TOO_LONG", kind=kinds[at % len(kinds)], value=name,
                weight=Weight.REFUSED if at % 5 else Weight.NOTICE, length=250 + at, limit=249,
                unit="UTF-16 code units", apis=("JOIN_GROUP",), answers=(42, 134), clients=(name, "other"),
                client_count=7, principals=(name, "User:alice"), sources=("requests",), first_seen=NOW, last_seen=NOW,
                count=12_345 // (at + 1), suggestion=name, detail=name,
            )
            for at, name in enumerate(names)
        ),
        principals=tuple(
            Owner(name=f"User:{name}", values=3, count=900, kinds=kinds[:2], last_seen=NOW) for name in names
        ),
        clients=tuple(Owner(name=name, values=1, count=90, kinds=kinds[:1], last_seen=NOW) for name in names),
        software=(Owner(name="apache-kafka-java 3.9.0", values=12, count=41_000, kinds=kinds[:4], last_seen=NOW),),
        timeline=Timeline(
            buckets=tuple(
                Bucket(
                    start=(START + timedelta(hours=at)).isoformat(),
                    counts={kind: (at * 37 + place * 11) % (60 // (place + 1)) for place, kind in enumerate(kinds)},
                )
                for at in range(buckets)
                if at % 9
            )
        ),
        configs=tuple(
            ConfigFinding(
                resource="broker default", key=name, rule="CONFIG_VALUE_INVALID",
                weight=Weight.REFUSED if at % 2 else Weight.UNJUDGED, reason=f"Invalid value {name}",
                door="controller" if at % 3 else "both", stored=at % 2 == 0, principal="User:ops", client_id=name,
                last_seen=NOW,
            )
            for at, name in enumerate(names[:8])
        ),
        renamed_clients=tuple(
            RenamedClient(client_id=name, sanitized="a%20b", count=11, merged_with=names[:2]) for name in names[:6]
        ),
        old_callers=(
            OldCaller(api="JOIN_GROUP", version=5, count=771, removed=False, software="librdkafka 2.6.0"),
            OldCaller(api="FETCH", version=3, count=12, removed=True),
        ),
        could_not_judge={"the value is hidden": 4, "the state before the change is unknown": 1},
        omitted={"findings": 17, "clients": 3},
    )  # fmt: skip
