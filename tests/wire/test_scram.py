"""The server's half of SCRAM: RFC 7677's example, the client's half of our own, and whatever else may come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.client import sasl
from doorkeeper.client.settings import SaslCredentials
from doorkeeper.wire.scram import (
    HASHES,
    MIN_ITERATIONS,
    ScramCredential,
    ScramError,
    ScramServer,
    client_key,
    decode64,
    made_up,
    salted_password,
    sasl_name,
    server_key,
    stored_key,
    username,
)

SALT = decode64("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
CLIENT_FIRST = f"n,,n=user,r={CLIENT_NONCE}".encode()
SERVER_FIRST = f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
CLIENT_FINAL = f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p={PROOF}".encode()
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
SECRET = b"of one process"


def credential(mechanism: str, password: str) -> ScramCredential:
    salted = salted_password(mechanism, password.encode(), SALT, MIN_ITERATIONS)
    stored = stored_key(mechanism, client_key(mechanism, salted))
    return ScramCredential(SALT, stored, server_key(mechanism, salted), MIN_ITERATIONS)


PENCIL = credential("SCRAM-SHA-256", "pencil")


def server(nonce: str = SERVER_NONCE) -> ScramServer:
    return ScramServer("SCRAM-SHA-256", lambda _name: PENCIL, nonce)


def test_speaks_as_in_the_rfc() -> None:
    dialogue = server()
    assert dialogue.evaluate(CLIENT_FIRST) == SERVER_FIRST
    assert dialogue.name is None
    assert dialogue.evaluate(CLIENT_FINAL) == SERVER_FINAL
    assert dialogue.name == "user"


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("name", ["alice", "a=b,c", "=3D"])
def test_our_own_client_logs_in(mechanism: str, name: str) -> None:
    known = credential(mechanism, "pä,ss=")
    dialogue = ScramServer(mechanism, {name: known}.__getitem__, "server")
    client = sasl.exchange(SaslCredentials(mechanism, name, "pä,ss="), "client")
    final = client.send(dialogue.evaluate(next(client)))
    with pytest.raises(StopIteration):
        client.send(dialogue.evaluate(final))
    assert dialogue.name == name


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,n=user",
        b"y,,n=user,r=x",
        b"p=tls-unique,,n=user,r=x",
        b"n,,n=,r=x",
        b"n,,n=us=er,r=x",
        b"n,,n=us\xc3\xa9r,r=x",
        b"n,,n=user,r=a b",
        b"n,a=other,n=user,r=x",
        b"n,,n=user,r=x,tokenauth=true",
        b"\xff\xfe",
    ],
)
def test_refuses_a_wrong_first_message(first: bytes) -> None:
    dialogue = server()
    with pytest.raises(ScramError):
        dialogue.evaluate(first)
    assert dialogue.name is None


@pytest.mark.parametrize("first", [b"n,a=user,n=user,r=x", b"n,,m=x,n=user,r=x", b"n,,n=user,r=x,ext=1,tokenauth=no"])
def test_takes_what_kafka_takes_in_a_first_message(first: bytes) -> None:
    assert server().evaluate(first).startswith(b"r=x")


@pytest.mark.parametrize(
    "final",
    [
        b"",
        CLIENT_FINAL.replace(b"p=dHz", b"p=eHz"),
        CLIENT_FINAL.replace(b",p=" + PROOF.encode(), b",p=AAAA"),
        CLIENT_FINAL.replace(b",p=" + PROOF.encode(), b""),
        CLIENT_FINAL.replace(b"r=rOpr", b"r=rOpq"),
        CLIENT_FINAL.replace(b"c=biws", b"c=eSws"),
    ],
)
def test_refuses_a_wrong_final_message(final: bytes) -> None:
    dialogue = server()
    dialogue.evaluate(CLIENT_FIRST)
    with pytest.raises(ScramError):
        dialogue.evaluate(final)
    assert dialogue.name is None


def test_a_proof_can_not_be_used_again() -> None:
    dialogue = server("another")
    dialogue.evaluate(CLIENT_FIRST)
    with pytest.raises(ScramError, match="nonce"):
        dialogue.evaluate(CLIENT_FINAL)


def test_nothing_follows_the_end() -> None:
    dialogue = server()
    dialogue.evaluate(CLIENT_FIRST)
    dialogue.evaluate(CLIENT_FINAL)
    with pytest.raises(ScramError, match="over"):
        dialogue.evaluate(CLIENT_FINAL)


@given(st.lists(st.binary(max_size=60) | st.just(CLIENT_FIRST), max_size=3))
def test_any_bytes_are_answered_or_refused_and_never_let_in(messages: list[bytes]) -> None:
    dialogue = server()
    try:
        for message in messages:
            dialogue.evaluate(message)
    except ScramError:
        pass
    assert dialogue.name is None


@given(st.text(min_size=1))
def test_a_name_survives_its_journey(name: str) -> None:
    assert username(sasl_name(name)) == name


class TestNobodysCredential:
    def test_is_the_same_each_time(self) -> None:
        assert made_up(SECRET, "SCRAM-SHA-256", "nobody") == made_up(SECRET, "SCRAM-SHA-256", "nobody")

    @pytest.mark.parametrize(
        "other",
        [(SECRET, "SCRAM-SHA-256", "noone"), (SECRET, "SCRAM-SHA-512", "nobody"), (b"x", "SCRAM-SHA-256", "nobody")],
    )
    def test_differs_for_another_name_mechanism_or_process(self, other: tuple[bytes, str, str]) -> None:
        assert made_up(SECRET, "SCRAM-SHA-256", "nobody").salt != made_up(*other).salt

    def test_no_secret_shows(self) -> None:
        assert repr(PENCIL) == "ScramCredential(iterations=4096)"
