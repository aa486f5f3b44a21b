"""The verdict in sentences, and what to do next: derived from the summary alone, so that it can be tested."""

from __future__ import annotations

from typing import NamedTuple

from doorkeeper.audit.report.markup import counted, number
from doorkeeper.audit.report.words import kind_title
from doorkeeper.audit.summary import Answer, Owner, Summary, Weight
from doorkeeper.rules.rulebook import LIMIT_SWITCH
from doorkeeper.rules.verdict import Kind


class Step(NamedTuple):
    """One thing to do: what, and why or how."""

    title: str
    text: str


def refused_values(summary: Summary) -> int:
    """Distinct identifiers and changes that would be refused."""
    return sum(one.values for one in summary.kinds if one.weight is Weight.REFUSED)


def refused_count(summary: Summary) -> int:
    """How often they were seen."""
    return sum(one.count for one in summary.kinds if one.weight is Weight.REFUSED)


def owners_known(summary: Summary, owners: tuple[Owner, ...], name: str) -> int:
    """Owners that have a name, with those that did not fit."""
    return total_of(summary, sum(1 for one in owners if one.name), name)


def total_of(summary: Summary, listed: int, name: str) -> int:
    """The rows of a list, with those that did not fit."""
    return listed + summary.omitted.get(name, 0)


def refused_configs(summary: Summary) -> int:
    """Config changes and stored configs that would be refused."""
    return sum(1 for one in summary.configs if one.weight is Weight.REFUSED) + summary.omitted.get("configs", 0)


def headline(summary: Summary) -> str:
    """The answer to: may we turn the limits on?"""
    match summary.answer:
        case Answer.REFUSED:
            return "Not yet. Turned on today, the limits would refuse what your clients do."
        case Answer.SAFE:
            return "Yes. Nothing that was seen would be refused."
        case Answer.UNKNOWN:
            return "Not sure. Nothing was found, but not everything could be judged."


def subline(summary: Summary) -> str:
    """Who and how much, in one sentence."""
    if summary.answer is Answer.REFUSED:
        who = owners_known(summary, summary.clients, "clients")
        clients = f" from {counted(who, 'client')}" if who else ""
        seen = counted(refused_count(summary), "time", "times")
        what = counted(refused_values(summary), "identifier or change", "identifiers and changes")
        return f"{what}{clients}, seen {seen}."
    read = sum(one.read for one in summary.sources)
    if summary.answer is Answer.SAFE:
        what = counted(read, "line or record", "lines and records")
        return f"{what} read, and every identifier and change in them is lawful."
    reasons = sum(summary.could_not_judge.values())
    malformed = sum(one.malformed for one in summary.sources)
    if not read:
        return "The sources held nothing to judge."
    return f"{number(reasons)} could not be judged, {number(malformed)} could not be read."


def next_steps(summary: Summary) -> list[Step]:
    """What to do, in order."""
    steps = [*_owners(summary), *_members(summary), *_configs(summary), *_names(summary), *_gaps(summary)]
    return [*steps, *_switch(summary, bool(steps))]


def _owners(summary: Summary) -> list[Step]:
    kinds = [one for one in summary.kinds if one.weight is Weight.REFUSED and one.kind != Kind.CONFIG_CHANGE]
    if not kinds:
        return []
    worst = max(kinds, key=lambda one: (one.count, one.kind))
    owners = counted(owners_known(summary, summary.principals, "principals"), "principal")
    return [
        Step(
            "Ask the owners to shorten their names",
            f"Start with {kind_title(worst.kind).lower()}, the most frequent. The owner tables name {owners} to talk "
            "to; the suggested names keep a readable beginning and end in a hash, so they stay unique.",
        )
    ]


def _members(summary: Summary) -> list[Step]:
    if not any(one.kind == Kind.MEMBER_ID and one.weight is Weight.REFUSED for one in summary.kinds):
        return []
    return [
        Step(
            "Let clients of the newer group protocols make a UUID as member id",
            "Their member ids may have 36 characters. Ids that brokers made for classic members are not meant here.",
        )
    ]


def _configs(summary: Summary) -> list[Step]:
    refused = [one for one in summary.configs if one.weight is Weight.REFUSED]
    steps = []
    if any(one.stored for one in refused):
        steps.append(
            Step(
                "Remove the stored configs that no broker accepts",
                "They are applied nowhere, and stand in the way of every later change. "
                "`doorkeeper configs --bootstrap-server ... --verify` prints the commands.",
            )
        )
    if any(not one.stored for one in refused):
        steps.append(
            Step(
                "Correct the tools that send refused config changes",
                "The table of config changes has the reason for each; `doorkeeper check changes` judges a file of them "
                "in CI.",
            )
        )
    return steps


def _names(summary: Summary) -> list[Step]:
    if not summary.renamed_clients:
        return []
    count = counted(total_of(summary, len(summary.renamed_clients), "renamed_clients"), "client id")
    return [
        Step(
            "Tell whoever owns dashboards and alerts",
            f"{count} will show URL-encoded in metric names and quota paths. Queries by the old name will find "
            "nothing.",
        )
    ]


def _gaps(summary: Summary) -> list[Step]:
    steps = []
    if summary.could_not_judge:
        steps.append(
            Step(
                "Close the gaps",
                "Give the brokers' configs with `--broker ID=server.properties`, and audit the metadata log together "
                "with the request log: then the state before a change is known.",
            )
        )
    if any(one.malformed for one in summary.sources):
        steps.append(
            Step("Look at what could not be read", "The places are listed under the totals; the rest was judged.")
        )
    return steps


def _switch(summary: Summary, has_work: bool) -> list[Step]:
    if summary.answer is Answer.REFUSED or has_work:
        return [
            Step(
                "Audit again, then turn the limits on",
                f"When this page says yes, set {LIMIT_SWITCH}=true. Until then run it as false: nothing is refused, "
                "and every would-be refusal is counted.",
            )
        ]
    if summary.answer is Answer.SAFE:
        return [Step("Turn the limits on", f"Set {LIMIT_SWITCH}=true, and keep an eye on the refusal counters.")]
    return [
        Step("Audit more", "Read the request log of a whole business cycle, and the data directories of the brokers.")
    ]
