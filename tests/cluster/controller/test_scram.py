"""SCRAM credentials: what is stored, what is refused, and that secrets stay secret."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import after, cluster

from doorkeeper.cluster.controller.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
    decide_alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from doorkeeper.wire.metadata.levels import MetadataVersion

SHA_256, SHA_512 = 1, 2
# A password as RFC 7677 salts it.
SALT = bytes.fromhex("5b6d99687d12f9a8a9e1b0f0c2a1d5ce")
SALTED = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096)
ALICE = ScramCredentialUpsertion("alice", SHA_256, 4096, SALT, SALTED)
REQUEST = AlterUserScramCredentialsRequest(upsertions=(ALICE,))
STORED = after(cluster(), decide_alter_user_scram_credentials(cluster(), REQUEST))


def test_stores_keys_and_never_the_salted_password() -> None:
    credential = STORED.scram.credentials[SHA_256, "alice"]
    client_key = _hmac(SALTED, b"Client Key")
    assert credential.stored_key == hashlib.sha256(client_key).digest()
    assert credential.server_key == _hmac(SALTED, b"Server Key")
    assert (credential.salt, credential.iterations) == (SALT, 4096)


def _hmac(key: bytes, message: bytes) -> bytes:
    """RFC 2104 by hand, for keys no longer than a block."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()


def test_secrets_are_not_in_any_repr() -> None:
    for secret in (SALT, SALTED):
        assert repr(secret)[2:-1] not in repr(REQUEST)
        assert repr(secret)[2:-1] not in repr(decide_alter_user_scram_credentials(cluster(), REQUEST))


@pytest.mark.parametrize("iterations", [4096, 16384])
@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_takes_both_mechanisms_and_both_ends_of_the_iterations(mechanism: int, iterations: int) -> None:
    upsertion = replace(ALICE, mechanism=mechanism, iterations=iterations)
    request = AlterUserScramCredentialsRequest(upsertions=(upsertion,))
    image = after(cluster(), decide_alter_user_scram_credentials(cluster(), request))
    assert image.scram.credentials[mechanism, "alice"].iterations == iterations


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"iterations": 4095}, ErrorCode.unacceptable_credential, "Too few iterations"),
        ({"iterations": 16385}, ErrorCode.unacceptable_credential, "Too many iterations"),
        ({"mechanism": 0}, ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism"),
        ({"mechanism": 3}, ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism"),
        ({"name": ""}, ErrorCode.unacceptable_credential, "Username must not be empty"),
    ],
)
def test_refuses_one_user_and_stores_the_other(changes: dict[str, Any], code: ErrorCode, message: str) -> None:
    request = AlterUserScramCredentialsRequest(upsertions=(replace(ALICE, **changes), replace(ALICE, name="bob")))
    decision = decide_alter_user_scram_credentials(cluster(), request)
    bad, good = decision.response.results
    assert (bad.error_code, bad.error_message) == (code, message)
    assert (good.user, good.error_code) == ("bob", ErrorCode.none)
    assert len(decision.records) == 1


def test_deletes_a_credential() -> None:
    request = AlterUserScramCredentialsRequest(deletions=(ScramCredentialDeletion("alice", SHA_256),))
    assert after(STORED, decide_alter_user_scram_credentials(STORED, request)).scram.credentials == {}


@pytest.mark.parametrize(
    ("deletion", "code"),
    [
        (ScramCredentialDeletion("alice", SHA_512), ErrorCode.resource_not_found),
        (ScramCredentialDeletion("bob", SHA_256), ErrorCode.resource_not_found),
        (ScramCredentialDeletion("alice", 9), ErrorCode.unsupported_sasl_mechanism),
        (ScramCredentialDeletion("", SHA_256), ErrorCode.unacceptable_credential),
    ],
)
def test_refuses_to_delete_what_is_not_there(deletion: ScramCredentialDeletion, code: ErrorCode) -> None:
    decision = decide_alter_user_scram_credentials(STORED, AlterUserScramCredentialsRequest(deletions=(deletion,)))
    assert decision.records == ()
    assert decision.response.results[0].error_code == code


@pytest.mark.parametrize(
    "request_",
    [
        AlterUserScramCredentialsRequest(upsertions=(ALICE, replace(ALICE, mechanism=SHA_512))),
        AlterUserScramCredentialsRequest((ScramCredentialDeletion("alice", SHA_256),), (ALICE,)),
        AlterUserScramCredentialsRequest(deletions=(ScramCredentialDeletion("alice", SHA_256),) * 3),
    ],
)
def test_refuses_a_user_that_comes_twice_with_one_answer(request_: AlterUserScramCredentialsRequest) -> None:
    decision = decide_alter_user_scram_credentials(STORED, request_)
    assert decision.records == ()
    (result,) = decision.response.results
    assert (result.user, result.error_code) == ("alice", ErrorCode.duplicate_resource)


@pytest.mark.parametrize(
    ("level", "code"),
    [
        (MetadataVersion.IBP_3_5_IV1, ErrorCode.unsupported_version),
        (MetadataVersion.IBP_3_5_IV2, ErrorCode.none),
    ],
)
def test_needs_a_level_that_has_scram(level: MetadataVersion, code: ErrorCode) -> None:
    decision = decide_alter_user_scram_credentials(cluster(level=level), REQUEST)
    assert decision.response.results[0].error_code == code


def test_describes_iterations_and_nothing_secret() -> None:
    response = describe_user_scram_credentials(STORED, DescribeUserScramCredentialsRequest())
    (alice,) = response.results
    assert (alice.user, [(one.mechanism, one.iterations) for one in alice.credential_infos]) == ("alice", [(1, 4096)])
    assert describe_user_scram_credentials(STORED, DescribeUserScramCredentialsRequest(())) == response


def test_describes_named_users_and_says_what_is_wrong_with_the_others() -> None:
    users = tuple(map(UserName, ("alice", "bob", "carol", "carol")))
    response = describe_user_scram_credentials(STORED, DescribeUserScramCredentialsRequest(users))
    assert [(one.user, one.error_code) for one in response.results] == [
        ("alice", ErrorCode.none),
        ("bob", ErrorCode.resource_not_found),
        ("carol", ErrorCode.duplicate_resource),
    ]
