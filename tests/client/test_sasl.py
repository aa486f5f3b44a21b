"""The client's half of PLAIN and SCRAM; the SCRAM dialogue is RFC 7677's example."""

from __future__ import annotations

import pytest

from doorkeeper.client import sasl
from doorkeeper.client.errors import SaslAuthenticationError
from doorkeeper.client.settings import SaslCredentials

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
USER = SaslCredentials("SCRAM-SHA-256", "user", "pencil")


def test_plain_sends_name_and_password_once() -> None:
    dialogue = sasl.exchange(SaslCredentials("PLAIN", "alice", "pä,ss"), "")
    assert next(dialogue) == "\0alice\0pä,ss".encode()
    with pytest.raises(StopIteration):
        dialogue.send(b"")


def test_scram_speaks_as_in_the_rfc() -> None:
    dialogue = sasl.exchange(USER, NONCE)
    assert next(dialogue) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert dialogue.send(SERVER_FIRST) == CLIENT_FINAL
    with pytest.raises(StopIteration):
        dialogue.send(SERVER_FINAL)


def test_scram_escapes_the_two_special_characters_of_a_name() -> None:
    dialogue = sasl.exchange(SaslCredentials("SCRAM-SHA-512", "a=b,c", "x"), "nonce")
    assert next(dialogue) == b"n,,n=a=3Db=2Cc,r=nonce"


@pytest.mark.parametrize(
    ("server_first", "reason"),
    [
        (b"r=other,s=AAAA,i=4096", "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096", "nonce"),
        (SERVER_FIRST.replace(b"i=4096", b"i=4095"), "4095 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=16385"), "16385 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=many"), "iterations"),
        (SERVER_FIRST.replace(b"s=W22", b"s=*"), "base64"),
        (b"\xff\xfe", "nonce"),
    ],
)
def test_scram_refuses_a_wrong_first_message_of_the_server(server_first: bytes, reason: str) -> None:
    dialogue = sasl.exchange(USER, NONCE)
    next(dialogue)
    with pytest.raises(SaslAuthenticationError, match=reason):
        dialogue.send(server_first)


@pytest.mark.parametrize(
    ("server_final", "reason"),
    [(b"v=AAAA", "signature"), (b"e=other-error", "other-error"), (b"v=***", "base64"), (b"", "signature")],
)
def test_scram_refuses_a_server_that_does_not_know_the_password(server_final: bytes, reason: str) -> None:
    dialogue = sasl.exchange(USER, NONCE)
    next(dialogue)
    dialogue.send(SERVER_FIRST)
    with pytest.raises(SaslAuthenticationError, match=reason):
        dialogue.send(server_final)


def test_a_password_never_shows() -> None:
    assert "pencil" not in repr(USER)
