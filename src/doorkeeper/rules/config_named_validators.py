"""The validators of Kafka 4.3.1 that are code and not data, ported one by one under their Java names.

Sources: `QuorumConfig.java` (controller.quorum.voters, controller.quorum.bootstrap.servers),
`ThrottledReplicaListValidator.java`, `ShareGroupAutoOffsetResetStrategy.java` with `java.time.Duration.parse`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from doorkeeper.rules.config_text import ParsedValue, invalid_value, show
from doorkeeper.rules.javatext import LONG_MAX, LONG_MIN, parse_int, parse_long, split_java, trim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NamedCheck: TypeAlias = "Callable[[str, ParsedValue], str | None]"

# Utils.HOST_PORT_PATTERN; the brackets of an IPv6 address need not match there either.
_HOST_PORT: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)]?:([0-9]+)")
_MAX_PORT: Final = 65535

_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")

_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?"
    r"(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = {2: 86400, 4: 3600, 5: 60, 6: 1}
"""Group of the pattern -> seconds of one unit."""
_BY_DURATION: Final = "by_duration:"


def refuse_voters(name: str, value: ParsedValue) -> str | None:
    """`ControllerQuorumVotersValidator`: entries `id@host:port`."""
    if not isinstance(value, list):
        return f"Invalid value {show(value)} for configuration {name}"
    for entry in value:
        if (message := _refuse_voter(name, entry)) is not None:
            return message
    return None


def _refuse_voter(name: str, entry: str) -> str | None:
    shape = "Each entry should be in the form `{id}@{host}:{port}`."
    parts = split_java(entry, "@")
    if len(parts) != 2:
        return f"Invalid configuration value for {name}. {shape}"
    if parse_int(parts[0]) is None:
        return f"Failed to parse voter ID as an integer from {parts[0]}"
    address = _HOST_PORT.fullmatch(parts[1])
    if address is None:
        return f"Failed to parse host name from entry {entry} for the configuration {name}. {shape}"
    return _refuse_port(address[2])


def refuse_bootstrap_servers(name: str, value: ParsedValue) -> str | None:
    """`ControllerQuorumBootstrapServersValidator`: entries `host:port`."""
    if not isinstance(value, list):
        return f"Invalid value {show(value)} for configuration {name}"
    for entry in value:
        if (message := _refuse_server(name, entry)) is not None:
            return message
    return None


def _refuse_server(name: str, entry: str) -> str | None:
    address = _HOST_PORT.fullmatch(entry)
    if address is None:
        return (
            f"Failed to parse host name from {entry} for the configuration {name}. "
            'Each entry should be in the form "{host}:{port}"'
        )
    return _refuse_port(address[2])


def _refuse_port(digits: str) -> str | None:
    """Say what Java's `parseInt` and `InetSocketAddress` say: Kafka does not wrap their exceptions."""
    port = parse_int(digits)
    if port is None:
        return f'For input string: "{digits}"'
    return f"port out of range:{port}" if port > _MAX_PORT else None


def refuse_throttled_replicas(name: str, value: ParsedValue) -> str | None:
    """`ThrottledReplicaListValidator`: `*`, or a list of `partition:broker` in which empty entries pass."""
    if not isinstance(value, list):
        return invalid_value(name, value, f"{name} must be a List but was {show(value)}")
    entries = [trim(entry) for entry in value]
    if all(_REPLICA.fullmatch(entry) for entry in entries) or "".join(entries) == "*":
        return None
    return invalid_value(
        name,
        value,
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


def refuse_share_offset_reset(name: str, value: ParsedValue) -> str | None:
    """`ShareGroupAutoOffsetResetStrategy.Validator`: earliest, latest, or `by_duration:` and a lawful duration."""
    if value in ("earliest", "latest"):
        return None
    if isinstance(value, str) and value.startswith(_BY_DURATION) and _is_lawful_duration(value[len(_BY_DURATION) :]):
        return None
    shown = show(value)
    return invalid_value(
        name,
        value,
        f"Invalid value `{shown}` for configuration {name}. "
        "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
    )


def _is_lawful_duration(text: str) -> bool:
    """Tell whether `Duration.parse` takes the text, and the duration is not negative."""
    match = _DURATION.fullmatch(text)
    if match is None or match[3] == "T":
        return False  # a lone `T` is refused, a lone `t` is not: so does Java
    total = 0
    amounts = [(match[group], seconds) for group, seconds in _SECONDS.items() if match[group] is not None]
    for digits, seconds in reversed(amounts):
        number = parse_long(digits)
        if number is None or not _fits(number * seconds):
            return False
        total += number * seconds
        if not _fits(total):
            return False
    nanos = int((match[7] or "").ljust(9, "0")) * (-1 if (match[6] or "").startswith("-") else 1)
    whole = total * 10**9 + nanos
    if match[1] == "-":
        whole = -whole
    return bool(amounts) and whole >= 0 and _fits(whole // 10**9)


def _fits(number: int) -> bool:
    return LONG_MIN <= number <= LONG_MAX


NAMED_VALIDATORS: Final[Mapping[str, NamedCheck]] = {
    "QuorumConfig$ControllerQuorumVotersValidator": refuse_voters,
    "QuorumConfig$ControllerQuorumBootstrapServersValidator": refuse_bootstrap_servers,
    "ThrottledReplicaListValidator": refuse_throttled_replicas,
    "ShareGroupAutoOffsetResetStrategy$Validator": refuse_share_offset_reset,
}
