"""SCRAM credentials (KIP-554, KIP-900). From ScramControlManager, ScramFormatter and ScramImage.describe."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import NO_MESSAGE, Decision, Failure, RecordBatch
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from doorkeeper.wire.scram import MAX_ITERATIONS, MIN_ITERATIONS, client_key, server_key, stored_key

MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka's numbers (ScramMechanism)."""


@dataclass(frozen=True, slots=True)
class ScramCredentialDeletion:
    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class ScramCredentialUpsertion:
    name: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AlterUserScramCredentialsRequest:
    deletions: tuple[ScramCredentialDeletion, ...] = ()
    upsertions: tuple[ScramCredentialUpsertion, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterUserScramCredentialsResult:
    user: str
    error_code: int = ErrorCode.none
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class AlterUserScramCredentialsResponse:
    results: tuple[AlterUserScramCredentialsResult, ...]


@dataclass(frozen=True, slots=True)
class UserName:
    name: str


@dataclass(frozen=True, slots=True)
class DescribeUserScramCredentialsRequest:
    users: tuple[UserName, ...] | None = None
    """None and none: everybody."""


@dataclass(frozen=True, slots=True)
class CredentialInfo:
    mechanism: int
    iterations: int


@dataclass(frozen=True, slots=True)
class DescribeUserScramCredentialsResult:
    user: str
    error_code: int = ErrorCode.none
    error_message: str | None = NO_MESSAGE
    credential_infos: tuple[CredentialInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeUserScramCredentialsResponse:
    results: tuple[DescribeUserScramCredentialsResult, ...]
    error_code: int = ErrorCode.none
    error_message: str | None = NO_MESSAGE


def decide_alter_user_scram_credentials(
    image: MetadataImage, request: AlterUserScramCredentialsRequest
) -> Decision[AlterUserScramCredentialsResponse]:
    """Store and remove credentials; a user named twice is refused, since the order would decide."""
    batch = RecordBatch()
    changes: list[ScramCredentialDeletion | ScramCredentialUpsertion] = [*request.deletions, *request.upsertions]
    times = Counter(one.name for one in changes)
    results: dict[str, Failure | None] = {}
    for one in changes:
        failure = _check(image, one, times[one.name] > 1)
        if failure is None:
            failure = batch.add([VersionedRecord(_record_of(one), 0)])
        if results.get(one.name) is None:
            results[one.name] = failure
    answers = (
        AlterUserScramCredentialsResult(user)
        if failure is None
        else AlterUserScramCredentialsResult(user, failure.code, failure.message)
        for user, failure in results.items()
    )
    return Decision(batch.records(), AlterUserScramCredentialsResponse(tuple(answers)))


def _check(
    image: MetadataImage, one: ScramCredentialDeletion | ScramCredentialUpsertion, repeated: bool
) -> Failure | None:
    if repeated:
        message = "A user credential cannot be altered twice in the same request"
        return Failure(ErrorCode.duplicate_resource, message)
    if not image.features.require_metadata_version().has_scram:
        return Failure(ErrorCode.unsupported_version, "The current metadata.version does not support SCRAM")
    if not one.name:
        return Failure(ErrorCode.unacceptable_credential, "Username must not be empty")
    if one.mechanism not in MECHANISMS:
        return Failure(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
    if isinstance(one, ScramCredentialUpsertion):
        return _check_iterations(one.iterations)
    if (one.mechanism, one.name) not in image.scram.credentials:
        return Failure(ErrorCode.resource_not_found, "Attempt to delete a user credential that does not exist")
    return None


def _check_iterations(iterations: int) -> Failure | None:
    if iterations < MIN_ITERATIONS:
        return Failure(ErrorCode.unacceptable_credential, "Too few iterations")
    if iterations > MAX_ITERATIONS:
        return Failure(ErrorCode.unacceptable_credential, "Too many iterations")
    return None


def _record_of(
    one: ScramCredentialDeletion | ScramCredentialUpsertion,
) -> RemoveUserScramCredentialRecord | UserScramCredentialRecord:
    if isinstance(one, ScramCredentialDeletion):
        return RemoveUserScramCredentialRecord(name=one.name, mechanism=one.mechanism)
    mechanism = MECHANISMS[one.mechanism]
    return UserScramCredentialRecord(
        name=one.name,
        mechanism=one.mechanism,
        salt=one.salt,
        stored_key=stored_key(mechanism, client_key(mechanism, one.salted_password)),
        server_key=server_key(mechanism, one.salted_password),
        iterations=one.iterations,
    )


def describe_user_scram_credentials(
    image: MetadataImage, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations of users, never more."""
    infos: dict[str, list[CredentialInfo]] = {}
    for (mechanism, user), credential in sorted(image.scram.credentials.items()):
        infos.setdefault(user, []).append(CredentialInfo(mechanism, credential.iterations))
    times = Counter(one.name for one in request.users) if request.users else Counter(infos.keys())
    results = tuple(_described(user, count > 1, infos.get(user, [])) for user, count in times.items())
    return DescribeUserScramCredentialsResponse(results)


def _described(user: str, repeated: bool, infos: list[CredentialInfo]) -> DescribeUserScramCredentialsResult:
    if repeated:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return DescribeUserScramCredentialsResult(user, ErrorCode.duplicate_resource, message)
    if not infos:
        message = f"Attempt to describe a user credential that does not exist: {user}"
        return DescribeUserScramCredentialsResult(user, ErrorCode.resource_not_found, message)
    return DescribeUserScramCredentialsResult(user, credential_infos=tuple(infos))
