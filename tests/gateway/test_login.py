"""Who logs in, read from a SASL dialogue that passes by."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode

import pytest
from tests.door.requests import filled
from tests.gateway.rig import Rig, framed_request, framed_response
from tests.gateway.test_passage import frames_of
from tests.wire.samples import sample

from doorkeeper.gateway.login import UNKNOWN, name_of
from doorkeeper.wire.framing import frame
from doorkeeper.wire.messages import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, message_classes

PLAIN_MESSAGE = b"\0alice\0secret"
SCRAM_FIRST = b"n,,n=al=2Cice=3D,r=nonce"


def bearer(claims: object) -> bytes:
    payload = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"n,,\x01auth=Bearer head.{payload}.signature\x01\x01".encode()


@pytest.mark.parametrize(
    ("mechanism", "message", "name"),
    [
        ("PLAIN", PLAIN_MESSAGE, "alice"),
        ("PLAIN", b"bob\0alice\0secret", "alice"),
        ("PLAIN", b"\0\0secret", None),
        ("PLAIN", b"alice", None),
        ("SCRAM-SHA-256", SCRAM_FIRST, "al,ice="),
        ("SCRAM-SHA-512", b"n,a=al,n=alice,r=x", "alice"),
        ("SCRAM-SHA-256", b"n,,n=stray=equals,r=x", None),
        ("SCRAM-SHA-256", b"n,,n=token-id,r=x,tokenauth=true", None),
        ("SCRAM-SHA-256", b"nonsense", None),
        ("OAUTHBEARER", bearer({"sub": "alice"}), "alice"),
        ("OAUTHBEARER", bearer({"scope": "all"}), None),
        ("OAUTHBEARER", bearer(["sub"]), None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer opaque\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.!.c\x01\x01", None),
        ("GSSAPI", b"\x60\x80", None),
    ],
)
def test_reads_the_name_out_of_the_first_message(mechanism: str, message: bytes, name: str | None) -> None:
    assert name_of(mechanism, message) == name


def handshake(rig: Rig, mechanism: str, version: int, code: int = 0) -> None:
    classes = message_classes(SASL_HANDSHAKE, version)
    rig.ask(classes.request(mechanism=mechanism), 1)
    rig.answer(sample(classes.response, error_code=code), 1)


def authenticate(rig: Rig, message: bytes, code: int = 0) -> None:
    classes = message_classes(SASL_AUTHENTICATE, 2)
    rig.ask(classes.request(auth_bytes=message), 2)
    rig.answer(sample(classes.response, error_code=code), 2)


def test_a_principal_counts_once_the_server_has_said_yes() -> None:
    rig = Rig("off")
    handshake(rig, "PLAIN", 1)
    assert rig.client.principal == "User:ANONYMOUS"
    authenticate(rig, PLAIN_MESSAGE)
    assert rig.client.principal == "User:alice"


def test_a_refused_login_names_nobody() -> None:
    rig = Rig("off")
    handshake(rig, "PLAIN", 1)
    authenticate(rig, PLAIN_MESSAGE, code=58)
    assert rig.client.principal == "User:ANONYMOUS"


def test_scram_takes_two_rounds() -> None:
    rig = Rig("off")
    handshake(rig, "SCRAM-SHA-256", 1)
    authenticate(rig, SCRAM_FIRST)
    assert rig.client.principal == "User:ANONYMOUS"
    authenticate(rig, b"c=biws,r=nonce,p=proof")
    assert rig.client.principal == "User:al,ice="


def test_gssapi_is_somebody_unknown() -> None:
    rig = Rig("off")
    handshake(rig, "GSSAPI", 1)
    authenticate(rig, b"\x60\x80")
    assert rig.client.principal == UNKNOWN


def test_a_second_login_changes_the_principal() -> None:
    rig = Rig("off")
    for name in (b"alice", b"bob"):
        handshake(rig, "PLAIN", 1)
        authenticate(rig, b"\0" + name + b"\0secret")
        assert rig.client.principal == f"User:{name.decode()}"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_bare_messages_pass_and_requests_follow_them(size: int) -> None:
    rig = Rig("enforce")
    handshake(rig, "SCRAM-SHA-256", 0)
    rig.take_upstream(), rig.take_client()
    tokens = [SCRAM_FIRST, b"c=biws,r=nonce,p=proof"]
    answers = [b"r=nonce2,s=salt,i=4096", b""]
    for token, answer in zip(tokens, answers, strict=True):
        sent = frame(token)
        for start in range(0, len(sent), size):
            rig.requests.feed(sent[start : start + size])
        assert rig.take_upstream() == sent
        rig.responses.feed(frame(answer))
        assert rig.take_client() == frame(answer)
    request = framed_request(filled(METADATA, 12), 9)
    rig.requests.feed(request)
    assert rig.take_upstream() == request
    assert rig.client.principal == "User:al,ice="
    rig.answer(sample(message_classes(METADATA, 12).response), 9)
    assert len(frames_of(rig.take_client())) == 1


def test_bare_messages_of_gssapi_end_where_a_request_begins() -> None:
    rig = Rig("enforce")
    handshake(rig, "GSSAPI", 0)
    rig.take_upstream()
    for token in (b"\x60\x82\x01\x02 init", b"", b"\x05\x04\x04\xff wrap and some more"):
        rig.requests.feed(frame(token))
        assert rig.take_upstream() == frame(token)
        rig.responses.feed(frame(b"\x60 answer"))
    request = framed_request(filled(METADATA, 12), 9)
    rig.requests.feed(request)
    assert rig.take_upstream() == request
    assert rig.client.principal == UNKNOWN


def test_a_refused_handshake_expects_no_bare_messages() -> None:
    rig = Rig("enforce")
    handshake(rig, "NONSENSE", 0, code=33)
    rig.take_upstream()
    request = framed_request(filled(METADATA, 12), 9)
    rig.requests.feed(request)
    assert rig.take_upstream() == request


def test_a_login_is_passed_byte_for_byte() -> None:
    rig = Rig("enforce")
    classes = message_classes(SASL_AUTHENTICATE, 2)
    handshake(rig, "PLAIN", 1)
    rig.take_upstream(), rig.take_client()
    sent = framed_request(classes.request(auth_bytes=PLAIN_MESSAGE), 5)
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    answer = framed_response(sample(classes.response), 5)
    rig.responses.feed(answer)
    assert rig.take_client() == answer
