"""What is written down of a breach, how often, and that a flood of offenders stays bounded."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.door.requests import filled, header

from doorkeeper.door.judge import LAWFUL, RequestVerdict, judge_request
from doorkeeper.door.verdicts import MAX_SHOWN, SECONDS_PER_HOUR, Caller, HourMemory, Mode, VerdictBook, VerdictRecord
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.registry import Door

HEARTBEAT = 12
NOW = 1_800_000_000.25
CALLER = Caller("User:alice", "10.0.0.7", "PLAINTEXT", "librdkafka", "2.5.0")
ENFORCED, EVALUATED = Rulebook.of_release("5.0"), Rulebook.of_release("4.x")


def judged(client_id: str | None, rulebook: Rulebook = ENFORCED, version: int = 4) -> tuple[RequestVerdict, Any]:
    asked = header(HEARTBEAT, version, client_id)
    return judge_request(asked, filled(HEARTBEAT, version), rulebook), asked


def note(book: VerdictBook, client_id: str, now: float = NOW, rulebook: Rulebook = ENFORCED) -> list[VerdictRecord]:
    verdict, asked = judged(client_id, rulebook)
    return book.note(verdict, asked, Door.BROKER, CALLER, now)


class TestRecords:
    def test_say_everything_that_findings_do_and_time_mode_and_version(self) -> None:
        (record,) = note(VerdictBook(), "c" * 250)
        assert json.loads(record.to_json()) == {
            "time": "2027-01-15T08:00:00.250+00:00",
            "mode": "enforce",
            "rule": "CLIENT_ID_TOO_LONG",
            "kind": "client_id",
            "value": "c" * 250,
            "length": 250,
            "limit": 249,
            "unit": "UTF-16 code units",
            "door": "broker",
            "api": "HEARTBEAT",
            "api_version": 4,
            "answer": 42,
            "client_id": "c" * 250,
            "principal": "User:alice",
            "address": "10.0.0.7",
            "listener": "PLAINTEXT",
            "software_name": "librdkafka",
            "software_version": "2.5.0",
            "version": 1,
        }

    def test_say_what_a_client_of_the_new_version_is_told(self) -> None:
        verdict, asked = judged("c" * 250, version=5)
        (record,) = VerdictBook().note(verdict, asked, Door.CONTROLLER, CALLER, NOW)
        assert (record.answer, record.door) == (134, Door.CONTROLLER)

    def test_say_evaluate_while_the_switch_is_off(self) -> None:
        (record,) = note(VerdictBook(), "c" * 250, rulebook=EVALUATED)
        assert record.mode is Mode.EVALUATE

    @given(st.text(alphabet=st.characters() | st.sampled_from('\n\x1b\u2028\u202e\ud800"'), min_size=250))
    def test_are_one_bounded_line_of_printable_ascii_whatever_the_name(self, client_id: str) -> None:
        (record,) = note(VerdictBook(), client_id)
        line = record.to_json()
        assert line.isascii()
        assert line.isprintable()
        assert len(record.value) <= MAX_SHOWN
        assert json.loads(line)["value"] == record.value

    def test_bound_every_text(self) -> None:
        verdict, asked = judged("c" * 30_000)
        caller = Caller(*["x" * 30_000] * len(fields(Caller)))
        (record,) = VerdictBook().note(verdict, asked, Door.BROKER, caller, NOW)
        assert len(record.to_json()) < 12 * MAX_SHOWN


class TestBook:
    def test_lets_the_same_offender_through_once_an_hour(self) -> None:
        book = VerdictBook()
        start_of_hour = NOW // SECONDS_PER_HOUR * SECONDS_PER_HOUR
        last_second = start_of_hour + SECONDS_PER_HOUR - 1
        assert len(note(book, "c" * 250, start_of_hour)) == 1
        assert len(note(book, "c" * 250, last_second)) == 0
        assert len(note(book, "c" * 250, last_second + 1)) == 1

    def test_tells_offenders_apart_by_the_whole_name(self) -> None:
        book = VerdictBook()
        assert len(note(book, "c" * 20_000 + "1")) == 1
        assert len(note(book, "c" * 20_000 + "2")) == 1

    def test_tells_apis_apart(self) -> None:
        book = VerdictBook()
        for api_key in (HEARTBEAT, 3):
            asked = header(api_key, 4, "c" * 250)
            verdict = judge_request(asked, filled(api_key, 4), ENFORCED)
            assert len(book.note(verdict, asked, Door.BROKER, CALLER, NOW)) == 1

    def test_tells_clients_apart(self) -> None:
        book = VerdictBook()
        body = filled(15, 5)
        long_named = type(body)(groups=("g" * 250,), include_authorized_operations=False)
        for client_id, written in (("a", 1), ("b", 1), ("a", 0), (None, 1)):
            asked = header(15, 5, client_id)
            verdict = judge_request(asked, long_named, ENFORCED, exists=lambda named: False)
            assert len(book.note(verdict, asked, Door.BROKER, CALLER, NOW)) == written

    def test_writes_the_first_refusal_down_whatever_was_evaluated_before(self) -> None:
        book = VerdictBook()
        modes = [
            [one.mode for one in note(book, "c" * 250, rulebook=rulebook)]
            for rulebook in (EVALUATED, ENFORCED, EVALUATED, ENFORCED)
        ]
        assert modes == [[Mode.EVALUATE], [Mode.ENFORCE], [], []]

    def test_counts_every_breach_by_kind_api_and_mode(self) -> None:
        book = VerdictBook()
        for _ in range(3):
            note(book, "c" * 250)
        note(book, "c" * 250, rulebook=EVALUATED)
        assert dict(book.counts) == {
            (Kind.CLIENT_ID, HEARTBEAT, Mode.ENFORCE): 3,
            (Kind.CLIENT_ID, HEARTBEAT, Mode.EVALUATE): 1,
        }

    @pytest.mark.parametrize(("offenders", "written", "overflow"), [(5, 5, 0), (6, 5, 1), (50, 5, 45)])
    def test_is_bounded_and_counts_what_goes_beyond(self, offenders: int, written: int, overflow: int) -> None:
        book = VerdictBook(HourMemory(5))
        lines = [line for number in range(offenders) for line in note(book, f"{number:0250}")]
        assert (len(lines), len(book.memory), book.overflow) == (written, written, overflow)
        assert sum(book.counts.values()) == offenders

    def test_has_room_again_in_the_next_hour(self) -> None:
        book = VerdictBook(HourMemory(1))
        note(book, "a" * 250)
        assert note(book, "b" * 250) == []
        assert len(note(book, "b" * 250, NOW + SECONDS_PER_HOUR)) == 1
        assert book.overflow == 1

    def test_ignores_lawful_requests(self) -> None:
        book = VerdictBook()
        assert book.note(LAWFUL, header(HEARTBEAT, 4), Door.BROKER, CALLER, NOW) == []
        assert dict(book.counts) == {}
