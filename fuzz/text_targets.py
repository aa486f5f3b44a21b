"""One fuzz target per decoder of texts: logins on the wire, and the files that a user writes."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import partial
from typing import Final

from doorkeeper.cluster.server_config import BadConfigurationError, read_node_config
from doorkeeper.rules.properties import PropertiesError, decode_properties
from doorkeeper.wire.jaas import JaasError, read_login_module
from doorkeeper.wire.sasl_login import PlainServer, SaslRefusedError
from doorkeeper.wire.scram import HASHES, ScramError, ScramServer, made_up

PROPERTIES: Final = rb"""
# a node
node.id=1
process.roles=broker,controller
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://:9093,SASL_PLAINTEXT://[::1]:9094
advertised.listeners = PLAINTEXT://example.org:9092
controller.listener.names: CONTROLLER
controller.quorum.voters=1@localhost:9093
log.dirs=/tmp/a,\
   /tmp/b
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl_plaintext.plain.sasl.jaas.config=a.PlainLoginModule required user_a="b";
num.io.threads=8
ssl.cipher.suites=\u00e9\n
metadata.version=4.3-IV0
max.connections.per.ip.overrides=127.0.0.1:5
"""
JAAS: Final = (
    b'a.PlainLoginModule required username="a" password=\'b\\\'\\061\' user_a="b" /* said */;',
    b"a.ScramLoginModule REQUISITE username=a password=b;",
)
TOKENS: Final = (
    b"\0user\0secret",
    b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
    b"n,a=us=2Cer,n=us=3Der,r=fyko,tokenauth=true",
    b"c=biws,r=fykoours,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
)
FIRST: Final = b"n,,n=user,r=fyko"


def lawful_properties(chooser: random.Random) -> bytes:
    lines = PROPERTIES.split(b"\n")
    return (
        b"\n".join(chooser.sample(lines, chooser.randrange(1, len(lines) + 1)))
        if chooser.random() < 0.5
        else PROPERTIES
    )


def target_properties(data: bytes) -> None:
    """A file is a node's configuration, or says what is wrong with it."""
    try:
        entries = decode_properties(data)
    except PropertiesError:
        return
    try:
        read_node_config({one.key: one.value for one in entries})
    except BadConfigurationError as error:
        if not error.faults:
            raise ValueError("refused without a reason") from error


def lawful_jaas(chooser: random.Random) -> bytes:
    return chooser.choice(JAAS)


def target_jaas(data: bytes) -> None:
    try:
        read_login_module(data.decode("utf-8", "surrogatepass" if data[:1] == b"\xed" else "replace"))
    except (JaasError, UnicodeDecodeError):
        return


def lawful_token(chooser: random.Random) -> bytes:
    return chooser.choice(TOKENS)


def target_sasl(data: bytes) -> None:
    """A token is answered or refused, whatever the mechanism, as the first message and as the last."""
    with suppress(SaslRefusedError):
        PlainServer({"user": "secret"}).evaluate(data)
    for mechanism in HASHES:
        for said in ((), (FIRST,)):
            server = ScramServer(mechanism, partial(made_up, b"secret", mechanism), "ours")
            try:
                for token in (*said, data):
                    server.evaluate(token)
            except ScramError:
                assert server.name is None
