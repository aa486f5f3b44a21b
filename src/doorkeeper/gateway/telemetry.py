"""What a gateway process counts, as samples that workers can send to their supervisor and that can be added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from doorkeeper.door.verdicts import Caller
from doorkeeper.metering.exposition import Family, prometheus_text
from doorkeeper.rules.javatext import escape_for_display

MAX_OFFENDERS: Final = 1000
"""Label sets of the metric that names who broke a rule; the rest are counted together."""
SHOWN_CHARACTERS: Final = 100
OTHERS: Final = "(others)"
OFFENDER_LABELS: Final = (
    "rule",
    "api",
    "mode",
    "principal",
    "address",
    "client_id",
    "software_name",
    "software_version",
)

Kind = Literal["gauge", "counter"]


class Metric(NamedTuple):
    """One metric."""

    name: str
    kind: Kind
    help: str
    shared: bool = False
    """Whether all processes see the same thing, so that the highest number counts and not the sum."""


METRICS: Final = (
    Metric("doorkeeper_gateway_connections", "gauge", "Client connections that are open."),
    Metric("doorkeeper_gateway_connections_accepted", "counter", "Client connections let in."),
    Metric("doorkeeper_gateway_connections_refused", "counter", "Client connections beyond a limit."),
    Metric("doorkeeper_gateway_received_bytes", "counter", "Bytes from clients and from upstream."),
    Metric("doorkeeper_gateway_breaches", "counter", "Breaches of a rule, refused or not, by who did it."),
    Metric("doorkeeper_gateway_judge_failures", "counter", "Requests that could not be judged."),
    Metric("doorkeeper_gateway_nodes", "gauge", "Nodes of the cluster that are known.", shared=True),
    Metric("doorkeeper_gateway_unreachable_nodes", "gauge", "Nodes that no door could be opened for.", shared=True),
    Metric("doorkeeper_gateway_log_lines_lost", "counter", "Lines that a log's queue or disk did not take."),
    Metric("doorkeeper_gateway_ready", "gauge", "Processes that have the cluster's nodes."),
)


class Sample(NamedTuple):
    """One number."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Offenders:
    """Counts breaches by who did them; bounded, because names are the clients' own."""

    def __init__(self, max_offenders: int = MAX_OFFENDERS) -> None:
        self._max_offenders = max_offenders
        self._counts: Counter[tuple[str, ...]] = Counter()

    def note(self, rule: str, api: str, mode: str, caller: Caller, client_id: str | None) -> None:
        """One breach."""
        who = (caller.principal, caller.address, client_id or "", caller.software_name, caller.software_version)
        key = (rule, api, mode, *(escape_for_display(one, SHOWN_CHARACTERS) for one in who))
        if key not in self._counts and len(self._counts) >= self._max_offenders:
            key = (rule, api, mode, *[OTHERS] * len(who))
        self._counts[key] += 1

    def samples(self) -> list[Sample]:
        """All of them."""
        return [
            Sample("doorkeeper_gateway_breaches", tuple(zip(OFFENDER_LABELS, key, strict=True)), count)
            for key, count in self._counts.items()
        ]


def to_json(samples: Iterable[Sample]) -> list[Any]:
    """For the way to the supervisor."""
    return [[one.name, list(map(list, one.labels)), one.value] for one in samples]


def from_json(document: Iterable[Any]) -> list[Sample]:
    """What `to_json` made."""
    return [Sample(name, tuple((key, text) for key, text in labels), value) for name, labels, value in document]


def added_up(samples: Iterable[Sample]) -> Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]:
    """The samples of several processes as one, by metric and labels."""
    shared = {one.name for one in METRICS if one.shared}
    sums: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for one in samples:
        by_labels = sums.setdefault(one.name, {})
        before = by_labels.get(one.labels, 0.0)
        by_labels[one.labels] = max(before, one.value) if one.name in shared else before + one.value
    return sums


def metrics_text(samples: Iterable[Sample]) -> str:
    """The samples of one or several processes as Prometheus reads them."""
    sums = added_up(samples)
    families = []
    for metric in METRICS:
        family = Family(metric.name, metric.kind, metric.help)
        for labels, value in sums.get(metric.name, {}).items():
            family.add(labels, value)
        families.append(family)
    return prometheus_text(families)
