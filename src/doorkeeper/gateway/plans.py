"""What the gateway does with each version of each API: decided at its first request, then one look-up.

`explain` prints the same table.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import Any, Final, NamedTuple

from doorkeeper.door.in_place import breach_walk
from doorkeeper.door.judged import Keeper, body_limits, judged_fields
from doorkeeper.gateway.address_table import address_row
from doorkeeper.gateway.modes import Mode, Modes
from doorkeeper.gateway.responses import Responder, responder_for
from doorkeeper.rules.fields import identifier_version
from doorkeeper.rules.names import MAX_NAME_LENGTH
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import (
    API_VERSIONS,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    is_flexible,
    is_known,
    message_classes,
    newest_stable_version,
    newest_version,
)
from doorkeeper.wire.schema import shape_of
from doorkeeper.wire.walking import Walk, WalkGenerator

ALTER_CONFIGS: Final = 33
INCREMENTAL_ALTER_CONFIGS: Final = 44
CONFIG_CHANGES: Final = frozenset((ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS))
MAX_STRING_BYTES: Final = 32767
_TALKED: Final = frozenset((API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE))
"""What says who the client is: always looked into."""


class Treatment(StrEnum):
    """What becomes of a request, in one word; several may hold."""

    PASSED = "passed"
    JUDGED = "judged"
    REWRITTEN = "rewritten"
    WITHDRAWN = "withdrawn"


class Plan(NamedTuple):
    """What to do with the requests of one version of one API."""

    flexible: bool
    walk: Walk | None
    """Reads the identifiers in place: negative when one may be too long, else the offset after the last."""
    answers: bool
    """False for Produce, where two bytes after the walk (acks) say whether an answer comes."""
    examined: bool
    """Whether every request is looked into with care, as a whole frame: who says who he is, changes configs, or asks
    at a version that upstream does not know."""
    responder: Responder | None
    """What is done with the response; None: nothing."""


class Plans(dict[int, Plan]):
    """(API key << 16 | version) to plan; made when first asked for, because most are never asked for."""

    def __init__(self, modes: Modes, *, unstable_versions: bool = False, pass_unknown: bool = False) -> None:
        super().__init__()
        self.edition = 0
        """Counts the changes: what was decided under another one is decided anew."""
        self.change(modes, unstable_versions=unstable_versions, pass_unknown=pass_unknown)

    def change(self, modes: Modes, *, unstable_versions: bool, pass_unknown: bool) -> None:
        """Take other settings; they count from the next request on, on open connections too."""
        self.clear()
        self.edition += 1
        self.modes = modes
        self.unstable_versions = unstable_versions
        self.pass_unknown = pass_unknown
        self.longest_client_id = MAX_NAME_LENGTH if modes.judges_identifiers else MAX_STRING_BYTES
        """Bytes of a client id that need no second look."""

    def find(self, api_key: int, version: int) -> Plan | None:
        """The plan, or None for what is withdrawn."""
        key = api_key << 16 | version
        plan = self.get(key)
        if plan is None and self.knows(api_key, version):
            plan = self[key] = make_plan(api_key, version, self.modes)
        return plan

    def knows(self, api_key: int, version: int) -> bool:
        """Whether the version is one that the gateway can read, and one that it lets in."""
        if not is_known(api_key, version):
            return False
        if version <= newest_stable_version(api_key):
            return True
        added = version == identifier_version(api_key) == newest_version(api_key) + 1
        return self.unstable_versions and (version <= newest_version(api_key) or added)


def make_plan(api_key: int, version: int, modes: Modes) -> Plan:
    """The plan for a version that we know."""
    return Plan(
        flexible=is_flexible(api_key, version),
        walk=_walk(api_key, version, modes),
        answers=api_key != PRODUCE,
        examined=(
            api_key in _TALKED
            or (api_key in CONFIG_CHANGES and modes.judges_configs)
            or version > newest_version(api_key)
        ),
        responder=responder_for(api_key, version),
    )


def _walk(api_key: int, version: int, modes: Modes) -> Walk | None:
    if modes.judges_identifiers and body_limits(api_key, version, Keeper.GATEWAY):
        return breach_walk(api_key, version, Keeper.GATEWAY)
    return _walk_to_acks(version) if api_key == PRODUCE else None


def expects_answer(api_key: int, version: int, frame: bytes, body_offset: int) -> bool:
    """Whether a response is to come: always, but to Produce with acks=0."""
    if api_key != PRODUCE:
        return True
    after = _walk_to_acks(version)(frame, body_offset, [], [])
    return frame[after : after + 2] != b"\0\0"


@remembered
def _walk_to_acks(version: int) -> Walk:
    """Over the transactional id, unread; acks follow."""
    request: type[Any] = message_classes(PRODUCE, version).request
    first, second = fields(request)[:2]
    assert (first.name, second.name) == ("transactional_id", "acks")
    generator = WalkGenerator({})
    generator.add_field(1, shape_of(first), request.__flexible__, first.name)
    return generator.compile()


def treatments(api_key: int, version: int, modes: Modes) -> list[Treatment]:
    """The words for a version that we know."""
    words = []
    if judged_kinds(api_key, version, modes):
        words.append(Treatment.JUDGED)
    if address_row(api_key, version) is not None or api_key == API_VERSIONS:
        words.append(Treatment.REWRITTEN)
    return words or [Treatment.PASSED]


def judged_kinds(api_key: int, version: int, modes: Modes) -> list[Kind]:
    """What is looked at in the body of a request; the client id in its header apart."""
    found = [one.kind for one in judged_fields(api_key, version, Keeper.GATEWAY) if not one.in_header]
    kinds = list(dict.fromkeys(kind for kind in found if kind is not None and modes.of(kind) is not Mode.OFF))
    if api_key in CONFIG_CHANGES and modes.judges_configs:
        kinds.append(Kind.CONFIG_CHANGE)
    return kinds
