"""The gateway's judge of identifiers: what the door says of a request, and what the modes make of it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from doorkeeper.door.in_place import may_breach
from doorkeeper.door.judge import LAWFUL, Breach, RequestVerdict, judge_request
from doorkeeper.door.judged import Keeper
from doorkeeper.door.verdicts import VerdictBook, VerdictRecord
from doorkeeper.errors import DoorkeeperError
from doorkeeper.gateway.callers import Client
from doorkeeper.gateway.modes import RULEBOOK, Mode, Modes
from doorkeeper.gateway.telemetry import Offenders
from doorkeeper.wire.codec import Request, RequestHeader
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

LOGGER: Final = logging.getLogger("doorkeeper.gateway")

Note = Callable[[VerdictRecord], None]


class Judge:
    """Judges identifiers, and writes down what it finds. One for the whole process."""

    def __init__(self, modes: Modes, write: Note, clock: Callable[[], float]) -> None:
        """:param write: takes the records that are to be kept.
        :param clock: seconds since the epoch.
        """
        self.modes = modes
        self.book = VerdictBook()
        self.clock = clock
        self.write = write
        self.offenders = Offenders()
        self.failures: Counter[str] = Counter()
        """How often the judge itself failed, by the name of the fault."""

    def suspects(self, header: RequestHeader, frame: bytes) -> bool:
        """Whether the request may hold an over-long identifier; False is certain."""
        return self.modes.judges_identifiers and may_breach(header, frame, Keeper.GATEWAY)

    def judge(self, request: Request, door: Door, client: Client) -> tuple[Breach, ...]:
        """Judge a decoded request; returns what is to be refused."""
        found = judge_request(request, request.body, RULEBOOK, Keeper.GATEWAY)
        if found is LAWFUL:
            return ()
        breaches = self._with_mode(found.breaches, Mode.EVALUATE, Mode.ENFORCE)
        if not breaches:
            return ()
        refused = self._with_mode(breaches, Mode.ENFORCE)
        caller = client.as_caller()
        for breach in breaches:
            mode = Mode.ENFORCE if breach in refused else Mode.EVALUATE
            self.offenders.note(breach.violation.rule, api_name(request.api_key), mode, caller, request.client_id)
        verdict = RequestVerdict(breaches, found.served, refused)
        for record in self.book.note(verdict, request, door, caller, self.clock()):
            self.write(record)
        return refused

    def _with_mode(self, breaches: Sequence[Breach], *modes: Mode) -> tuple[Breach, ...]:
        return tuple(one for one in breaches if one.field.kind and self.modes.of(one.field.kind) in modes)

    def fail(self, error: Exception, what: str, mode: Mode | None = None) -> bool:
        """Count a failure of the judge's own; returns whether the request is refused for it.

        Evaluating passes what it can't judge, enforcing refuses it.

        :param mode: that of the rule concerned; without it any rule may have been.
        """
        self.failures[type(error).__name__] += 1
        known = isinstance(error, DoorkeeperError)
        LOGGER.error("%s could not be judged: %s", what, error, exc_info=None if known else error)
        return self.modes.enforces if mode is None else mode is Mode.ENFORCE
