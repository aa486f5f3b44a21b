"""A connection's login, message by message: what is answered, what is refused, and what is not even read."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.codec import Request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import API_VERSIONS, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, message_classes
from doorkeeper.wire.sasl_login import Outcome, PlainServer, SaslLogin, SaslRefusedError
from doorkeeper.wire.scram import ScramServer, made_up

USERS = {"alice": "secret", "é": "ü"}
CREATE_TOPICS = 19


def login() -> SaslLogin:
    def scram() -> ScramServer:
        return ScramServer("SCRAM-SHA-256", lambda name: made_up(b"x", "SCRAM-SHA-256", name), "nonce")

    return SaslLogin({"PLAIN": lambda: PlainServer(USERS), "SCRAM-SHA-256": scram})


def request(api_key: int, version: int, **values: Any) -> Request:
    body = build(message_classes(api_key, version).request, values)
    return Request(api_key, version, 1, "test", body, b"", 0)


def handshake(one: SaslLogin, mechanism: str = "PLAIN", version: int = 1) -> Outcome:
    one.require_expected(SASL_HANDSHAKE)
    return one.receive(request(SASL_HANDSHAKE, version, mechanism=mechanism))


def authenticate(one: SaslLogin, message: bytes, version: int = 2) -> Outcome:
    one.require_expected(SASL_AUTHENTICATE)
    return one.receive(request(SASL_AUTHENTICATE, version, auth_bytes=message))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_right_password_gives_a_principal(version: int) -> None:
    one = login()
    shaken = handshake(one)
    assert (shaken.answer.error_code, shaken.answer.mechanisms) == (ErrorCode.none, ("PLAIN", "SCRAM-SHA-256"))
    assert not one.expects_token
    outcome = authenticate(one, b"\0alice\0secret", version)
    assert (outcome.principal, outcome.refusal) == ("User:alice", None)
    assert (outcome.answer.error_code, outcome.answer.error_message) == (ErrorCode.none, None)


def test_wrong_password_is_refused_with_kafkas_words() -> None:
    one = login()
    handshake(one)
    outcome = authenticate(one, b"\0alice\0wrong")
    assert outcome.principal is None
    assert outcome.refusal == "Authentication failed: Invalid username or password"
    assert outcome.answer.error_code == ErrorCode.sasl_authentication_failed
    assert outcome.answer.error_message == outcome.refusal


def test_scram_refusal_says_nothing_about_who_exists() -> None:
    one = login()
    handshake(one, "SCRAM-SHA-256")
    first = authenticate(one, b"n,,n=nobody,r=x")
    assert first.answer.auth_bytes.startswith(b"r=xnonce,s=")
    outcome = authenticate(one, b"c=biws,r=xnonce,p=AAAA")
    assert outcome.refusal == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )
    assert outcome.answer.error_code == ErrorCode.sasl_authentication_failed


def test_unknown_mechanism_is_refused_with_those_that_there_are() -> None:
    outcome = handshake(login(), "GSSAPI")
    assert outcome.answer.error_code == ErrorCode.unsupported_sasl_mechanism
    assert outcome.answer.mechanisms == ("PLAIN", "SCRAM-SHA-256")
    assert outcome.refusal == "Unsupported SASL mechanism"


def test_messages_are_bare_after_a_handshake_of_version_0() -> None:
    one = login()
    handshake(one, version=0)
    assert one.expects_token
    assert one.receive_token(b"\0alice\0secret") == (b"", "User:alice", None)
    assert not one.expects_token


def test_a_bare_message_is_refused_without_an_answer() -> None:
    one = login()
    handshake(one, version=0)
    outcome = one.receive_token(b"\0alice\0wrong")
    assert outcome.answer is None
    assert outcome.refusal is not None


@pytest.mark.parametrize("api_key", [METADATA, SASL_AUTHENTICATE, CREATE_TOPICS])
def test_nothing_else_is_read_before_a_handshake(api_key: int) -> None:
    one = login()
    with pytest.raises(RemoteProtocolError, match="during SASL handshake"):
        one.require_expected(api_key)
    one.note_versions()
    with pytest.raises(RemoteProtocolError, match="during SASL handshake"):
        one.require_expected(api_key)


def test_versions_are_told_once() -> None:
    one = login()
    one.require_expected(API_VERSIONS)
    assert one.asks_for_versions(API_VERSIONS)
    one.note_versions()
    assert not one.asks_for_versions(API_VERSIONS)
    with pytest.raises(RemoteProtocolError, match="API_VERSIONS"):
        one.require_expected(API_VERSIONS)
    assert handshake(one).refusal is None


@pytest.mark.parametrize(
    ("api_key", "version", "values"), [(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}), (API_VERSIONS, 3, {})]
)
def test_another_request_in_the_dialogue_is_an_illegal_state(api_key: int, version: int, values: Any) -> None:
    one = login()
    handshake(one)
    one.require_expected(api_key)
    outcome = one.receive(request(api_key, version, **values))
    assert outcome.answer.error_code == ErrorCode.illegal_sasl_state
    assert outcome.refusal is not None
    assert "during SASL authentication" in outcome.refusal


class TestPlain:
    @pytest.mark.parametrize(
        ("message", "name"),
        [(b"\0alice\0secret", "alice"), (b"alice\0alice\0secret", "alice"), ("\0é\0ü".encode(), "é")],
    )
    def test_lets_in(self, message: bytes, name: str) -> None:
        dialogue = PlainServer(USERS)
        assert dialogue.evaluate(message) == b""
        assert dialogue.name == name

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            (b"", "expected 3 tokens, got 1"),
            (b"alice\0secret", "expected 3 tokens, got 2"),
            (b"\0alice\0secret\0", "expected 3 tokens, got 4"),
            (b"\0alice\0secret\0\0\0", "expected 3 tokens, got 4"),
            (b"\0\0secret", "username not specified"),
            (b"\0alice\0", "password not specified"),
            (b"\0nobody\0secret", "Invalid username or password"),
            (b"\0alice\0secret ", "Invalid username or password"),
            (b"\0alice\0\xff", "Invalid username or password"),
            (b"bob\0alice\0secret", "different from username"),
        ],
    )
    def test_refuses(self, message: bytes, reason: str) -> None:
        dialogue = PlainServer(USERS)
        with pytest.raises(SaslRefusedError, match=reason):
            dialogue.evaluate(message)
        assert dialogue.name is None
